package syntax

import (
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// Outline returns the tree of a YAML document in any layout, without the text around its values: comments are missing,
// and all offsets are those of the first characters of keys and values. The document must be one that [yamljson.Append]
// accepts; the error is of package yamljson.
func Outline(text []byte) (*Node, error) {
	root, offset, err := yamljson.Parse(text)
	if err != nil {
		return nil, err
	}
	return outline{offset, map[*yaml.Node]*Node{}}.node(root), nil
}

// An outline converts the nodes of the YAML library.
type outline struct {
	offset  func(*yaml.Node) int
	anchors map[*yaml.Node]*Node
}

var kinds = map[yaml.Kind]Kind{yaml.SequenceNode: List, yaml.MappingNode: Object}

func (o outline) node(n *yaml.Node) *Node {
	at := o.offset(n)
	out := &Node{
		Kind: kinds[n.Kind], Flow: n.Style&yaml.FlowStyle != 0,
		Block: n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0, Value: n.Value,
		Start: at, From: at, Body: at, To: at, Around: &Around{props: properties(n)},
	}
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		out.Quote = '"'
	case n.Style&yaml.SingleQuotedStyle != 0:
		out.Quote = '\''
	}
	switch {
	case n.Kind == yaml.AliasNode:
		out.Shared, out.Alias = "an alias", o.anchors[n.Alias]
	case n.Anchor != "":
		out.Shared = "an anchor"
		o.anchors[n] = out // before its children, which may refer to it
	}
	if out.Kind == Object {
		o.members(n, out)
		return out
	}
	for _, element := range n.Content {
		out.Children = append(out.Children, o.node(element))
	}
	return out
}

func (o outline) members(n *yaml.Node, out *Node) {
	for pair := range slices.Chunk(n.Content, 2) {
		key, value := o.node(pair[0]), o.node(pair[1])
		value.Key, value.Start = key, key.From
		value.Name, _ = yamljson.Key(pair[0])
		if value.Merge = yamljson.IsMerge(pair[0]); value.Merge {
			out.Shared = "a merge"
		}
		out.Children = append(out.Children, value)
	}
}

// properties returns the maximum number of properties, an anchor and a tag, at the start of a node.
func properties(n *yaml.Node) int {
	if n.Kind == yaml.ScalarNode || n.Style&yaml.FlowStyle != 0 {
		return 2
	}
	count := 0 // its first key may have an anchor and a tag, too
	if n.Anchor != "" {
		count++
	}
	if n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" {
		count++
	}
	return count
}

// Target returns the value that an alias refers to. Other nodes are returned unchanged.
func (n *Node) Target() *Node {
	if n.Alias != nil {
		return n.Alias
	}
	return n
}

// Members returns the members of an object in YAML, and those of its merge keys, in the order in which upstream sets
// them: of several with one name, the last one counts.
func (n *Node) Members() []*Node {
	var all []*Node
	for _, c := range n.Children {
		if !c.Merge {
			all = append(all, c)
			continue
		}
		sources := []*Node{c}
		if c.Kind == List { // the first one that has a key counts
			sources = c.Children
		}
		for _, source := range slices.Backward(sources) {
			all = append(all, source.Target().Members()...)
		}
	}
	return all
}
