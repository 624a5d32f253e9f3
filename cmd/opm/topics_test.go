package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTopics checks the form of the topics, and that no topic has the name of a command.
func TestTopics(t *testing.T) {
	names := map[string]bool{}
	for _, c := range rootCmd(nil, "").Commands() {
		names[c.Name()] = true
	}
	for _, topic := range helpPages().Topics {
		if names[topic.Name] {
			t.Errorf("two pages of help have the name %s", topic.Name)
		}
		names[topic.Name] = true
		for line := range strings.Lines(topic.Text()) {
			if !strings.HasPrefix(line, "  ") && len(line) > 102 {
				t.Errorf("%s: the line %q is too long for a terminal", topic.Name, line)
			}
		}
	}
}

// getenv matches the name of a variable that our code reads.
var getenv = regexp.MustCompile(`\b(?:Getenv|LookupEnv)\("([A-Z_]+)"\)`)

// TestEnvironment checks that the page of environment variables has each variable that our code reads.
func TestEnvironment(t *testing.T) {
	text, found := helpPages().Topics[0].Text(), 0 // of the environment
	for _, room := range []string{"../../cmd", "../../internal", "../../pkg"} {
		err := filepath.WalkDir(room, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && e.Name() == "testing" {
				return filepath.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			for _, match := range getenv.FindAllStringSubmatch(string(code), -1) {
				found++
				name := match[1]
				if !regexp.MustCompile(`\b`+name+`\b`).MatchString(text) && name != "TERM" {
					t.Errorf("opm help environment does not have %s, which %s reads", name, path)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 10 {
		t.Errorf("found %d uses of variables", found)
	}
}
