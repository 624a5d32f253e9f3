package position

import (
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// YAML returns the places of the first document of a YAML text. Aliases and merge keys are followed.
//
// It builds a tree of the document, which takes many times its size. With an error, which is that of the parser, the
// Document is not nil: it knows what stands in the lines before it, if that is YAML.
func YAML(doc []byte) (*Document, error) {
	d := &Document{text: newText(doc)}
	root, err := parse(d.text.bytes)
	if root == nil {
		return d, err
	}
	tree := &yamlTree{
		text:     d.text.bytes,
		lines:    yamlLines(d.text.bytes),
		mappings: make(map[*yaml.Node]mapping),
		keys:     make(map[string]string),
	}
	d.root = yamlValue{tree, root}
	d.dupes = func(yield func(repetition)) { tree.repetitions(root, "", yield) }
	return d, err
}

// A yamlTree is a parsed document. It remembers the mappings that were asked for.
type yamlTree struct {
	text     []byte
	lines    []int // where the lines start that the parser counts
	mappings map[*yaml.Node]mapping
	keys     map[string]string // what keys are in JSON, by the documents of keyDocument
}

type yamlValue struct {
	tree *yamlTree
	node *yaml.Node
}

func (v yamlValue) offset() int { return v.tree.offset(v.node) }

// offset returns where a node starts. The parser counts characters.
func (t *yamlTree) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(t.lines) {
		return len(t.text)
	}
	at := t.lines[n.Line-1]
	for range n.Column - 1 {
		if at == len(t.text) {
			break
		}
		_, size := utf8.DecodeRune(t.text[at:])
		at += size
	}
	return at
}

func (v yamlValue) child(token string) (int, value, bool) {
	switch n := target(v.node); n.Kind {
	case yaml.MappingNode:
		key, child, ok := v.tree.member(n, token, make(map[*yaml.Node]bool))
		if !ok {
			return 0, nil, false
		}
		return v.tree.offset(key), yamlValue{v.tree, child}, true
	case yaml.SequenceNode:
		i, ok := element(token, len(n.Content))
		if !ok {
			return 0, nil, false
		}
		return v.tree.offset(n.Content[i]), yamlValue{v.tree, n.Content[i]}, true
	}
	return 0, nil, false
}

// target returns what an alias stands for, and other nodes as they are.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// A mapping knows at which index of its node's content keys stand.
type mapping struct {
	keys   map[string]int // of equal ones the last
	merges []int
}

func (t *yamlTree) mapping(n *yaml.Node) mapping {
	if m, ok := t.mappings[n]; ok {
		return m
	}
	m := mapping{keys: make(map[string]int)}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if isMerge(n.Content[i]) {
			m.merges = append(m.merges, i)
		} else if key, ok := t.key(n.Content[i]); ok {
			m.keys[key] = i
		}
	}
	t.mappings[n] = m
	return m
}

// member returns the key and the value that count for a mapping. As in opm a merge takes the place of keys above it and
// is hidden by those below. Mappings in seen were searched before; merges may go in circles.
func (t *yamlTree) member(n *yaml.Node, token string, seen map[*yaml.Node]bool) (key, child *yaml.Node, ok bool) {
	if seen[n] {
		return nil, nil, false
	}
	seen[n] = true
	m := t.mapping(n)
	own, isOwn := m.keys[token]
	for _, i := range slices.Backward(m.merges) {
		if isOwn && i < own {
			break
		}
		for _, merged := range mergedBy(n.Content[i+1]) {
			if key, child, ok := t.member(merged, token, seen); ok {
				return key, child, true
			}
		}
	}
	if !isOwn {
		return nil, nil, false
	}
	return n.Content[own], n.Content[own+1], true
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "!!merge" || key.Tag == "!")
}

// mergedBy returns the mappings that the value of a merge key brings in. The first that has a key decides.
func mergedBy(n *yaml.Node) []*yaml.Node {
	sources := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		sources = n.Content
	}
	var mappings []*yaml.Node
	for _, source := range sources {
		if m := target(source); m.Kind == yaml.MappingNode {
			mappings = append(mappings, m)
		}
	}
	return mappings
}
