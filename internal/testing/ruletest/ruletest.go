// Package ruletest checks the tables of rules in tests of the packages that have them:
//
//	ruletest.Explained(t, validate.Rules().All())
package ruletest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Explained reports an error for each rule that lacks a part of its explanation, for each file in the directory rules
// of the package under test that no rule has or that has an unknown section, and for rules of its source that no group
// has.
func Explained(t testing.TB, rules []*problem.Rule) {
	t.Helper()
	names := map[string]bool{}
	for _, r := range rules {
		names[r.Name] = true
		e := r.Example()
		if r.Summary == "" || r.Reason == "" || e.Bad == "" || e.Good == "" || e.Bad == e.Good {
			t.Errorf("rule %s is not explained in full: it needs a summary, a reason, and different bad and good examples "+
				"in rules/%[1]s.txtar", r.Name)
		}
	}
	if n := declared(t); n != len(rules) {
		t.Errorf("the package declares %d rules, of which %d are in a group", n, len(rules))
	}
	files, err := filepath.Glob("rules/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name, ok := strings.CutSuffix(filepath.Base(file), ".txtar"); !ok || !names[name] {
			t.Errorf("%s: no rule has this name", filepath.ToSlash(file))
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(text).Files {
			section, _, _ := strings.Cut(f.Name, "/")
			if !slices.Contains([]string{"bad", "good", "schema", "config"}, section) {
				t.Errorf("%s: no example has a section %q", filepath.ToSlash(file), f.Name)
			}
		}
	}
}

// declared returns the number of rules in the source of the package under test: literals with a Name and a Severity.
func declared(t testing.TB) (n int) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if literal, ok := node.(*ast.CompositeLit); ok && hasKeys(literal, "Name", "Severity") {
				n++
			}
			return true
		})
	}
	return n
}

// hasKeys reports whether the first keys of a literal are these.
func hasKeys(literal *ast.CompositeLit, keys ...string) bool {
	if len(literal.Elts) < len(keys) {
		return false
	}
	for i, want := range keys {
		pair, ok := literal.Elts[i].(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != want {
			return false
		}
	}
	return true
}
