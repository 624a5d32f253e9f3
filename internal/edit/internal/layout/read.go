package layout

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// A node is a value in the form in which it is printed.
type node struct {
	props string // anchor and tag
	value string // of a scalar

	text    []string // the lines of a value that is not a list or mapping in block style; the first is not indented
	indent  int      // of the lines after the first, relative to the list or mapping around the value
	isBlock bool     // a literal or folded block, whose comment is in the first line

	entries []*entry // of a list or mapping in block style
	isList  bool
	lead    []string // comments before the first entry, "" for an empty line
	tail    []string // comments after the last entry
}

// An entry is an element of a list, or a key of a mapping with its value.
type entry struct {
	head    []string // comments above it, "" for an empty line
	key     *node    // nil in a list
	value   *node
	comment string // at the end of its line or, for a list or mapping, at the end of the line with its key
}

// A reader reads the text of a document, node by node. Only comments and punctuation may be between nodes.
type reader struct {
	text  []byte
	nodes *yamljson.Nodes
	at    int   // the offset of the unread text
	err   error // the first error

	column int // of the start of the innermost list or mapping in block style, counted from 0

	root     *node
	comments []string // all comments read so far
	aliases  bool     // the document has aliases
}

// read reads a document.
func read(text []byte) (*reader, error) {
	root, _, err := yamljson.Parse(text)
	if err != nil {
		return nil, document.YAMLError(start, err)
	}
	r := &reader{text: text, nodes: yamljson.NewNodes(text), column: -1}
	r.root = r.document(root)
	return r, r.err
}

// fail records an error at the start of the unread text, unless an error is already recorded.
func (r *reader) fail(message string) {
	if r.err == nil {
		r.err = failure(r.text, min(r.at, len(r.text)), message)
	}
}

// next returns the first unread byte, or 0 at the end of the text.
func (r *reader) next() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// expect reads a byte, which must be c.
func (r *reader) expect(c byte) {
	if r.next() != c {
		r.fail(fmt.Sprintf("want %q", c))
	}
	r.at++
}

// offset returns the start of a node.
func (r *reader) offset(n *yaml.Node) int { return r.nodes.Offset(n) }

// document reads the whole text.
func (r *reader) document(n *yaml.Node) *node {
	lead := r.remarks()
	root := r.node(n)
	root.lead = append(texts(lead), root.lead...)
	if last := len(root.text) - 1; last >= 0 && !root.isBlock {
		root.text[last] = join(root.text[last], r.trailingComment())
	}
	root.tail = append(root.tail, texts(r.remarks())...)
	if end := []byte("..."); bytes.HasPrefix(r.text[min(r.at, len(r.text)):], end) {
		r.at += len(end)
		root.tail = append(root.tail, texts(r.remarks())...)
	}
	if r.at < len(r.text) {
		r.fail("want the end of the document")
	}
	for len(root.tail) > 0 && root.tail[len(root.tail)-1] == "" {
		root.tail = root.tail[:len(root.tail)-1]
	}
	return root
}

// node reads n, which must start at the unread text.
func (r *reader) node(n *yaml.Node) *node {
	if r.at != r.offset(n) {
		r.fail("unsupported syntax")
	}
	out := &node{value: n.Value, indent: 2}
	out.props, out.lead = r.properties(n)
	switch {
	case n.Kind == yaml.AliasNode:
		r.aliases = true
		start := r.at
		r.at += len("*") + len(n.Value)
		out.text = r.linesFrom(start)
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		out.isBlock = true
		out.text = r.block(n)
	case n.Kind == yaml.ScalarNode:
		out.text = r.scalar(n, out.props == "")
	case n.Style&yaml.FlowStyle != 0:
		out.text, out.indent = r.flow(n)
	case n.Kind == yaml.SequenceNode:
		r.list(n, out)
	default:
		r.mapping(n, out)
	}
	return out
}

// properties reads the anchor and the tag of a node, and the comments after them.
func (r *reader) properties(n *yaml.Node) (props string, comments []string) {
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
		for r.next() != 0 && strings.IndexByte(" \t\n,[]{}", r.next()) < 0 {
			r.at++
		}
		all = append(all, string(r.text[start:r.at]))
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
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&quoted == 0
}

// mapping reads a mapping in block style.
func (r *reader) mapping(n *yaml.Node, out *node) {
	outer := r.enter()
	for i := 0; i+1 < len(n.Content) && r.err == nil; i += 2 {
		e := &entry{}
		if i > 0 {
			e.head = texts(r.remarks())
		}
		r.key(n.Content[i], e)
		r.value(n.Content[i+1], e)
		out.entries = append(out.entries, e)
	}
	r.leave(outer, out)
}

