//go:build linux

package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCoverage checks that a line of lines.txt uses each command and each flag, or that the file says why none does. A
// flag about registries must be used with one command only, since the code is one. Calls in scripts do not count: a
// change of a script changes the sample of them.
func TestCoverage(t *testing.T) {
	list, err := parseLines(lines)
	if err != nil {
		t.Fatal(err)
	}
	commands, err := readReference(root)
	if err != nil {
		t.Fatal(err)
	}
	in := &inputs{root: root}
	all, err := list.expand(func(name, pattern string) ([]value, error) {
		switch name {
		case "command", "example":
			return in.values(name, pattern)
		case "script":
			return nil, nil
		}
		one := value{}
		for _, field := range []string{"", "base", "parent", "state", "catalogs"} {
			one[field] = "FILE"
		}
		return []value{one}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, line := range all {
		for use := range usesOf(line, commands) {
			used[use] = true
		}
	}
	unused := maps.Clone(list.unused)
	check := func(use string) {
		if why, listed := unused[use]; listed && used[use] {
			t.Errorf("lines.txt says that %s is unused (%s), but it is used", use, why)
		} else if !listed && !used[use] {
			t.Errorf("no line of lines.txt uses %s", use)
		}
		delete(unused, use)
	}
	for _, c := range commands {
		check(c.path)
		for _, flag := range slices.Compact(slices.Sorted(maps.Values(c.flags))) {
			check(c.path + " " + flag)
		}
		for _, flag := range slices.Sorted(maps.Values(c.registry)) {
			if !used[flag] {
				t.Errorf("no line of lines.txt uses %s", flag)
			}
			used[flag] = true
		}
	}
	for use := range unused {
		t.Errorf("lines.txt says that %s is unused, but there is no such command or flag", use)
	}
	for name := range list.patterns {
		if !strings.Contains(lines, "{"+name) {
			t.Errorf("no line uses the pattern %s", name)
		}
	}
}

// Command substitutions, separators of the commands in a line, and the words of a command.
var (
	substitution = regexp.MustCompile(`\$\(([^()]*)\)`)
	separator    = regexp.MustCompile(`&&|\|\||[;|]|\b(?:do|then)\b`)
	word         = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
)

// usesOf returns the commands of opm that a line has, and their flags, as "COMMAND", "COMMAND --FLAG" and, for flags
// about registries, "--FLAG".
func usesOf(line string, commands []*command) map[string]bool {
	uses := map[string]bool{}
	for _, inner := range substitution.FindAllStringSubmatch(line, -1) {
		maps.Copy(uses, usesOf(inner[1], commands))
	}
	line = substitution.ReplaceAllString(line, "WORD")
	for _, part := range separator.Split(line, -1) {
		words := word.FindAllString(part, -1)
		if len(words) == 0 || words[0] != "opm" {
			continue
		}
		words = slices.DeleteFunc(words, func(w string) bool { return w == "alpha" })
		c := commandOf(words, commands)
		uses[c.path] = true
		for _, w := range words {
			flag, _, _ := strings.Cut(w, "=")
			if len(flag) > 2 && flag[0] == '-' && flag[1] != '-' {
				flag = flag[:2]
			}
			if name := c.flags[flag]; name != "" {
				uses[c.path+" "+name] = true
			}
			if name := c.registry[flag]; name != "" {
				uses[name] = true
			}
		}
	}
	return uses
}

// commandOf returns the command with the longest path that a command line begins with.
func commandOf(words []string, commands []*command) *command {
	var best *command
	for _, c := range commands {
		if path := strings.Fields(c.path); len(words) >= len(path) && slices.Equal(words[:len(path)], path) &&
			(best == nil || len(c.path) > len(best.path)) {
			best = c
		}
	}
	return best
}

// TestUsesOf checks the uses that are found in a line.
func TestUsesOf(t *testing.T) {
	commands := []*command{
		{path: "opm", flags: map[string]string{"--version": "--version"}},
		{path: "opm list"},
		{path: "opm list bundles", flags: map[string]string{"--output": "--output", "-o": "--output"},
			registry: map[string]string{"--use-http": "--use-http"}},
	}
	for line, want := range map[string]string{
		"opm --version":                                         "opm,opm --version",
		"opm alpha list bundles c -ojson":                       "opm list bundles,opm list bundles --output",
		"cp a b && opm list bundles --output=json":              "opm list bundles,opm list bundles --output",
		"for i in 1; do opm list; done; echo -o | opm":          "opm,opm list",
		"opm $(opm list bundles 'a -o' --use-http c) --version": "--use-http,opm,opm --version,opm list bundles",
		"opm list no-such -o json; echo opm list bundles":       "opm list",
	} {
		got := strings.Join(slices.Sorted(maps.Keys(usesOf(line, commands))), ",")
		if got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}
