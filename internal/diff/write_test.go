package diff_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/report"
)

// TestNamesInMarkdown checks that third-party names and texts appear unchanged, and are not interpreted as Markdown or
// control sequences.
func TestNamesInMarkdown(t *testing.T) {
	const odd = "a`b``c <b>&|*x* \\u001b[31m\\n# d"
	note := func(text string) string {
		return base + fmt.Sprintf("---\n{schema: olm.deprecations, package: loom, entries: "+
			"[{reference: {schema: olm.bundle, name: \"%s\"}, message: \"%s\"}]}\n", odd, text)
	}
	r := compare(t, note("x"), note(odd))
	got := written(t, (*report.Report).Markdown, r)
	want := "- bundle ``` a`b``c <b>&|*x* \\x1b[31m\\n# d ``` is still deprecated, in other words: " +
		"a\\`b\\`\\`c \\<b\\>\\&\\|\\*x\\* \\\\x1b\\[31m \\# d\n"
	if !strings.Contains(got, want) {
		t.Errorf("got:\n%s\nwant in it:\n%s", got, want)
	}
	text := written(t, (*report.Report).Text, r)
	if want := "  bundle a`b``c <b>&|*x* \\x1b[31m\\n# d is still deprecated, in other words: a`b``c <b>&|*x* \\x1b[31m # d\n"; !strings.Contains(text, want) {
		t.Errorf("got:\n%s\nwant in it:\n%s", text, want)
	}
}

// TestMarkdownFits checks that long reports keep the length limit of comments on GitHub, and note the omission, with
// many sections as well as with long sections.
func TestMarkdownFits(t *testing.T) {
	const n = 900
	packages := func(prefix, channel string) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "---\nschema: olm.package\nname: %s-%03d%s\ndefaultChannel: %s\n", prefix, i,
				strings.Repeat("x", 50), channel)
		}
		return text.String()
	}
	for name, r := range map[string]*diff.Report{
		"many sections": compare(t, packages("p", "a"), packages("p", "b")),
		"long sections": compare(t, packages("p", "a"), packages("q", "a")),
	} {
		got := written(t, (*report.Report).Markdown, r)
		if n := utf8.RuneCountInString(got); n > 65_536 || n < 65_000 {
			t.Errorf("%s: a comment of %d characters, want a little less than 65,536", name, n)
		}
		_, details, _ := strings.Cut(got, "<details>")
		left := 0
		end := strings.ReplaceAll(got[strings.LastIndex(got, "</details>"):], ",", "")
		if _, err := fmt.Sscanf(end, "</details>\n\n%d lines left out", &left); err != nil {
			t.Errorf("%s: it ends with %s", name, got[len(got)-200:])
		}
		if shown := strings.Count(details, "\n- "); shown+left != n && shown+left != 2*n {
			t.Errorf("%s: %d lines are shown and %d left out", name, shown, left)
		}
		if strings.Count(got, "<details>") != strings.Count(got, "</details>") {
			t.Errorf("%s: a section does not end", name)
		}
	}
}

// TestManyNames checks that a long list is cut to its first names and the number of others.
func TestManyNames(t *testing.T) {
	var added []string
	for i := range 12 {
		added = append(added, fmt.Sprintf("v%d", i+2))
	}
	r := compare(t, graphOf("v1", "v1"), graphOf("v1 "+strings.Join(added, " "), "v1"))
	got := written(t, (*report.Report).Text, r)
	if want := "  12 bundles added: v2, v3, v4, v5, v6, v7, v8, v9 and 4 more\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got:\n%s\nwant at its end:\n%s", got, want)
	}
	r = compare(t, graphOf("v1", "v1"), graphOf("v1 "+strings.Join(added[:9], " "), "v1"))
	if got := written(t, (*report.Report).Text, r); !strings.HasSuffix(got, ": v2, v3, v4, v5, v6, v7, v8, v9, v10\n") {
		t.Errorf("one more name is as short as the words that there is one; got:\n%s", got)
	}
}

// TestManyImages checks that many bundles with changed images share one line.
func TestManyImages(t *testing.T) {
	before := graphOf("v1 v2 v3 v4 v5 v6 v7 v8 v9", "v9")
	got := written(t, (*report.Report).Text, compare(t, before, strings.ReplaceAll(before, "registry.example", "mirror.example")))
	want := "  9 published bundles changed, v1, v2, v3, v4, v5, v6, v7, v8, v9: image\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("got:\n%s\nwant at its end:\n%s", got, want)
	}
}

// TestJSON checks that lists are never null in JSON, so readers need no special case.
func TestJSON(t *testing.T) {
	var got struct {
		Summary  map[string]any   `json:"summary"`
		Packages []map[string]any `json:"packages"`
	}
	text, err := json.Marshal(compare(t, base, strings.Replace(base, "Fires clay", "Fires", 1)))
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Packages) != 1 || got.Packages[0]["name"] != "kiln" || got.Packages[0]["change"] != "changed" {
		t.Fatalf("packages %v", got.Packages)
	}
	for _, list := range []string{"keys", "channels", "bundles", "deprecations", "objects", "stranded", "reroutes", "deprecationKeys"} {
		if _, ok := got.Packages[0][list].([]any); !ok {
			t.Errorf("%s is %v, want a list", list, got.Packages[0][list])
		}
	}
	if text, err := json.Marshal(compare(t, base, base)); !strings.Contains(string(text), `"packages":[]`) {
		t.Errorf("got %s, %v", text, err)
	}
}
