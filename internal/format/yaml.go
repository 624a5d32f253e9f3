package format

import (
	"bytes"
	"unicode/utf8"
)

const yamlIndent = 2

// maxSimpleKey is the maximum size in bytes of a key before its colon on one line.
const maxSimpleKey = 128

// A yamlWriter appends the values of doc to dst, in block style except for empty lists and mappings.
type yamlWriter struct {
	doc  *Document
	dst  []byte
	line int // offset of the last line of dst
}

// A place is the position of a value on its line.
type place uint8

const (
	atRoot          place = iota // nothing
	afterDash                    // "-", of a list
	afterKey                     // "key:"
	afterComplexKey              // ":" alone, below "? key"
)

func (w *yamlWriter) document() {
	w.value(w.doc.root, -yamlIndent, atRoot)
	if len(w.dst) > w.line {
		w.dst = append(w.dst, '\n')
	}
}

// value appends node i, which belongs to a list or mapping that is indented by indent.
func (w *yamlWriter) value(i, indent int, at place) {
	n := w.doc.nodes[i]
	switch {
	case n.kind == givenKind:
		w.value(n.start, indent, at)
	case indent >= MaxIndented*yamlIndent && n.kind >= arrayKind && !w.doc.empty(i):
		w.dst = append(w.dst, ' ')
		w.flow(i)
	case n.kind == objectKind && !w.doc.empty(i):
		w.mapping(i, indent+yamlIndent, at)
	case n.kind == arrayKind && !w.doc.empty(i) && at == afterKey:
		w.list(i, indent, at)
	case n.kind == arrayKind && !w.doc.empty(i):
		w.list(i, indent+yamlIndent, at)
	default:
		if at != atRoot {
			w.dst = append(w.dst, ' ')
		}
		w.scalar(i, max(indent, 0)+yamlIndent)
	}
}

// flow appends node i on one line, lists and mappings in brackets and strings in quotes.
func (w *yamlWriter) flow(i int) {
	w.line = len(w.dst) // no text is folded, so nobody has to count the columns of a long line
	switch n := w.doc.nodes[i]; n.kind {
	case givenKind:
		w.flow(n.start)
	case arrayKind:
		w.dst = append(w.dst, '[')
		for k := i + 1; k < int(n.next); k = w.doc.next(k) {
			w.separate(k == i+1)
			w.flow(k)
		}
		w.dst = append(w.dst, ']')
	case objectKind:
		base := w.doc.pushMembers(i, true)
		w.dst = append(w.dst, '{')
		for m, end := base, len(w.doc.members); m < end; m++ {
			member := w.doc.members[m]
			w.separate(m == base)
			w.dst = append(w.dst, "? "...) // whatever its length
			w.double(member.key, 0, false)
			w.dst = append(w.dst, ": "...)
			w.flow(member.node + 1)
		}
		w.doc.popMembers(base)
		w.dst = append(w.dst, '}')
	case stringKind:
		w.double(w.doc.string(i), 0, false)
	default:
		w.scalar(i, 0)
	}
}

// separate appends the separator between two entries in brackets.
func (w *yamlWriter) separate(first bool) {
	if !first {
		w.dst = append(w.dst, ", "...)
	}
}

func (w *yamlWriter) mapping(i, indent int, at place) {
	base := w.doc.pushMembers(i, true)
	for m, end := base, len(w.doc.members); m < end; m++ {
		w.entry(indent, at, m == base)
		member := w.doc.members[m]
		after := w.key(member.key, indent)
		w.value(member.node+1, indent, after)
	}
	w.doc.popMembers(base)
}

// mergeKey has to be quoted if it is an ordinary key. Upstream does not quote it, and so loses its value.
const mergeKey = "<<"

// key appends a key and its colon, and returns the place of the value. A key that is long or has several lines is
// written alone after a question mark.
func (w *yamlWriter) key(key []byte, indent int) place {
	if isSimpleKey(key) {
		if string(key) == mergeKey {
			w.double(key, indent, false)
		} else {
			w.text(key, indent+yamlIndent, false)
		}
		w.dst = append(w.dst, ':')
		return afterKey
	}
	w.dst = append(w.dst, "? "...)
	w.text(key, indent+yamlIndent, true)
	w.newLine(indent)
	w.dst = append(w.dst, ':')
	return afterComplexKey
}

func (w *yamlWriter) list(i, indent int, at place) {
	for k := i + 1; k < int(w.doc.nodes[i].next); k = w.doc.next(k) {
		w.entry(indent, at, k == i+1)
		w.dst = append(w.dst, '-')
		w.value(k, indent, afterDash)
	}
}

// entry begins an entry of a list or mapping. The first one shares the line of a dash or a lone colon.
func (w *yamlWriter) entry(indent int, at place, first bool) {
	switch {
	case !first || at == afterKey:
		w.newLine(indent)
	case at != atRoot:
		w.dst = append(w.dst, ' ')
	}
}

// newLine ends the line, unless a block has ended it, and indents the next one.
func (w *yamlWriter) newLine(indent int) {
	if len(w.dst) > w.line {
		w.dst = append(w.dst, '\n')
		w.line = len(w.dst)
	}
	w.dst = appendSpaces(w.dst, indent)
}

// column returns the number of characters in the last line.
func (w *yamlWriter) column() int { return utf8.RuneCount(w.dst[w.line:]) }

// scalar appends node i, which is not a list or mapping with content; text on further lines is indented by indent.
func (w *yamlWriter) scalar(i, indent int) {
	switch w.doc.nodes[i].kind {
	case objectKind:
		w.dst = append(w.dst, "{}"...)
	case arrayKind:
		w.dst = append(w.dst, "[]"...)
	case numberKind:
		w.dst = appendYAMLNumber(w.dst, w.doc.raw(i))
	case stringKind:
		w.text(w.doc.string(i), indent, true)
	default:
		w.dst = append(w.dst, w.doc.raw(i)...)
	}
}

// text appends the string v in the style of [styleOf]. It is broken into several lines only if fold is set.
func (w *yamlWriter) text(v []byte, indent int, fold bool) {
	switch styleOf(v) {
	case plainStyle:
		w.plain(v, indent, fold)
	case singleStyle:
		w.single(v, indent, fold)
	case literalStyle:
		w.literal(v, indent)
	default:
		w.double(v, indent, fold)
	}
}

// isSimpleKey reports whether a key can be before its colon on one line.
func isSimpleKey(key []byte) bool {
	if len(key) > maxSimpleKey {
		return false
	}
	if bytes.IndexByte(key, '\n') >= 0 || bytes.IndexByte(key, '\r') >= 0 {
		return false
	}
	for i := range key {
		if key[i] == separatorLead && isLineSeparator(key[i:]) || isNextLine(key[i:]) {
			return false
		}
	}
	return true
}

// isNextLine reports whether b starts with U+0085, the control character that YAML counts among the line breaks.
func isNextLine(b []byte) bool { return len(b) >= 2 && b[0] == 0xC2 && b[1] == 0x85 }
