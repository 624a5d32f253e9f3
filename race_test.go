package opm

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// starts matches statements that start a goroutine.
var starts = regexp.MustCompile(`(?m)^\s*(defer )?go (func|[a-zA-Z_.]+\()|\.Go\(|parallel\.[A-Z][a-z]+\(`)

// TestRaceStage checks that make race tests every package that starts goroutines. The command itself is left out: its
// tests start it thousands of times.
func TestRaceStage(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(makefile), "\nCONCURRENT := ")
	list, _, _ = strings.Cut(strings.ReplaceAll(list, "\\\n", ""), "\n")
	want := map[string]bool{}
	err = fs.WalkDir(os.DirFS("."), ".", func(name string, e fs.DirEntry, err error) error {
		switch dir := path.Dir(name); {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains([]string{"bench", "test", "tools", "examples", ".git"}, name):
			return fs.SkipDir
		case path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || dir == "cmd/opm":
			return nil
		default:
			text, err := os.ReadFile(name)
			if starts.Match(text) {
				want[dir] = true
			}
			return err
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	inStage := func(dir string) bool {
		return slices.ContainsFunc(strings.Fields(list), func(pattern string) bool {
			parent, tree := strings.CutSuffix(pattern, "/...")
			return "./"+dir == pattern || tree && strings.HasPrefix("./"+dir+"/", parent+"/")
		})
	}
	for _, dir := range slices.Sorted(maps.Keys(want)) {
		if !inStage(dir) {
			t.Errorf("%s starts goroutines: add it to CONCURRENT in the Makefile", dir)
		}
	}
	if len(want) < 20 {
		t.Errorf("only %v were found", want)
	}
}
