package syntax_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/syntax"
)

// describe returns the text from the start of a node, its value, and what else is known of it.
func describe(tree *syntax.Tree, ptr jsontext.Pointer) string {
	path := tree.Root.Find(ptr)
	n, text := path[len(path)-1], string(tree.Text)
	return fmt.Sprintf("%q %q %q %s", text[n.Start:n.From], text[n.From:n.To], slices.Concat(n.Head, []string{n.Comment}), n.Shared)
}

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		ptr  jsontext.Pointer
		want string
	}{
		{"a: b # c\n", "/a", `"a: " "b" ["# c"] `},
		{"# a\nb:\n- c\n# d\n-  'e ''f' # g\n", "/b/1", `"-  " "'e ''f'" ["# d" "# g"] `},
		{"a:\n  b: 1\n  c: |- # d\n    e\n\n    f\n\n  # g\n", "/a/c", `"c: " "|- # d\n    e\n\n    f" ["# d"] `},
		{"a: {b: [c, 'd'], e: }\n", "/a/b/1", `"" "'d'" [""] `},
		{"a: {b: [c, 'd'], e: }\n", "/a/e", `"e:" "" [""] `},
		{"a:\nb: 1\n", "/a", `"a:" "" [""] `},
		{"a: # b\n", "/a", `"a:" "" ["# b"] `},
		{"a: &b !c\n- d\ne: *b\n", "/a", `"a: " "&b !c\n- d" [""] an anchor`},
		{"a: &b !c\n- d\ne: *b\n", "/e", `"e: " "*b" [""] an alias`},
		{"\ufeff---\r\na: |\r\n  b\r\nc: d\r\n  e\r\n", "/a", `"a: " "|\r\n  b" [""] `},
		{"\ufeff---\r\na: |\r\n  b\r\nc: d\r\n  e\r\n", "/C", `"c: " "d\r\n  e" [""] `},
		{`{"a": [1, {"b": "c"}]}`, "/a/1", `"" "{\"b\": \"c\"}" [""] `},
		{`{"a": [1, {"b": "c"}]}`, "/a/1/b", `"\"b\": " "\"c\"" [""] `},
	}
	for _, tt := range tests {
		tree, err := syntax.Parse([]byte(tt.text), !strings.HasPrefix(tt.text, "{"))
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if got := describe(tree, tt.ptr); got != tt.want {
			t.Errorf("%q: %s is\n%s, want\n%s", tt.text, tt.ptr, got, tt.want)
		}
	}
}

// FuzzParse checks that values are in the text, in its order, and within the value around them.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"a: b # c\n# d\ne:\n- [f, {g: , h}] # i\n- |+\n  j\n\n...\n", "? &a b\n: !c\n  d: *a\n", "{\"a\": [\"b\\\"\", {}]}",
		"a: \"b\\\n  c\"\n'd''e': f\n  g\n", "\ufeff--- # a\r\n- - b\r\n  - >-2\r\n      c\r\n", "[[a]: b, ? c, : d]", "a: !b\nc: &d\n",
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, yaml bool) {
		tree, err := syntax.Parse(text, yaml)
		if err != nil {
			return
		}
		var check func(n *syntax.Node, from, to int)
		check = func(n *syntax.Node, from, to int) {
			if from > n.Start || n.Start > n.From || n.From > n.Body || n.Body > n.To || n.To > to {
				t.Fatalf("%q: the value %d %d %d %d is not within %d and %d", text, n.Start, n.From, n.Body, n.To, from, to)
			}
			at := n.From
			for _, c := range n.Children {
				check(c, at, n.To)
				if k := c.Key; k != nil {
					check(k, c.Start, c.From)
				}
				at = c.To
			}
		}
		check(tree.Root, 0, len(text))
	})
}
