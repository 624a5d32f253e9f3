package syntax

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// A yamlReader reads the text of a YAML document, node by node. Only comments and punctuation may be between nodes.
type yamlReader struct {
	*Tree
	mark   int             // length of the byte order mark, which the parser skips
	nodes  *yamljson.Nodes // of the text after the mark
	at     int             // the offset of the unread text
	column int             // of the innermost list or object in block style, counted from 0; -1 outside of all
	err    *Error          // the first error
}

func parseYAML(text []byte) (*Tree, error) {
	root, body, err := yamljson.Parse(text)
	if err != nil {
		return nil, err
	}
	mark := len(text) - len(body)
	r := &yamlReader{Tree: &Tree{Text: text}, mark: mark, at: mark, nodes: yamljson.NewNodes(body), column: -1}
	r.Root = r.document(root)
	if r.err != nil {
		return nil, r.err
	}
	return r.Tree, nil
}

// fail records an error at the start of the unread text, unless an error is already recorded.
func (r *yamlReader) fail(message string) {
	if r.err == nil {
		r.err = &Error{min(r.at, len(r.Text)), message}
	}
}

// rest returns the unread text.
func (r *yamlReader) rest() []byte { return r.Text[min(r.at, len(r.Text)):] }

// next returns the first unread byte, or 0 at the end of the text.
func (r *yamlReader) next() byte {
	if r.at < len(r.Text) {
		return r.Text[r.at]
	}
	return 0
}

// expect reads a byte, which must be c.
func (r *yamlReader) expect(c byte) {
	if r.next() != c {
		r.fail(fmt.Sprintf("want %q", c))
	}
	r.at++
}

// offset returns the start of a node.
func (r *yamlReader) offset(n *yaml.Node) int { return r.mark + r.nodes.Offset(n) }

// document reads the whole text.
func (r *yamlReader) document(n *yaml.Node) *Node {
	lead := r.remarks()
	lead = append(lead, r.marker("---", r.offset(n))...)
	root := r.node(n)
	root.Lead = append(texts(lead), root.Lead...)
	if !root.InBlockStyle() && !root.Block {
		root.Comment = r.trailingComment()
	}
	root.Tail = append(root.Tail, texts(r.remarks())...)
	root.Tail = append(root.Tail, texts(r.marker("...", len(r.Text)))...)
	if r.at < len(r.Text) {
		r.fail("want the end of the document")
	}
	for len(root.Tail) > 0 && root.Tail[len(root.Tail)-1] == "" {
		root.Tail = root.Tail[:len(root.Tail)-1]
	}
	return root
}

// marker reads a document marker before an offset, and the comments after it.
func (r *yamlReader) marker(marker string, end int) []remark {
	if r.at >= end || !bytes.HasPrefix(r.rest(), []byte(marker)) {
		return nil
	}
	r.at += len(marker)
	return r.remarks()
}

// node reads n, which must start at the unread text.
func (r *yamlReader) node(n *yaml.Node) *Node {
	if r.at != r.offset(n) {
		r.fail("unsupported syntax")
	}
	return r.here(n)
}

// here reads n at the unread text.
func (r *yamlReader) here(n *yaml.Node) *Node {
	out := &Node{Start: r.at, From: r.at, Value: n.Value, Around: new(Around)}
	out.Props, out.Lead = r.properties(n)
	out.Body = r.at
	switch {
	case n.Kind == yaml.AliasNode:
		out.Shared, r.Aliases = "an alias", true
	case n.Anchor != "":
		out.Shared = "an anchor"
	case out.Props != "":
		out.Shared = "a tag"
	}
	switch n.Kind {
	case yaml.SequenceNode:
		out.Kind = List
	case yaml.MappingNode:
		out.Kind = Object
	}
	out.Flow = n.Style&yaml.FlowStyle != 0
	switch {
	case out.Kind == Scalar:
		r.scalar(n, out)
	case out.Flow:
		r.flow(n, out)
	default:
		r.children(n, out)
	}
	return out
}

// properties reads the anchor and the tag of a node, and the comments after them.
func (r *yamlReader) properties(n *yaml.Node) (props string, comments []string) {
	count := 2
	if n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle == 0 { // its first key may have an anchor and a tag, too
		count = 0
		if n.Anchor != "" {
			count++
		}
		if n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" {
			count++
		}
	}
	var all []string
	for ; count > 0 && (r.next() == '&' || r.next() == '!'); count-- {
		start := r.at
		for r.next() != 0 && strings.IndexByte(" \t\r\n,[]{}", r.next()) < 0 {
			r.at++
		}
		all = append(all, string(r.Text[start:r.at]))
		if isMissing(n) {
			r.blanks()
		} else {
			comments = append(comments, texts(r.remarks())...)
		}
	}
	return strings.Join(all, " "), comments
}

