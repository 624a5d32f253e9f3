package yamljson

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	yamlv4 "go.yaml.in/yaml/v4"
	"sigs.k8s.io/yaml"
)

var seeds = []string{
	"a: 1\nb: [c, {d: e}]\n",
	"---\na: 'b'\n",
	"--- # c\n- a\n- - b\n  - c: d\n    e: f\n-\n",
	"a: |2+\n\n    x\nb:\n- |-1\n   y\n",
	"a: |\n  x\n\n  y\nb: |-\n\n  x\nc: |+\n  z\n\n",
	"a: >-\n  x\n\n  y\nb: >\n z\n",
	"a: >+\n\n  x\n  y\n\n\n  z\n   in\n\n  \tb\n  c\n\nd: >2\n    e\n  f\n",
	"a: &x {b: c}\nd:\n  <<: *x\n  e: *x\n",
	"a: \"b\\n\\u00fc\\\n  c\n\n  d\\\" \"\n",
	"a: 'it''s\n  two'\n...\n# c\n",
	"a: !!int 12\nb: !!binary aGVsbG8=\n? c\n: d\n",
	"a: [0x1F, 017, 1_000, .5, 5., -0, 1e3, 1e400, yes, ~, 2020-01-01]\n",
	"a: plain # comment\n  # more\nb:   c\n    d\n\n    e\n",
	"{\"a\": \"b\", c: [d, e: f], ? g : h}\n",
	"y: 1\n3: 2\n1.5: 3\n~: 4\n",
	"a: b\r\nc: |\r\n  d\r\n",
	"a: {}\nb: [] # c\nc: \"\"\n",
	"a:\n- b\n- c\nd: *e\n",
	"a:\n  b\n  c\n\"d\":\n  'e'\n",
	"a:\tb\n\tc\n",
	"a: \"b\n---\n c\"\n",
	"a: <<\n=: -\n-a: ?b\n:c: :d\n",
	"? 'a\u2028  b'\n: c\n? |-\n  d\n  e\n: - f\n  - g\n? \"h\\n\"\n: i: j\n  k: l\n",
	"a: |+\n  b\n\u2028c: |2\n\n   d\u2028  e\u2029\n\nf: '\u2028  g\u2029\u2028'\nh: |-\n\n\u2028  i\n",
	"\"a\\tb\": 1\n'c''d': 2\n\"\": 3\n\"<<\": 4\n\"e\\\\\": \"f\\\"\"\n",
}

// departures are the beginnings of messages about texts that Append rejects and sigs.k8s.io/yaml reads.
var departures = []struct{ msg, reason string }{
	{"only a comment may follow ---", "opm refuses it too, where it splits a file"},
	{"directives are not supported", "opm refuses them too: its splitter cuts them off from their document"},
	{"a second document begins here", "the caller splits; sigs.k8s.io/yaml drops all documents but the first"},
	{"content after ...", "upstream drops it"},
	{"content after the end of the document", "upstream drops what follows a root in brackets or quotes"},
	{"not UTF-8", "sigs.k8s.io/yaml reads UTF-16, which opm's splitter cuts at bytes that are no characters"},
	{"control character", "upstream reads in pieces and overlooks some, as behind the end of a document"},
	{"aliases expand beyond 64 MB", "upstream limits how many nodes they become, not how large"},
	{"nested deeper", "opm refuses it too, where it decodes the JSON"},
	{"the key ", "of keys that are equal in JSON only, upstream takes any"},
}

// departs reports whether err is one of the departures. If aliases are possible, Append also keeps its error in corner
// cases of the grammar in which upstream continues.
func departs(doc []byte, err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	for _, d := range departures {
		if strings.HasPrefix(e.Msg, d.msg) {
			return true
		}
	}
	return mayHaveAliases(doc)
}

// FuzzAppend compares with upstream: both must reject a document, or read the same value.
func FuzzAppend(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, c := range conversions {
		f.Add([]byte(c.doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := Append(nil, doc)
		want, upstreamErr := yaml.YAMLToJSON(ended(doc)) // as its reader of lines
		switch {
		case errors.Is(err, ErrEmpty):
		case err != nil && upstreamErr != nil:
			checkPlace(t, doc, err)
		case err != nil && !departs(doc, err):
			t.Fatalf("%v\nupstream %s", err, want)
		case err != nil:
		case upstreamErr != nil:
			t.Fatalf("got %s\nupstream %v", got, upstreamErr)
		case !sameJSON(got, want):
			t.Fatalf("got      %s\nupstream %s", got, want)
		}
	})
}

// checkPlace fails if the place of an error is outside the document.
func checkPlace(t *testing.T, doc []byte, err error) {
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v has no place", err)
	}
	lines := bytes.Split(doc, []byte("\n"))
	if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len(lines[e.Line-1])+1 {
		t.Fatalf("%v is outside of the document", err)
	}
}

// FuzzFast compares the two readers for texts that the fast one accepts.
func FuzzFast(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, c := range conversions {
		f.Add([]byte(c.doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		found, err := checkCharacters(doc)
		if err != nil || found.returns {
			return
		}
		got, ok := appendFast([]byte("before"), doc, found, nil)
		got, isAfter := bytes.CutPrefix(got, []byte("before"))
		if !isAfter || !ok && len(got) > 0 {
			t.Fatalf("dst is now %q", got)
		}
		if !ok {
			return
		}
		want, _, err := appendSlow(nil, doc, nil)
		if e, ok := errors.AsType[*Error](err); ok && strings.HasPrefix(e.Msg, "the key ") {
			return
		}
		if err != nil {
			t.Fatalf("fast %s\nslow %v", got, err)
		}
		if !sameJSON(got, want) {
			t.Fatalf("fast %s\nslow %s", got, want)
		}
	})
}

// FuzzTrace compares the offsets of keys and values with the nodes of yaml/v4.
func FuzzTrace(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, c := range conversions {
		f.Add([]byte(c.doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var source Source
		out := source.Trace(doc)
		if source.Text == nil {
			return
		}
		root, _, err := Parse(source.Text)
		if err != nil {
			return // of the two YAML libraries only upstream's reads it
		}
		nodes := flatten(nil, root)
		if len(nodes) != len(source.marks) {
			t.Fatalf("%q: %d places for %d keys and values", doc, len(source.marks), len(nodes))
		}
		for i, m := range source.marks {
			want := offsetOf(source.Text, nodes[i].Line, nodes[i].Column)
			if m.text != want || source.Offset(m.json) != want || out[m.json] != firstByte(nodes[i], out[m.json]) {
				t.Fatalf("%q: %s comes from %d, want %d", doc, out[m.json:], m.text, want)
			}
		}
	})
}

// flatten appends n and all keys and values in it, in the order of the text.
func flatten(nodes []*yamlv4.Node, n *yamlv4.Node) []*yamlv4.Node {
	nodes = append(nodes, n)
	for _, child := range n.Content {
		nodes = flatten(nodes, child)
	}
	return nodes
}

// firstByte returns the expected first byte of the JSON of n; a scalar may begin with any byte except a bracket.
func firstByte(n *yamlv4.Node, begins byte) byte {
	switch n.Kind {
	case yamlv4.MappingNode:
		return '{'
	case yamlv4.SequenceNode:
		return '['
	}
	if strings.IndexByte("{[]}:,", begins) >= 0 {
		return 0
	}
	return begins
}
