package edit

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// A kind is the kind of a node: a scalar, a list or an object.
type kind byte

// The kinds of nodes.
const (
	scalar kind = iota
	list
	object
)

// A node is a value of a document with its position in the text. Offsets are in bytes.
type node struct {
	kind     kind
	flow     bool // in brackets or braces, like all JSON
	start    int  // of the key of a member, the dash of an element, or otherwise the value
	from, to int  // of the value; to is the offset after its last character
	column   int  // of start, in block style

	name  string // of a member
	quote byte   // around a scalar: ', " or 0

	// shared is the reason why the text must not be edited: an anchor, an alias, a merge or a tag. "" means it may be.
	shared string

	children []*node
}

// find returns the nodes on the path to the value at ptr, the root first. The path is incomplete if there is no such
// value. Keys match in any case, as in decoding.
func (n *node) find(ptr jsontext.Pointer) []*node {
	path := []*node{n}
	for token := range ptr.Tokens() {
		if n = n.child(token); n == nil {
			break
		}
		path = append(path, n)
	}
	return path
}

// child returns the element with an index, or the member with a name; nil if there is none. An exact name wins over one
// in another case.
func (n *node) child(token string) *node {
	if n.kind == list {
		if i, ok := index(token); ok && i < len(n.children) {
			return n.children[i]
		}
		return nil
	}
	var folded *node
	for _, c := range n.children {
		if c.name == token {
			return c
		}
		if strings.EqualFold(c.name, token) {
			folded = c
		}
	}
	return folded
}

// repeated returns the first member with the same name as an earlier one, in any case; nil if there is none.
func (n *node) repeated() *node {
	if n.kind != object {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range n.children {
		name := strings.ToLower(c.name)
		if seen[name] {
			return c
		}
		seen[name] = true
	}
	return nil
}

// sharing returns the first node in n, including n, that must not be edited; nil if there is none.
func (n *node) sharing() *node {
	if n.shared != "" {
		return n
	}
	for _, c := range n.children {
		if s := c.sharing(); s != nil {
			return s
		}
	}
	return nil
}

// last returns the last child; n must have one.
func (n *node) last() *node { return n.children[len(n.children)-1] }

// A jsonReader reads the tree of one JSON value.
type jsonReader struct {
	*jsontext.Decoder
	text []byte
}

func (r jsonReader) value() (*node, error) {
	kind := r.PeekKind()
	at := r.next()
	n := &node{start: at, from: at, flow: true}
	switch kind {
	case jsontext.KindBeginObject:
		n.kind = object
	case jsontext.KindBeginArray:
		n.kind = list
	default:
		if kind == jsontext.KindString {
			n.quote = '"'
		}
		err := r.SkipValue()
		n.to = int(r.InputOffset())
		return n, err
	}
	if _, err := r.ReadToken(); err != nil {
		return nil, err
	}
	for k := r.PeekKind(); k != jsontext.KindEndObject && k != jsontext.KindEndArray; k = r.PeekKind() {
		child, err := r.child(n.kind)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	_, err := r.ReadToken()
	n.to = int(r.InputOffset())
	return n, err
}

func (r jsonReader) child(parent kind) (*node, error) {
	if parent == list {
		return r.value()
	}
	start := r.next()
	key, err := r.ReadToken()
	if err != nil {
		return nil, err
	}
	name := key.String()
	n, err := r.value()
	if err == nil {
		n.name, n.start = name, start
	}
	return n, err
}

// next returns the start of the next key or value.
func (r jsonReader) next() int {
	at := int(r.InputOffset())
	for at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[at]) >= 0 {
		at++
	}
	return at
}

// yamlTree returns the tree of one YAML document. The parser reports the start of each value; the end is found in the
// text. The error is a *placeError if the end cannot be found.
func yamlTree(text []byte) (*node, error) {
	root, body, err := yamljson.Parse(text)
	if err != nil {
		return nil, err
	}
	r := yamlReader{text: text, mark: len(text) - len(body), nodes: yamljson.NewNodes(body)}
	return r.value(root, r.offset(root), -1)
}

type yamlReader struct {
	text  []byte
	mark  int             // length of the byte order mark, which the parser skips
	nodes *yamljson.Nodes // of the text after the mark
}

func (r *yamlReader) offset(n *yaml.Node) int { return r.mark + r.nodes.Offset(n) }

// value returns the tree of n, which starts at an offset, in a block indented by the given number of columns.
func (r *yamlReader) value(n *yaml.Node, at, indent int) (*node, error) {
	v := &node{start: at, from: at, to: at}
	switch {
	case n.Kind == yaml.AliasNode:
		v.shared, v.to = "an alias", at+wordLength(r.text[at:])
		return v, nil
	case n.Anchor != "":
		v.shared = "an anchor"
	case n.Style&yaml.TaggedStyle != 0:
		v.shared = "a tag"
	}
	if v.shared != "" {
		for at < len(r.text) && (r.text[at] == '&' || r.text[at] == '!') {
			at = r.skip(at+wordLength(r.text[at:]), "")
		}
		v.to = at
	}
	var err error
	switch n.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		err = r.collection(v, n, at)
	default:
		switch {
		case n.Style&yaml.DoubleQuotedStyle != 0:
			v.quote = '"'
		case n.Style&yaml.SingleQuotedStyle != 0:
			v.quote = '\''
		}
		v.to, err = r.scalarEnd(n, at, indent)
	}
	return v, err
}

