package edit

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// yamlTree returns the tree of one YAML document. The parser knows where values start; where they end is found in the
// text. The error is a *placeError where that is not possible.
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
	mark  int             // how long the byte order mark is that the parser ignores
	nodes *yamljson.Nodes // of what is behind it
}

// offset returns where a node starts.
func (r *yamlReader) offset(n *yaml.Node) int { return r.mark + r.nodes.Offset(n) }

// value returns the tree of n, which starts at an offset, in a block with an indent of so many columns.
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
		at = r.behindProperties(at)
		v.to = at
	}
	var err error
	switch n.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		err = r.collection(v, n, at)
	default:
		v.quote = quoteOf(n)
		v.to, err = r.scalarEnd(n, at, indent)
	}
	return v, err
}

func quoteOf(n *yaml.Node) byte {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return '"'
	case n.Style&yaml.SingleQuotedStyle != 0:
		return '\''
	}
	return 0
}

// behindProperties returns where the value behind anchors and tags starts.
func (r *yamlReader) behindProperties(at int) int {
	for at < len(r.text) && (r.text[at] == '&' || r.text[at] == '!') {
		at += wordLength(r.text[at:])
		at = r.skip(at, "")
	}
	return at
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

// member returns the tree of a member of v.
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

// element returns the tree of an element of v.
func (r *yamlReader) element(v *node, n *yaml.Node) (*node, error) {
	if v.flow {
		return r.value(n, r.offset(n), -1)
	}
	dash := r.skip(v.to, "") // behind the element before it
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

// startOf returns where a value starts: one that is not there, behind what announces it.
func (r *yamlReader) startOf(n *yaml.Node, behind int) int {
	if isEmpty(n) {
		return behind
	}
	return r.offset(n)
}

// isEmpty reports whether a value is missing, which means null.
func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Anchor == ""
}

// column returns in which column of its line an offset is, from 0.
func (r *yamlReader) column(at int) int { return at - lineStart(r.text, at) }

// scalarEnd returns where a scalar ends that starts at an offset, in a block with an indent.
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

// quotedEnd returns what is behind a text in quotes, in which the character escape may precede a quote.
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

// blockEnd returns where a block of text ends: with the last line that has content and is indented by more than indent.
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

// skip returns where the next content is behind an offset: after blanks, comments and the given characters.
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

// wordLength returns how long the word is that text starts with: an alias, an anchor or a tag.
func wordLength(text []byte) int {
	if i := bytes.IndexAny(text, " \t\r\n,]}"); i >= 0 {
		return i
	}
	return len(text)
}

// lineStart returns where the line of an offset starts.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns where the line behind that of an offset starts.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}
