package layout_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/edit/internal/layout"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// FuzzYAML checks that the output has the value and the comments of the input, and that printing the output again does
// not change it.
func FuzzYAML(f *testing.F) {
	for _, text := range []string{
		"# a\nname: 'b' # c\nschema: \"d\"\n# e\n\nentries:\n    - name: f\n      # g\n    -  h: |+\n        i\n\n    - [j, {k: l}] # m\n",
		"a: &b # c\n  d: *e\n? f\n: - - g\n    - >-2\n     h\n...\n# i\n", "{a: [b, 'c d', # e\n f: g]}\n", "a: b\n  c\nd: \"e\\\n  f\"\n",
		"a:\n- # b\n  - c\n  # d\n  # e\n # f\n", "a: !!str &b c\nd: !<tag:x> {}\n", "'<<': a\n\"b: c\": 'd # e'\n", "a: [[b]: c, ? d]\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before, err := yamljson.Append(nil, text)
		if err != nil || bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("\ufeff")) {
			return
		}
		out, err := layout.YAML(nil, text, order)
		if err != nil {
			return
		}
		after, err := yamljson.Append(nil, out)
		if err != nil || string(format.AppendCompact(nil, before)) != string(format.AppendCompact(nil, after)) {
			t.Fatalf("%q is printed as %q, which is %s, not %s (%v)", text, out, after, before, err)
		}
		for comment, n := range comments(text) {
			if strings.Count(string(out), comment) < n {
				t.Errorf("%q has the comment %q, and is printed as %q", text, comment, out)
			}
		}
		if again, err := layout.YAML(nil, out, order); err != nil || !bytes.Equal(out, again) {
			t.Errorf("%q is printed as %q, and that as %q (%v)", text, out, again, err)
		}
	})
}

// comments returns the comments that the YAML library finds in a document, which are not all, with their number.
func comments(text []byte) map[string]int {
	all := map[string]int{}
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil {
		return nil
	}
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		for line := range strings.SplitSeq(n.HeadComment+"\n"+n.LineComment+"\n"+n.FootComment, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				all[line]++
			}
		}
		for _, child := range n.Content {
			visit(child)
		}
	}
	visit(&doc)
	return all
}

// FuzzJSON checks that a value has the same order of keys in JSON, which is sorted as text, and in YAML, which is sorted
// as a tree.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"b": 1.50, "name": "\u00e9", "entries": [{"a": [1, 2], "name": "n"}, {"z": {"y": 1, "x": 2}, "a": 0, "schema": "x"}],
			"SCHEMA": "s", "icon": {"type": "t", "b": 1, "data": "d"}}`,
		`{"icon": [{"type": 1, "data": 2}, [{"type": 1, "data": 2}]], "entries": {"a": 1, "name": "n"}, "schema": 5}`,
		`{"entries": [{"a": 1, "name": 2, "z": 3, "schema": "y", "Schema": "x"}, [[{"z": 1, "name": 2, "Schema": "x"}]], 1, []]}`,
		`[{"a": 1, "name": "n"}, [], {}, ["b"], null]`, `"a"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var doc yaml.Node
		if !jsontext.Value(text).IsValid() || yaml.Unmarshal(text, &doc) != nil {
			return
		}
		inJSON, err := layout.JSON(nil, text, order)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		toBlocks(&doc)
		blocks, err := yaml.Marshal(&doc)
		if err != nil {
			return
		}
		inYAML, err := layout.YAML(nil, blocks, order)
		if err != nil {
			return // for example, a key over several lines
		}
		var want, got yaml.Node
		if err := errors.Join(yaml.Unmarshal(inYAML, &want), yaml.Unmarshal(inJSON, &got)); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if want, got := keys(nil, &want), keys(nil, &got); !slices.Equal(got, want) {
			t.Errorf("the keys of %q are %q in JSON and %q in YAML", text, got, want)
		}
	})
}

// toBlocks makes n and all nodes in it print without brackets.
func toBlocks(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle
	for _, child := range n.Content {
		toBlocks(child)
	}
}

// keys appends all keys of n, in their order.
func keys(dst []string, n *yaml.Node) []string {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			dst = append(dst, child.Value)
		}
		dst = keys(dst, child)
	}
	return dst
}
