package format

import (
	"bytes"
	"unicode/utf8"
)

// maxColumn is the column after which a line is broken at the next space.
const maxColumn = 80

// plain appends v without quotes. It is broken at single spaces only: a line break means exactly one.
func (w *yamlWriter) plain(v []byte, indent int, fold bool) {
	if !fold || w.fits(v) {
		w.dst = append(w.dst, v...)
		return
	}
	column := w.column()
	for {
		i := bytes.IndexByte(v, ' ')
		if i < 0 {
			w.dst = append(w.dst, v...)
			return
		}
		column += utf8.RuneCount(v[:i])
		w.dst = append(w.dst, v[:i]...)
		v = v[i:]
		if column > maxColumn && v[1] != ' ' {
			w.newLine(indent)
			column, v = indent, v[1:]
			continue
		}
		run := countSpaces(v)
		column += run
		w.dst = append(w.dst, v[:run]...)
		v = v[run:]
	}
}

// fits reports whether v fits on the current line.
func (w *yamlWriter) fits(v []byte) bool { return len(w.dst)-w.line+len(v) <= maxColumn }

func countSpaces(v []byte) int {
	n := 0
	for n < len(v) && v[n] == ' ' {
		n++
	}
	return n
}

// single appends v in single quotes. It is broken at single spaces inside, and the line separators of Unicode, which
// stay as they are, begin an indented line.
func (w *yamlWriter) single(v []byte, indent int, fold bool) {
	column := w.column() + 1
	w.dst = append(w.dst, '\'')
	afterBreak := false
	for i := 0; i < len(v); {
		if v[i] == ' ' {
			run := countSpaces(v[i:])
			if fold && run == 1 && column > maxColumn && i > 0 && i < len(v)-1 {
				w.newLine(indent)
				column = indent
			} else {
				w.dst = append(w.dst, v[i:i+run]...)
				column += run
			}
			i += run
			continue
		}
		if isLineSeparator(v[i:]) {
			w.dst = append(w.dst, v[i:i+3]...)
			column, afterBreak = 0, true
			i += 3
			continue
		}
		if afterBreak {
			w.dst = appendSpaces(w.dst, indent)
			column, afterBreak = indent, false
		}
		if v[i] == '\'' {
			w.dst = append(w.dst, '\'')
			column++
		}
		if utf8.RuneStart(v[i]) {
			column++
		}
		w.dst = append(w.dst, v[i])
		i++
	}
	w.dst = append(w.dst, '\'')
}

// byteOrderMark at the start of a string makes libyaml escape every character of the string. We do the same.
var byteOrderMark = []byte("\uFEFF")

// double appends v in double quotes. It may be broken at the first of any number of spaces; a backslash marks the other
// spaces as text, not indentation.
func (w *yamlWriter) double(v []byte, indent int, fold bool) {
	column := w.column() + 1
	w.dst = append(w.dst, '"')
	everything := bytes.HasPrefix(v, byteOrderMark)
	for i := 0; i < len(v); {
		if n := countOrdinary(v[i:]); n > 0 && !everything {
			w.dst = append(w.dst, v[i:i+n]...)
			column += n
			i += n
			continue
		}
		r, size := utf8.DecodeRune(v[i:])
		if everything || escapedInDouble(r) {
			before := len(w.dst)
			w.dst = appendYAMLEscape(w.dst, r)
			column += len(w.dst) - before
			i += size
			continue
		}
		if r != ' ' {
			w.dst = append(w.dst, v[i:i+size]...)
			column++
			i += size
			continue
		}
		run := countSpaces(v[i:])
		i += run
		if fold && column > maxColumn && i > run && i-run < len(v)-1 {
			w.newLine(indent)
			column = indent
			run--
			if run > 0 {
				w.dst = append(w.dst, '\\')
				column++
			}
		}
		w.dst = appendSpaces(w.dst, run)
		column += run
	}
	w.dst = append(w.dst, '"')
}

