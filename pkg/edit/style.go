package edit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// defaultUnit is the indent of a level where no other is known.
const defaultUnit = "  "

// styleOf returns the style of a child of the value at the end of a path.
func (d source) styleOf(path []*node, child *node) style {
	n := path[len(path)-1]
	s := style{yaml: d.yaml, flow: child.flow, unit: defaultUnit, compact: d.isCompact(path[0]), quote: child.quote}
	if d.yaml {
		s.dashed, s.quotes = isDashed(path), quotes{}
		s.quotes.collect(d, n, "")
		return s
	}
	s.indent = d.lineIndent(child.start)
	s.broken = len(child.children) > 0 && bytes.IndexByte(d.bytes[child.from:child.children[0].start], '\n') >= 0
	if unit, ok := strings.CutPrefix(s.indent, d.lineIndent(n.start)); ok && unit != "" {
		s.unit = unit
	}
	return s
}

// lineIndent returns the blanks at the start of the line of an offset.
func (d source) lineIndent(at int) string {
	line := d.bytes[lineStart(d.bytes, at):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// collect notes the quotes of the texts in n, of which the last counts, where key is that of n or the list around it.
// Quotes that a text needs say nothing about other texts of the key.
func (q quotes) collect(d source, n *node, key string) {
	if n.name != "" {
		key = strings.ToLower(n.name)
	}
	if n.kind == scalar {
		if n.quote == 0 || d.isFree(n) {
			q[key] = n.quote
		}
		if n.quote != 0 {
			q[""] = n.quote
		}
	}
	for _, c := range n.children {
		q.collect(d, c, key)
	}
}

// isFree reports whether a text in quotes needs none.
func (d source) isFree(n *node) bool {
	raw, err := yamljson.Append(nil, d.bytes[n.from:n.to])
	if err != nil {
		return false
	}
	text, ok := decoded(raw).(string)
	return ok && isPlain(text)
}

// isDashed reports whether lists are indented further than their keys, as the nearest one to the end of a path is.
func isDashed(path []*node) bool {
	for _, n := range slices.Backward(path) {
		if l := listIn(n); l != nil {
			return l.children[0].column > l.column
		}
	}
	return false
}

// listIn returns the last list in n that is a member in block style; nil for none.
func listIn(n *node) *node {
	for _, c := range slices.Backward(n.children) {
		if found := listIn(c); found != nil {
			return found
		}
		if c.kind == list && !c.flow && c.name != "" {
			return c
		}
	}
	return nil
}

// isCompact reports whether there are no blanks behind the colons in n.
func (d source) isCompact(n *node) bool {
	for _, c := range n.children {
		if c.name != "" {
			return d.bytes[c.from-1] == ':'
		}
		if len(c.children) > 0 {
			return d.isCompact(c)
		}
	}
	return false
}
