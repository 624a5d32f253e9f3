package indexignore

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func TestOnePattern(t *testing.T) {
	for _, test := range []struct {
		pattern       string
		ignored, kept string // names, separated by blanks
	}{
		{"", "", "a"},
		{"# a", "", "a #"},
		{"\t a \r", "a", "b"},
		{`\#a`, "#a", "a"},
		{`\!a`, "!a", "a"},
		{"!a", "", "a"},
		{"! a", "", "a"},

		{"a", "a x/a a/x x/a/y", "b A ab ba"},
		{"a.md", "a.md x/a.md", "axmd a.mdx"},
		{"/a", "a a/x", "x/a"},
		{"a/", "a/x x/a/y a/a", "a x/a"},
		{"/a/", "a/x", "a x/a/y"},
		{"a/b", "a/b a/b/c", "x/a/b a/x/b b a"},
		{"/a/b/", "a/b/c", "a/b a/bc"},
		{"a//b", "a/b", "a/x/b"},

		{"*", "a x/a .a", ""},
		{"*.md", "a.md .md x/a.md x.md/a", "amd a.mdx"},
		{"a*b*c", "abc axbxc", "ab acb"},
		{"a?c", "abc aéc a?c", "ac abbc a/c"},
		{"/a*", "ab a ab/c", "x/ab"},
		{"x/*/z", "x/y/z x/y/z/a", "x/z x/y/y/z"},
		{"a+b", "a+b", "aab ab"},
		{"a(1)", "a(1)", "a1"},
		{"a|b", "a|b", "a b"},
		{"a$b", "a$b", "ab"},
		{"a{1}", "a{1}", "a"},
		{"^a", "^a", "a"},
		{`a\?b`, "a?b", "axb"},
		{`a\*`, "a*", "ab"},
		{`*\.md`, "a.md", "amd"},

		{"[0-9]*.json", "1.json 12.json", "a1.json 1json"},
		{"[^a]x", "bx éx", "ax x"},
		{"[!a]x", "!x ax", "bx"},
		{"[a^]x", "ax ^x", "bx"},
		{`[\]a]x`, "]x ax", "bx"},
		{"[b-a]x", "", "ax bx"},
		{"[^b-a]x", "ax", "x"},
		{"[[:digit:]]x", "d]x [x/:]x", "1x dx"},
		{"[a*]x", "*x ax", "bx"},
		{"[a.]x", ".x", "bx"},
		{"[", "", "[ a"},
		{"[]a]x", "", "]x ax"},
		{"[a-]x", "", "ax -x"},
		{"[a/b]", "", "a b / [a/b]"},
		{`a\`, "", `a a\`},
		{"a/[", "", "a/["},
		{"*\xff", "", "a"},

		{"**", "a x/a", ""},
		{"**/", "x/a x/y/a", "a"},
		{"**/*", "a x/a", ""},
		{"**/a", "a x/a x/y/a a/x", "b"},
		{"**/a/", "x/a/b a/b", "a x/a"},
		{"a/**", "a a/x a/x/y", "x/a"},
		{"a/**/", "a/x a/x/y", "a x/a/y"},
		{"a/**/b", "a/b a/x/b a/x/y/b a/x/b/y", "a b x/a/b"},
		{"a/**/**/b", "a/b a/x/b", "a"},
		{"**/a/b", "a/b x/a/b", "a/x/a/b"},
		{"**//a", "a", "x/a"},
		{"a**b", "ab axb", "a"},
		{"a**b/c", "", "ab/c axb/c"},
		{"/", "", "a x/a"},
		{"//", "", "a x/a"},
		{"/**", "", "a x/a"},
		{"**/**", "", "a x/a"},

		{"\ufeffa", "\ufeffa", "a"},
	} {
		var m Matcher
		m.Add(".", []byte(test.pattern))
		check(t, &m, test.pattern, test.ignored, test.kept)
	}
}

func TestPrecedence(t *testing.T) {
	for _, test := range []struct {
		name          string
		files         []string // directory, content, directory, content ...
		ignored, kept string
	}{
		{"no files", nil, "", "a .indexignore"},
		{"the last line wins", []string{".", "a\n!a\nb\n!b\nb"}, "b", "a"},
		{"files come back below an ignored directory", []string{".", "a/\n!keep\n"}, "a/x", "a/keep a/b/keep"},
		{"directories come back too", []string{".", "*\n!a/"}, "b a", "a/x b/a/x"},
		{"the example of the format", []string{".", "**/*\n!*.json\n!*.yaml\n**/objects/*.json"},
			"README.md a/objects/b.json objects/b.json", "a.json a/b.yaml a/objects/b.yaml"},
		{"a file rules its directory only", []string{"a", "x\n/y"}, "a/x a/b/x a/y", "x b/x a/b/y ab/x a"},
		{"the deeper file wins", []string{".", "x\n!y", "a", "!x\ny"}, "x b/x a/y", "a/x y"},
		{"the later file wins, deeper or not", []string{"+", "!x", ".", "x"}, "x +/x", ""},
		{"a file in an ignored directory counts", []string{".", "a/", "a/b", "!x"}, "a/x a/b/y", "a/b/x"},
		{"two files of one directory", []string{"a", "x", "a/", "!x"}, "", "a/x"},
		{"CR LF", []string{".", "x\r\n\r\n!a/x\r\n"}, "x b/x", "a/x"},
	} {
		var m Matcher
		for i := 0; i < len(test.files); i += 2 {
			m.Add(test.files[i], []byte(test.files[i+1]))
		}
		check(t, &m, test.name, test.ignored, test.kept)
	}
}

func TestAddAfterIgnored(t *testing.T) {
	var m Matcher
	m.Add(".", []byte("a"))
	check(t, &m, "before", "x/a", "x/b")
	m.Add("x", []byte("b\n!a"))
	check(t, &m, "after", "x/b", "x/a")
}

// TestConformance runs the conformance scripts of opm: files that they expect to be ignored say that they are lost.
func TestConformance(t *testing.T) {
	scripts, err := filepath.Glob("../../test/conformance/load-indexignore*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no conformance scripts: %v", err)
	}
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		checkScript(t, archive)
	}
}

func checkScript(t *testing.T, archive *txtar.Archive) {
	var m Matcher
	for _, file := range archive.Files {
		if name, ok := strings.CutPrefix(file.Name, "catalog/"); ok && path.Base(name) == Filename {
			m.Add(path.Dir(name), file.Data)
		}
	}
	for _, file := range archive.Files {
		name, ok := strings.CutPrefix(file.Name, "catalog/")
		if !ok || path.Base(name) == Filename {
			continue
		}
		kept := strings.Contains(string(file.Data), "kept")
		if m.Ignored(name) == kept {
			t.Errorf("%s: Ignored(%q) = %v", archive.Comment, name, kept)
		}
	}
}

func check(t *testing.T, m *Matcher, what, ignored, kept string) {
	t.Helper()
	for name := range strings.FieldsSeq(ignored) {
		if !m.Ignored(name) {
			t.Errorf("%q: %q is kept", what, name)
		}
	}
	for name := range strings.FieldsSeq(kept) {
		if m.Ignored(name) {
			t.Errorf("%q: %q is ignored", what, name)
		}
	}
}

func BenchmarkIgnored(b *testing.B) {
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprintf("package-%d/v%d/bundle-%d.yaml", i/100, i/10, i))
	}
	for name, line := range map[string]string{
		"names":     "draft-%d.yaml",
		"suffixes":  "*.%d.bak",
		"paths":     "/package-1/**/draft-%d.yaml",
		"wildcards": "b?[a-z]*%d.yaml",
	} {
		var content strings.Builder
		for i := range 50 {
			fmt.Fprintf(&content, line+"\n", i)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var m Matcher
				m.Add(".", []byte(content.String()))
				for _, name := range names {
					m.Ignored(name)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(names)), "ns/file")
		})
	}
}
