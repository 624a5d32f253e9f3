package report_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/report"
)

// example has a block of each kind.
func example() *report.Report {
	r := &report.Report{}
	r.Heading(2, "Check of "+report.Name("kiln"))
	r.InText(report.Name("kiln"))
	r.Item(1, "%s:\n %s", report.Strong("broken"), report.Name("a b"))
	r.Item(3, "- its group")
	r.Item(3, "- its role")
	r.Item(1, "fine")
	r.Line("2 bundles")
	rows := [][]string{{report.Name("a|b"), "", "1"}, {"x|y", "-", "20"}}
	r.Table([]string{"package", report.Name("v4.20"), "added:"}, rows)
	r.Heading(3, "Markdown only")
	r.InText()
	r.Code("apply ``` now\n  x\n")
	r.Fold("2 of "+report.Name("<loom>"), []string{report.Name("a"), "b"})
	return r
}

func TestFormats(t *testing.T) {
	const wantText = `kiln
  broken: a b
      - its group
      - its role
  fine
2 bundles
PACKAGE  v4.20  ADDED
a|b      -      1
x|y      -      20

apply ` + "```" + ` now
  x

2 of <loom>
  a
  b
`
	const wantMarkdown = `## Check of 'kiln'

- **broken**: 'a b'
  - its group
  - its role
- fine

2 bundles

| package | 'v4.20' | added |
| --- | --- | ---: |
| 'a\|b' | - | 1 |
| x\|y | - | 20 |

### Markdown only

''''
apply ''' now
  x
''''

<details><summary>2 of <code>&lt;loom&gt;</code></summary>

- 'a'
- b

</details>
`
	text, markdown := written(t, example())
	if text != wantText {
		t.Errorf("got\n%s\nwant\n%s", text, wantText)
	}
	if want := strings.ReplaceAll(wantMarkdown, "'", "`"); markdown != want {
		t.Errorf("got\n%s\nwant\n%s", markdown, want)
	}
}

