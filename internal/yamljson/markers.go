package yamljson

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// isEmptyText reports whether text has only blanks, comments and the markers `---` and `...`.
func isEmptyText(text []byte) bool {
	for len(text) > 0 {
		line := firstLine(text)
		text = text[len(line):]
		if isMarker(line, "---") || isMarker(line, "...") {
			line = line[3:]
		}
		if !isBlank(line) {
			return false
		}
	}
	return true
}

// untilEnd returns text up to the line `...`, and errors for invalid content around a document: directives, content on
// the line `---`, a second `---`, anything after `...`. The line `---` is kept, so that places do not change.
func untilEnd(text []byte) ([]byte, error) {
	begun := false
	for offset := 0; offset < len(text); {
		line := firstLine(text[offset:])
		switch {
		case isMarker(line, "..."):
			return text[:offset], checkEnd(text, offset)
		case isMarker(line, "---"):
			if begun {
				return nil, errorAt(text, offset, "a second document begins here")
			}
			if !isBlank(line[3:]) {
				return nil, errorAt(text, offset, "only a comment may follow ---")
			}
			begun = true
		case isBlank(line):
		case !begun && line[0] == '%':
			return nil, errorAt(text, offset, "directives are not supported")
		default:
			begun = true
		}
		offset += len(line)
	}
	return text, nil
}

// checkEnd refuses content after the marker `...` at offset.
func checkEnd(text []byte, offset int) error {
	for offset < len(text) {
		line := firstLine(text[offset:])
		rest := line
		if isMarker(line, "...") {
			rest = line[3:]
		}
		if !isBlank(rest) {
			at := offset + len(line) - len(bytes.TrimLeft(rest, blanks))
			return errorAt(text, at, "content after ... without --- before it")
		}
		offset += len(line)
	}
	return nil
}

// blanks are the characters between words and lines.
const blanks = " \t\r\n\u0085\u2028\u2029"

// isMarker reports whether line is one of the markers `---` and `...`, perhaps with more behind a blank.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	if !ok || len(rest) == 0 {
		return ok
	}
	r, _ := utf8.DecodeRune(rest)
	return strings.ContainsRune(blanks, r)
}

// isBlank reports whether line has no more than a comment.
func isBlank(line []byte) bool {
	line = bytes.TrimLeft(line, blanks)
	return len(line) == 0 || line[0] == '#'
}

// characters returns the size in bytes of the first n characters of text.
func characters(text []byte, n int) int {
	size := 0
	for ; n > 0 && size < len(text); n-- {
		_, width := utf8.DecodeRune(text[size:])
		size += width
	}
	return size
}

// firstLine is the first line of text with its line break. YAML 1.1 has more of them than LF.
func firstLine(text []byte) []byte {
	return text[:lineLength(text)]
}

func lineLength(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		switch r {
		case '\n', 0x85, 0x2028, 0x2029:
			return i
		case '\r':
			if i < len(text) && text[i] == '\n' {
				i++
			}
			return i
		}
	}
	return len(text)
}