// countOrdinary returns the number of ASCII characters at the start of v that need no escape and are not spaces.
func countOrdinary(v []byte) int {
	n := 0
	for n < len(v) && v[n] > ' ' && v[n] < 0x7F && v[n] != '"' && v[n] != '\\' {
		n++
	}
	return n
}

func escapedInDouble(r rune) bool {
	switch {
	case r < ' ', r >= 0x7F && r < 0xA0, r == '"', r == '\\':
		return true
	case r == '\u2028', r == '\u2029', r == '\uFEFF', r >= 0xFFFE:
		return true
	}
	return false
}

// shortYAMLEscapes has the characters whose escape is one letter.
var shortYAMLEscapes = map[rune]byte{
	0: '0', '\a': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r', 0x1B: 'e',
	'"': '"', '\\': '\\', 0x85: 'N', 0xA0: '_', '\u2028': 'L', '\u2029': 'P',
}

func appendYAMLEscape(dst []byte, r rune) []byte {
	if letter, ok := shortYAMLEscapes[r]; ok {
		return append(dst, '\\', letter)
	}
	switch {
	case r <= 0xFF:
		return appendHex(append(dst, '\\', 'x'), r, 2)
	case r <= 0xFFFF:
		return appendHex(append(dst, '\\', 'u'), r, 4)
	}
	return appendHex(append(dst, '\\', 'U'), r, 8)
}

func appendHex(dst []byte, r rune, digits int) []byte {
	for shift := (digits - 1) * 4; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789ABCDEF"[r>>shift&0xF])
	}
	return dst
}

// literal appends v as a block: its lines as they are, but indented. A block that starts with white space states its
// indentation; one that does not end with exactly one line break has a sign for that.
func (w *yamlWriter) literal(v []byte, indent int) {
	w.dst = append(w.dst, '|')
	if v[0] == ' ' || breakSize(v) > 0 {
		w.dst = append(w.dst, '0'+yamlIndent)
	}
	if last := trailingBreak(v); last == 0 {
		w.dst = append(w.dst, '-')
	} else if last == len(v) || trailingBreak(v[:len(v)-last]) > 0 {
		w.dst = append(w.dst, '+')
	}
	w.dst = append(w.dst, '\n')
	w.line = len(w.dst)
	for len(v) > 0 {
		n := bytes.IndexByte(v, '\n') + 1
		if n == 0 {
			n = len(v)
		}
		w.blockLine(v[:n], indent)
		v = v[n:]
	}
}

// blockLine appends a line of a block. The line separators of Unicode stay as they are and begin another line.
func (w *yamlWriter) blockLine(v []byte, indent int) {
	for len(v) > 0 {
		n := ordinaryLength(v)
		if n > 0 {
			w.dst = appendSpaces(w.dst, indent)
		}
		end := n + breakSize(v[n:])
		w.dst = append(w.dst, v[:end]...)
		if end > n {
			w.line = len(w.dst)
		}
		v = v[end:]
	}
}

// ordinaryLength returns the length of v up to its first line break.
func ordinaryLength(v []byte) int {
	n := len(v)
	if v[n-1] == '\n' {
		n--
	}
	for i := 0; i < n; i++ {
		lead := bytes.IndexByte(v[i:n], separatorLead)
		if lead < 0 {
			break
		}
		if i += lead; isLineSeparator(v[i:]) {
			return i
		}
	}
	return n
}

// breakSize returns the length of the line break at the start of v, 0 if there is none.
func breakSize(v []byte) int {
	switch {
	case len(v) > 0 && v[0] == '\n':
		return 1
	case isLineSeparator(v):
		return 3
	}
	return 0
}

// trailingBreak returns the length of the line break at the end of v, 0 if there is none.
func trailingBreak(v []byte) int {
	switch {
	case len(v) > 0 && v[len(v)-1] == '\n':
		return 1
	case len(v) >= 3 && isLineSeparator(v[len(v)-3:]):
		return 3
	}
	return 0
}