// TestEscapes checks that texts and names are shown as they are, whatever they hold.
func TestEscapes(t *testing.T) {
	for in, want := range map[string][2]string{
		"":                                {"", ""},
		" a\n b\t":                        {"a b", "a b"},
		"*a* <b> [c](d) `e` #f a->b":      {"*a* <b> [c](d) `e` #f a->b", "\\*a\\* \\<b\\> \\[c\\](d) \\`e\\` \\#f a->b"},
		"\x1b[31m\u202ea":                 {`\x1b[31m\u202ea`, `\\x1b\[31m\\u202ea`},
		"- a":                             {"- a", `\- a`},
		"---":                             {"---", `\---`},
		"1. a":                            {"1. a", `1\. a`},
		"2) a":                            {"2) a", `2\) a`},
		"> a":                             {"> a", `\> a`},
		"-1 of 2.0":                       {"-1 of 2.0", "-1 of 2.0"},
		"of " + report.Name("a\n b  c"):   {`of a\n b  c`, "of `a\\n b  c`"},
		report.Name("a`b``c"):             {"a`b``c", "``` a`b``c ```"},
		report.Name("\x02a\x03\x1b"):      {`\x02a\x03\x1b`, "`\\x02a\\x03\\x1b`"},
		"\x02\x1b[31m":                    {`\x1b[31m`, "`\\x1b[31m`"},
		"a\x03\x1b":                       {`a\x03\x1b`, `a\\x03\\x1b`},
		report.Strong("*\x1b"):            {`*\x1b`, `**\*\\x1b**`},
		"x" + report.Name("") + "y":       {"xy", "xy"},
		"\x02a " + report.Name("b") + "c": {`a \x02bc`, "`a \\x02b`c"},

		// Forges notify mentioned users, except in code, and run commands at the start of a line.
		"ask @org/team-1.": {"ask @org/team-1.", "ask `@org/team-1`."},
		`"@a" (@b), @c @d`: {`"@a" (@b), @c @d`, "\"`@a`\" (`@b`), `@c` `@d`"},
		"é@a x/@b @@c":     {"é@a x/@b @@c", "é`@a` x/`@b` \\@`@c`"},
		"a@b _@c @ @- @*":  {"a@b _@c @ @- @*", `a\@b \_\@c \@ \@- \@\*`},
		"#1, org/repo#23, a!4, GH-5, (#6)": {"#1, org/repo#23, a!4, GH-5, (#6)",
			"`#1`, `org/repo#23`, `a!4`, `GH-5`, (`#6`)"},
		report.Name("a") + "@b" + report.Name("c"): {"a@bc", "`a`<!-- -->`@b`<!-- -->`c`"},
		"`@a`":              {"`@a`", "\\`<!-- -->`@a`\\`"},
		report.Strong("@a"): {"@a", "**`@a`**"},
		"/close now":        {"/close now", `\/close now`},
		"1/2":               {"1/2", "1/2"},
	} {
		r := &report.Report{}
		r.Line("%s", in)
		text, markdown := written(t, r)
		if got := [2]string{strings.TrimSuffix(text, "\n"), strings.TrimSuffix(markdown, "\n")}; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestMentionsElsewhere checks that names of people are code in all parts of a report.
func TestMentionsElsewhere(t *testing.T) {
	r := &report.Report{}
	r.Heading(2, "for @a")
	r.Item(0, "by @b")
	r.Table([]string{"of @c"}, [][]string{{"to @d"}})
	r.Fold("from @e", []string{"with @f"})
	const want = "## for `@a`\n\n- by `@b`\n\n| of `@c` |\n| --- |\n| to `@d` |\n\n" +
		"<details><summary>from <code>@e</code></summary>\n\n- with `@f`\n\n</details>\n"
	if text, markdown := written(t, r); markdown != want || strings.Contains(text, "`") {
		t.Errorf("got\n%s\nwant\n%s", markdown, want)
	}
}

// FuzzEscapes checks that no text breaks a line or controls a terminal, in any part of a report.
func FuzzEscapes(f *testing.F) {
	f.Add("a\x02\n\x03\x0e\u2028|`<b>\x1b")
	f.Fuzz(func(t *testing.T, in string) {
		r := &report.Report{}
		r.Heading(1, in)
		r.Item(0, "%s %s %s", in, report.Name(in), report.Strong(in))
		r.Table([]string{in, report.Name(in)}, [][]string{{report.Name(in), in}})
		r.Code(in)
		r.Fold(report.Name(in), []string{in})
		lines := strings.Count(strings.TrimSuffix(in, "\n"), "\n") // of code
		text, markdown := written(t, r)
		for format, got := range map[string]string{"text": text, "markdown": markdown} {
			controls := func(c rune) bool {
				return c != '\n' && unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
			}
			if i := strings.IndexFunc(got, controls); i >= 0 || !utf8.ValidString(got) {
				t.Errorf("%s of %q: got %q", format, in, got)
			}
		}
		if n := strings.Count(markdown, "\n"); n != 17+lines {
			t.Errorf("%q: got %d lines of Markdown:\n%s", in, n-lines, markdown)
		}
	})
}

// TestFits checks that a list ends before its limit, and that folded lists fit into a comment beside the other blocks.
func TestFits(t *testing.T) {
	var items []string
	for i := range 20_000 {
		items = append(items, fmt.Sprint("i", i))
	}
	r := &report.Report{}
	r.List(19, items)
	r.Fold("first", items[:10])
	r.Fold("second", items)
	r.Fold("third", items[:10])
	r.Heading(1, strings.Repeat("ä", 30_000))
	_, markdown := written(t, r)
	if want := "- i0\n- i1\n- i2\n- and 19,997 more\n\n<details><summary>first"; !strings.HasPrefix(markdown, want) {
		t.Errorf("got\n%.200s\nwant at its start\n%s", markdown, want)
	}
	if n := utf8.RuneCountInString(markdown); n > report.MaxComment || n < report.MaxComment-100 {
		t.Errorf("%d characters", n)
	}
	shown := strings.Count(markdown, "\n- i") - 2
	end := fmt.Sprintf("\n\n%d lines left out, since a comment cannot be longer; -o json has everything.\n", 20_020-shown)
	if !strings.HasSuffix(strings.ReplaceAll(markdown, ",", ""), strings.ReplaceAll(end, ",", "")) ||
		strings.Contains(markdown, "third") {
		t.Errorf("it ends with\n%s\nwant\n%s", markdown[len(markdown)-200:], end)
	}
}

func written(t testing.TB, r *report.Report) (text, markdown string) {
	t.Helper()
	var plain, marked strings.Builder
	if err := r.Text(&plain); err != nil {
		t.Fatal(err)
	}
	if err := r.Markdown(&marked); err != nil {
		t.Fatal(err)
	}
	return plain.String(), marked.String()
}