// isMissing reports whether n is a null without text, as in "key:".
func isMissing(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0
}

// pairs yields the keys and values of a mapping, or nil and the elements of a list.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if n.Kind == yaml.SequenceNode {
			for _, element := range n.Content {
				if !yield(nil, element) {
					return
				}
			}
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// add adds a child with its key, which is nil in a list, to an object or a list.
func (n *Node) add(child, key *Node, from *yaml.Node) {
	if child.Key = key; key != nil {
		child.Name, _ = yamljson.Key(from)
		if yamljson.IsMerge(from) {
			n.Shared = "a merge"
		}
	}
	n.Children = append(n.Children, child)
	n.To = child.To
}

// children reads a list or mapping in block style.
func (r *yamlReader) children(n *yaml.Node, out *Node) {
	outer := r.column
	r.column = Column(r.Text, min(r.at, len(r.Text)))
	for from, value := range pairs(n) {
		if r.err != nil {
			break
		}
		var head []string
		if len(out.Children) > 0 {
			head = texts(r.remarks())
		}
		start := r.at
		var key *Node
		if from == nil {
			r.expect('-')
		} else {
			key = r.key(from)
			head = append(head, key.Head...)
		}
		child := r.value(value, key != nil)
		child.Start, child.Head = start, append(head, child.Head...)
		out.add(child, key, from)
	}
	r.tail(outer, out)
	r.column = outer
}

// key reads a key, the colon after it and the comments around it.
func (r *yamlReader) key(n *yaml.Node) *Node {
	var head []string
	if r.next() == '?' && r.at < r.offset(n) {
		r.at++
		head = texts(r.remarks())
	}
	start := r.at
	key := r.node(n)
	if key.Block || key.InBlockStyle() || bytes.IndexByte(r.Text[key.Body:key.To], '\n') >= 0 {
		r.at = start
		r.fail("a key on several lines is not supported")
	}
	key.Head = append(append(head, key.Lead...), texts(r.remarks())...)
	r.expect(':')
	return key
}

// value reads a value and the comments around it, after the colon of its key or the dash of an element.
func (r *yamlReader) value(n *yaml.Node, hasKey bool) *Node {
	if isMissing(n) && r.at == r.offset(n) && r.next() != '&' && r.next() != '!' {
		missing := &Node{From: r.at, To: r.at, Body: r.at, Around: new(Around)}
		missing.Comment = r.trailingComment()
		return missing
	}
	before := r.remarks()
	v := r.node(n)
	switch {
	case !v.InBlockStyle():
		v.Head = append(texts(before), v.Lead...)
		if !v.Block {
			v.Comment = r.trailingComment()
		}
	case hasKey && len(before) > 0 && before[0].trailing:
		v.Comment = before[0].text
		v.Lead = append(texts(before[1:]), v.Lead...)
	default:
		v.Lead = append(texts(before), v.Lead...)
	}
	return v
}

// flow reads a list or mapping in brackets. A mapping with a single pair needs no brackets in a list.
func (r *yamlReader) flow(n *yaml.Node, out *Node) {
	ends := map[byte]byte{'[': ']', '{': '}'}
	end, bracketed := ends[r.next()]
	if n.Kind == yaml.MappingNode && end == ']' {
		bracketed = false // the key of the pair is a list
	}
	if bracketed {
		r.at++
	}
	for from, value := range pairs(n) {
		var key *Node
		if from != nil {
			key = r.inFlow(from)
		}
		if isMissing(value) {
			r.blanks()
			if r.next() == ':' {
				r.at++
			}
		}
		child := r.inFlow(value)
		if key != nil {
			child.Start = key.From
		}
		out.add(child, key, from)
	}
	if bracketed {
		r.between(len(r.Text))
		r.expect(end)
	}
	out.To = min(r.at, len(r.Text))
}

// inFlow reads a key or a value in brackets.
func (r *yamlReader) inFlow(n *yaml.Node) *Node {
	if isMissing(n) {
		return &Node{Start: r.at, From: r.at, To: r.at, Body: r.at, Around: new(Around)}
	}
	r.between(r.offset(n))
	return r.here(n)
}

// between reads the punctuation and comments within brackets, up to an offset.
func (r *yamlReader) between(end int) {
	for r.remarks(); r.at < end && strings.IndexByte(",:?", r.next()) >= 0; r.remarks() {
		r.at++
	}
}
