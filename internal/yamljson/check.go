package yamljson

import (
	"fmt"

	"go.yaml.in/yaml/v4"
	upstream "sigs.k8s.io/yaml"
)

// MaxExpansion is the maximum size in bytes of the expanded aliases of a catalog.
const MaxExpansion = 64 << 20

var maxExpansion = MaxExpansion // a variable for tests

// A checker checks the nodes of a document for errors of upstream, to add their places, and for problems that upstream
// does not detect.
type checker struct {
	text     []byte
	anchors  map[*yaml.Node]*extent // nil while the node is being looked at
	expanded int                    // size of expanded aliases in bytes, including earlier documents
	repeated bool                   // a mapping has a key twice
	final    bool                   // the error holds even if upstream reads the document
}

// An extent is the size and depth of a node with its aliases expanded.
type extent struct {
	size  int // in bytes, at most the size of its text if it has no aliases
	depth int // of collections in it
}

// document checks the whole text.
func (c *checker) document() error {
	root, final, err := parse(c.text)
	if err != nil {
		c.final = final
		return err
	}
	e, err := c.node(root, 0)
	if err == nil {
		c.expanded += max(0, e.size-c.written())
	}
	return err
}

// written returns the maximum size of the document without aliases: an escape becomes at most twice as long.
func (c *checker) written() int { return 2 * len(c.text) }

func (c *checker) fail(n *yaml.Node, format string, args ...any) error {
	return errorAt(c.text, offsetOf(c.text, n.Line, n.Column), fmt.Sprintf(format, args...))
}

// node checks n, which is inside depth collections.
func (c *checker) node(n *yaml.Node, depth int) (extent, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return c.alias(n, depth)
	case yaml.ScalarNode:
		e := extent{size: len(n.Value)}
		if n.Anchor != "" {
			c.anchors[n] = &e
		}
		return e, c.scalar(n)
	}
	if depth == maxDepth {
		c.final = true
		return extent{}, c.fail(n, "%v", errDepth)
	}
	if n.Anchor != "" {
		c.anchors[n] = nil
	}
	if n.Kind == yaml.MappingNode {
		if err := c.keys(n); err != nil {
			return extent{}, err
		}
	}
	e := extent{size: 1, depth: 1}
	for _, child := range n.Content {
		inner, err := c.node(child, depth+1)
		if err != nil {
			return e, err
		}
		e = extent{e.size + 1 + inner.size, max(e.depth, 1+inner.depth)}
		if e.size > maxExpansion-c.expanded+c.written() {
			c.final = true
			return e, c.fail(child, "aliases expand beyond 64 MB")
		}
	}
	if n.Anchor != "" {
		c.anchors[n] = &e
	}
	return e, nil
}

func (c *checker) alias(n *yaml.Node, depth int) (extent, error) {
	e := c.anchors[n.Alias]
	switch {
	case e == nil:
		return extent{}, c.fail(n, "anchor %q contains itself", n.Value)
	case depth+e.depth > maxDepth:
		c.final = true
		return extent{}, c.fail(n, "%v", errDepth)
	}
	return *e, nil
}

// keys checks the keys of a mapping.
func (c *checker) keys(n *yaml.Node) error {
	seen := make(map[string]kind, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		if IsMerge(n.Content[i]) {
			if err := c.merge(n.Content[i+1]); err != nil {
				return err
			}
			continue
		}
		node := target(n.Content[i])
		if node.Kind != yaml.ScalarNode {
			return c.fail(n.Content[i], "a key must be a scalar")
		}
		k, key, ok := keyOf(node)
		if !ok {
			return c.fail(n.Content[i], "%s cannot be a key", node.Value)
		}
		before, repeated := seen[key]
		if repeated && before != k { // upstream takes any of them
			c.final = true
			return c.fail(n.Content[i], "the key %q is there twice, in different notations", key)
		}
		c.repeated = c.repeated || repeated
		seen[key] = k
	}
	return nil
}

// merge checks the value of a merge key.
func (c *checker) merge(value *yaml.Node) error {
	sources := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		sources = value.Content
	}
	for _, source := range sources {
		if target(source).Kind != yaml.MappingNode {
			return c.fail(source, "a merge key takes a mapping or a list of mappings")
		}
	}
	return nil
}

func (c *checker) scalar(n *yaml.Node) error {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		alone := fmt.Appendf(nil, "!<%s> %s", n.LongTag(), appendString(nil, []byte(n.Value)))
		if _, err := upstream.YAMLToJSON(alone); err != nil {
			return c.fail(n, "%q is not valid with the tag %s", n.Value, n.Tag)
		}
	case isPlain(n):
		if k, _ := resolve(n.Value); k == kindInfinite {
			return c.fail(n, "%s has no form in JSON", n.Value)
		}
	}
	return nil
}

// isPlain reports whether the type of a scalar depends on its text.
func isPlain(n *yaml.Node) bool {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&quoted == 0 && n.Tag != "!"
}

// IsMerge reports whether a key is the merge key: plain << without a tag, or << with the tag ! or !!merge.
func IsMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "!!merge" || key.Tag == "!")
}

// target returns the target of an alias. Other nodes are returned unchanged.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// Key returns the name of a key in JSON. It reports false for a node that cannot be a key, such as a list.
func Key(n *yaml.Node) (string, bool) {
	n = target(n)
	if n.Kind != yaml.ScalarNode {
		return "", false
	}
	_, key, ok := keyOf(n)
	return key, ok
}

func keyOf(n *yaml.Node) (kind, string, bool) {
	tagged := n.Style&yaml.TaggedStyle != 0
	switch {
	case tagged && (n.Tag == "!!int" || n.Tag == "!!float" || n.Tag == "!!bool" || n.Tag == "!!null"):
	case tagged, !isPlain(n):
		return kindText, n.Value, true
	}
	k, number := resolve(n.Value)
	key, ok := keyText(k, n.Value, number)
	return k, key, ok
}
