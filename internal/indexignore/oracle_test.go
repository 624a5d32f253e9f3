package indexignore

import (
	"path"
	"strings"
	"testing"
)

// An ignoreFile is one .indexignore file, as input of the oracle.
type ignoreFile struct{ dir, content string }

// oracleIgnored applies the documented rules directly, without a cache and without go-gitignore.
func oracleIgnored(files []ignoreFile, name string) bool {
	ignored := false
	for _, file := range files {
		for line := range strings.SplitSeq(file.content, "\n") {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			glob, negated := strings.CutPrefix(line, "!")
			if oracleMatches(file.dir, glob, name) {
				ignored = !negated
			}
		}
	}
	return ignored
}

// oracleMatches reports whether a pattern matches the file or one of the directories above it.
func oracleMatches(dir, glob, name string) bool {
	if dir != "." {
		if !strings.HasPrefix(name, dir+"/") {
			return false
		}
		name = name[len(dir)+1:]
	}
	glob, dirOnly := strings.CutSuffix(glob, "/")
	elements := strings.Split(name, "/")
	for i := range elements {
		isFile := i == len(elements)-1
		if dirOnly && isFile {
			continue
		}
		if !strings.Contains(glob, "/") {
			if ok, err := path.Match(glob, elements[i]); ok && err == nil {
				return true
			}
		} else if oracleMatchesPath(strings.Split(glob, "/"), elements[:i+1]) {
			return true
		}
	}
	return false
}

func oracleMatchesPath(glob, elements []string) bool {
	named := false
	for i, g := range glob {
		if g == "" || g == "**" {
			continue
		}
		named = true
		if strings.Contains(g, "**") || len(elements) == 0 {
			return false
		}
		if i > 0 && glob[i-1] == "**" {
			for len(elements) > 1 && !holds(path.Match(g, elements[0])) {
				elements = elements[1:]
			}
		}
		if !holds(path.Match(g, elements[0])) {
			return false
		}
		elements = elements[1:]
	}
	return named
}

// holds treats a malformed pattern as one that does not match.
func holds(ok bool, err error) bool { return ok && err == nil }

func FuzzPrecedence(f *testing.F) {
	f.Add("a/\n!keep\n", "x\n", "a/keep")
	f.Add("**/*\n!*.json\n**/objects/*.json", "", "a/objects/b.json")
	f.Add("*.md\nsecret.yaml\n/a/**/gone.yaml\n**/tmp\nx/**", "!secret.yaml\n/local.yaml\nextra/*.yaml", "a/secret.yaml")
	f.Add("[!a]x\n![^b]x\n**//a\n**/a/b/", "/**\na/**/\n[", "a/x/a/b/ax")
	f.Add("\\!a\n\\#b\na\\?\n[b-a]\n[\\]x]", "a**b\na**b/c", "a/!a")
	f.Fuzz(func(t *testing.T, root, sub, name string) {
		// After a star, path.Match tests names byte by byte, so it may split a character.
		if !isASCII(root+sub+name) || path.Clean("/" + name)[1:] != name || name == "" {
			t.Skip()
		}
		files := []ignoreFile{{".", root}, {"a", sub}}
		var m Matcher
		for _, file := range files {
			m.Add(file.dir, []byte(file.content))
		}
		want := oracleIgnored(files, name)
		for range 2 {
			if got := m.Ignored(name); got != want {
				t.Fatalf("root %q, a %q: Ignored(%q) = %v, want %v", root, sub, name, got, want)
			}
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > '~' })
}
