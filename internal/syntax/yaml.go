package syntax

import (
	"bytes"
	"fmt"
	"strings"
)

// A yamlReader reads the text of a YAML document and adds the ends of values and the comments to its outline, node by
// node. Only comments and punctuation may be between nodes.
type yamlReader struct {
	*Tree
	at     int    // the offset of the unread text
	column int    // of the innermost list or object in block style, counted from 0; -1 outside of all
	err    *Error // the first error
}

func parseYAML(text []byte) (*Tree, error) {
	root, err := Outline(text)
	if err != nil {
		return nil, err
	}
	mark := len(text) - len(bytes.TrimPrefix(text, byteOrderMark))
	r := &yamlReader{Tree: &Tree{Text: text, Root: root}, at: mark, column: -1}
	r.document(root)
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

// document reads the whole text.
func (r *yamlReader) document(root *Node) {
	lead := r.remarks()
	lead = append(lead, r.marker("---", root.From)...)
	r.node(root)
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
func (r *yamlReader) node(n *Node) {
	if r.at != n.From {
		r.fail("unsupported syntax")
	}
	r.here(n)
}

// here reads n at the unread text.
func (r *yamlReader) here(n *Node) {
	n.Start, n.From = r.at, r.at
	n.Props, n.Lead = r.properties(n)
	n.Body = r.at
	if n.Shared == "" && n.Props != "" {
		n.Shared = "a tag"
	}
	r.Aliases = r.Aliases || n.Alias != nil
	switch {
	case n.Kind == Scalar:
		r.scalar(n)
	case n.Flow:
		r.flow(n)
	default:
		r.children(n)
	}
}

// properties reads the anchor and the tag of a node, and the comments after them.
func (r *yamlReader) properties(n *Node) (props string, comments []string) {
	var all []string
	for count := n.props; count > 0 && (r.next() == '&' || r.next() == '!'); count-- {
		start := r.at
		for r.next() != 0 && strings.IndexByte(" \t\r\n,[]{}", r.next()) < 0 {
			r.at++
		}
		all = append(all, string(r.Text[start:r.at]))
		if n.isMissing() {
			r.blanks()
		} else {
			comments = append(comments, texts(r.remarks())...)
		}
	}
	return strings.Join(all, " "), comments
}

// isMissing reports whether n is a null without text, as in "key:".
func (n *Node) isMissing() bool {
	return n.Kind == Scalar && n.Value == "" && n.Quote == 0 && !n.Block && n.Alias == nil
}

// children reads a list or mapping in block style.
func (r *yamlReader) children(n *Node) {
	outer := r.column
	r.column = Column(r.Text, min(r.at, len(r.Text)))
	for i, child := range n.Children {
		if r.err != nil {
			break
		}
		var head []string
		if i > 0 {
			head = texts(r.remarks())
		}
		start := r.at
		if n.Kind == List {
			r.expect('-')
		} else {
			r.key(child.Key)
			head = append(head, child.Key.Head...)
		}
		r.value(child)
		child.Start, child.Head = start, append(head, child.Head...)
		n.To = child.To
	}
	r.tail(outer, n)
	r.column = outer
}

// key reads a key, the colon after it and the comments around it.
func (r *yamlReader) key(n *Node) {
	var head []string
	if r.next() == '?' && r.at < n.From {
		r.at++
		head = texts(r.remarks())
	}
	start := r.at
	r.node(n)
	if n.Block || n.InBlockStyle() || bytes.IndexByte(r.Text[n.Body:n.To], '\n') >= 0 {
		r.at = start
		r.fail("a key on several lines is not supported")
	}
	n.Head = append(append(head, n.Lead...), texts(r.remarks())...)
	r.expect(':')
}

// value reads a value and the comments around it, after the colon of its key or the dash of an element.
func (r *yamlReader) value(n *Node) {
	if n.isMissing() && r.at == n.From && r.next() != '&' && r.next() != '!' {
		n.Comment = r.trailingComment()
		return
	}
	before := r.remarks()
	r.node(n)
	switch {
	case !n.InBlockStyle():
		n.Head = append(texts(before), n.Lead...)
		if !n.Block {
			n.Comment = r.trailingComment()
		}
	case n.Key != nil && len(before) > 0 && before[0].trailing:
		n.Comment = before[0].text
		n.Lead = append(texts(before[1:]), n.Lead...)
	default:
		n.Lead = append(texts(before), n.Lead...)
	}
}

// flow reads a list or mapping in brackets. A mapping with a single pair needs no brackets in a list.
func (r *yamlReader) flow(n *Node) {
	ends := map[byte]byte{'[': ']', '{': '}'}
	end, bracketed := ends[r.next()]
	if n.Kind == Object && end == ']' {
		bracketed = false // the key of the pair is a list
	}
	if bracketed {
		r.at++
	}
	for _, child := range n.Children {
		if child.Key != nil {
			r.inFlow(child.Key)
		}
		if child.isMissing() {
			r.blanks()
			if r.next() == ':' {
				r.at++
			}
		}
		r.inFlow(child)
		if child.Key != nil {
			child.Start = child.Key.From
		}
	}
	if bracketed {
		r.between(len(r.Text))
		r.expect(end)
	}
	n.To = min(r.at, len(r.Text))
}

// inFlow reads a key or a value in brackets.
func (r *yamlReader) inFlow(n *Node) {
	if n.isMissing() {
		n.Start, n.From, n.To, n.Body = r.at, r.at, r.at, r.at
		return
	}
	r.between(n.From)
	r.here(n)
}

// between reads the punctuation and comments within brackets, up to an offset.
func (r *yamlReader) between(end int) {
	for r.remarks(); r.at < end && strings.IndexByte(",:?", r.next()) >= 0; r.remarks() {
		r.at++
	}
}