// key reads the key of an entry, and the colon after it.
func (r *reader) key(n *yaml.Node, e *entry) {
	if r.next() == '?' && r.at < r.offset(n) {
		r.at++
		e.head = append(e.head, texts(r.remarks())...)
	}
	start := r.at
	e.key = r.node(n)
	if len(e.key.text) != 1 {
		r.at = start
		r.fail("a key on several lines is not supported")
	}
	e.head = append(e.head, e.key.lead...)
	e.head = append(e.head, texts(r.remarks())...)
	r.expect(':')
}

// list reads a list in block style.
func (r *reader) list(n *yaml.Node, out *node) {
	out.isList = true
	outer := r.enter()
	for i := 0; i < len(n.Content) && r.err == nil; i++ {
		e := &entry{}
		if i > 0 {
			e.head = texts(r.remarks())
		}
		r.expect('-')
		r.value(n.Content[i], e)
		out.entries = append(out.entries, e)
	}
	r.leave(outer, out)
}

// value reads the value of an entry and the comments around it.
func (r *reader) value(n *yaml.Node, e *entry) {
	if isMissing(n) && r.at == r.offset(n) && r.next() != '&' && r.next() != '!' {
		e.value = &node{text: []string{""}}
		e.comment = r.trailingComment()
		return
	}
	before := r.remarks()
	e.value = r.node(n)
	switch v := e.value; {
	case v.text != nil:
		e.head = append(e.head, texts(before)...)
		e.head = append(e.head, v.lead...)
		if !v.isBlock {
			e.comment = r.trailingComment()
		}
	case e.key != nil && len(before) > 0 && before[0].trailing:
		e.comment = before[0].text
		v.lead = append(texts(before[1:]), v.lead...)
	default:
		v.lead = append(texts(before), v.lead...)
	}
}

// enter begins a list or mapping in block style at the unread text, and returns the column of the list or mapping
// around it.
func (r *reader) enter() (outer int) {
	outer = r.column
	r.column = r.at - 1 - bytes.LastIndexByte(r.text[:min(r.at, len(r.text))], '\n')
	return outer
}

// leave reads the comments at the end of a list or mapping. They are indented at least as far as it is, and further
// than the list or mapping around it, which is at column outer.
func (r *reader) leave(outer int, out *node) {
	start, count := r.at, len(r.comments)
	all := r.remarks()
	r.at, r.comments = start, r.comments[:count]
	n := 0
	for i, c := range all {
		if c.text == "" {
			continue
		}
		if c.column < r.column || c.column <= outer {
			break
		}
		n, r.at = i+1, c.end
		r.comments = append(r.comments, c.text)
	}
	out.tail = texts(all[:n])
	r.column = outer
}

// A remark is a comment or an empty line.
type remark struct {
	text     string // "" for an empty line
	column   int    // counted from 0
	end      int    // the offset of the end of the text
	trailing bool   // on the line of the value or the punctuation before it
}

func texts(remarks []remark) []string {
	var all []string
	for _, r := range remarks {
		all = append(all, r.text)
	}
	return all
}

// remarks reads blanks and comments.
func (r *reader) remarks() (all []remark) {
	isFirst := r.at < len(r.text) && r.at > 0 && r.text[r.at-1] != '\n'
	isEmpty := !isFirst
	for ; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case ' ', '\t':
		case '\n':
			if isEmpty {
				all = append(all, remark{end: r.at})
			}
			isFirst, isEmpty = false, true
		case '#':
			column := r.at - 1 - bytes.LastIndexByte(r.text[:r.at], '\n')
			text := r.restOfLine()
			all = append(all, remark{text, column, r.at, isFirst})
			r.comments = append(r.comments, text)
			isEmpty = false
			r.at--
		default:
			return all
		}
	}
	return all
}

// trailingComment reads the comment at the end of the line. It returns "" if there is none.
func (r *reader) trailingComment() string {
	r.blanks()
	if r.next() != '#' {
		return ""
	}
	text := r.restOfLine()
	r.comments = append(r.comments, text)
	return text
}

// blanks reads spaces and tabs.
func (r *reader) blanks() {
	for r.next() == ' ' || r.next() == '\t' {
		r.at++
	}
}

// restOfLine reads the rest of the line.
func (r *reader) restOfLine() string {
	size := bytes.IndexByte(r.text[r.at:], '\n')
	if size < 0 {
		size = len(r.text) - r.at
	}
	line := r.text[r.at : r.at+size]
	r.at += size
	return string(bytes.TrimRight(line, " \t\r"))
}