func (r *yamlReader) collection(v *node, n *yaml.Node, at int) error {
	v.kind = list
	step := 1
	if n.Kind == yaml.MappingNode {
		v.kind, step = object, 2
	}
	if n.Style&yaml.FlowStyle != 0 {
		v.flow, v.to = true, at+1
	}
	for i := 0; i+step <= len(n.Content); i += step {
		var child *node
		var err error
		if v.kind == object {
			child, err = r.member(v, n.Content[i], n.Content[i+1])
		} else {
			child, err = r.element(v, n.Content[i])
		}
		if err != nil {
			return err
		}
		v.children = append(v.children, child)
		v.to = child.to
	}
	if !v.flow {
		return nil
	}
	v.to = r.skip(v.to, ",")
	if v.to >= len(r.text) || r.text[v.to] != ']' && r.text[v.to] != '}' {
		return &placeError{v.from, "the end of the value in brackets is not clear"}
	}
	v.to++
	return nil
}

func (r *yamlReader) member(v *node, key, value *yaml.Node) (*node, error) {
	start := r.offset(key)
	column := r.column(start)
	end, err := r.scalarEnd(key, start, column)
	if err != nil {
		return nil, err
	}
	colon := end + len(r.text[end:]) - len(bytes.TrimLeft(r.text[end:], " "))
	if key.Kind != yaml.ScalarNode || key.Anchor != "" || colon >= len(r.text) || r.text[colon] != ':' {
		return nil, &placeError{start, "a key that is not plain text or in quotes"}
	}
	child, err := r.value(value, r.startOf(value, colon+1), column)
	if err != nil {
		return nil, err
	}
	child.name, _ = yamljson.Key(key)
	child.start, child.column = start, column
	if yamljson.IsMerge(key) {
		v.shared = "a merge"
	}
	return child, nil
}

func (r *yamlReader) element(v *node, n *yaml.Node) (*node, error) {
	if v.flow {
		return r.value(n, r.offset(n), -1)
	}
	dash := r.skip(v.to, "") // after the previous element
	if dash >= len(r.text) || r.text[dash] != '-' {
		return nil, &placeError{v.from, "the dashes of the list are not clear"}
	}
	column := r.column(dash)
	child, err := r.value(n, r.startOf(n, dash+1), column)
	if err != nil {
		return nil, err
	}
	child.start, child.column = dash, column
	return child, nil
}

// startOf returns the start of a value. If the value is missing, which means null, it returns behind, the offset after
// the colon or dash.
func (r *yamlReader) startOf(n *yaml.Node, behind int) int {
	if n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Anchor == "" {
		return behind
	}
	return r.offset(n)
}

// column returns the column of an offset in its line, counted from 0.
func (r *yamlReader) column(at int) int { return at - lineStart(r.text, at) }

// scalarEnd returns the end of a scalar that starts at an offset, in a block with the given indent.
func (r *yamlReader) scalarEnd(n *yaml.Node, at, indent int) (int, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return at + wordLength(r.text[at:]), nil
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return r.quotedEnd(at, '\\', '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		return r.quotedEnd(at, '\'', '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return r.blockEnd(at, indent), nil
	}
	end := at
	isBreak := func(c rune) bool { return c < utf8.RuneSelf && isSpace(byte(c)) }
	for word := range strings.FieldsFuncSeq(n.Value, isBreak) {
		start := r.skip(end, "")
		if !bytes.HasPrefix(r.text[start:], []byte(word)) {
			return 0, &placeError{at, "the end of the text is not clear"}
		}
		end = start + len(word)
	}
	return end, nil
}

// quotedEnd returns the offset after a quoted text, in which the character escape may precede a quote.
func (r *yamlReader) quotedEnd(at int, escape, quote byte) (int, error) {
	for i := at + 1; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == escape && i+1 < len(r.text) && (escape == '\\' || r.text[i+1] == quote):
			i++
		case c == quote:
			return i + 1, nil
		}
	}
	return 0, &placeError{at, "the end of the text in quotes is not clear"}
}

// blockEnd returns the end of a block scalar: the end of its last line with content that is indented by more than
// indent.
func (r *yamlReader) blockEnd(at, indent int) int {
	end := lineEnd(r.text, at)
	to := at + len(bytes.TrimRight(r.text[at:end], "\r\n"))
	for end < len(r.text) {
		next := lineEnd(r.text, end)
		line := r.text[end:next]
		content := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(line)) > 0 {
			if len(line)-len(content) <= indent {
				break
			}
			to = end + len(bytes.TrimRight(line, "\r\n"))
		}
		end = next
	}
	return to
}

// skip returns the start of the next content at or after an offset. It skips white space, comments and the given
// characters.
func (r *yamlReader) skip(at int, and string) int {
	for at < len(r.text) {
		switch c := r.text[at]; {
		case c == '#' && (at == 0 || isSpace(r.text[at-1])):
			at = lineEnd(r.text, at)
		case isSpace(c) || strings.IndexByte(and, c) >= 0:
			at++
		default:
			return at
		}
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// wordLength returns the length of the alias, anchor or tag at the start of a text.
func wordLength(text []byte) int {
	if i := bytes.IndexAny(text, " \t\r\n,]}"); i >= 0 {
		return i
	}
	return len(text)
}

// lineStart returns the start of the line that contains an offset.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns the end of the line that contains an offset, after its line break.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}
