package layout_test

import (
	"bytes"
	"strings"
	"testing"

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
