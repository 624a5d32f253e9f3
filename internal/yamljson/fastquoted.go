package yamljson

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// quoted reads a scalar in quotes of either kind.
func (f *fast) quoted(parent int) bool {
	quote := f.text[f.pos]
	f.pos++
	end := bytes.IndexByte(f.text[f.pos:], quote)
	if end < 0 {
		return false
	}
	s := f.text[f.pos : f.pos+end]
	special := bytes.IndexByte(s, '\n') >= 0 || f.separators > 0
	if quote == '"' {
		special = special || bytes.IndexByte(s, '\\') >= 0
	} else {
		special = special || bytes.HasPrefix(f.text[f.pos+end+1:], []byte("'"))
	}
	if special {
		ok := f.quotedText(quote, parent)
		f.out = appendString(f.out, f.buf)
		return ok && f.endLine()
	}
	f.out = appendString(f.out, s)
	f.pos += end + 1
	return f.endLine()
}

// quotedText reads a quoted scalar with escapes or line breaks into buf. Pos is behind the first quote.
func (f *fast) quotedText(quote byte, parent int) bool {
	f.buf = f.buf[:0]
	kept := 0 // length of buf without trailing blanks, which a line break removes
	for f.pos < len(f.text) {
		c := f.text[f.pos]
		switch {
		case c == quote && quote == '\'' && bytes.HasPrefix(f.text[f.pos:], []byte("''")):
			f.buf = append(f.buf, '\'')
			f.pos += 2
		case c == quote:
			f.pos++
			return true
		case c == '\\' && quote == '"':
			if !f.escape(parent) {
				return false
			}
			kept = len(f.buf)
		case c == '\n':
			text := bytes.TrimRight(f.buf[kept:], " \t")
			f.buf = f.buf[:kept+len(text)]
			blanks, ok := f.fold(parent)
			if !ok {
				return false
			}
			f.buf = appendFold(f.buf, blanks)
			kept = len(f.buf)
		case f.separators > 0 && quote == '\'' && startsWithSeparator(f.text[f.pos:]):
			if !f.separator(parent) {
				return false
			}
			kept = len(f.buf)
		default:
			f.buf = append(f.buf, c)
			f.pos++
		}
	}
	return false
}

// separator reads a line separator in single quotes, which is kept, and the indentation after it, which is dropped.
func (f *fast) separator(parent int) bool {
	if n := len(f.buf); n > 0 && (f.buf[n-1] == ' ' || f.buf[n-1] == '\t') {
		return false
	}
	f.buf = append(f.buf, f.text[f.pos:f.pos+len(separator)]...)
	f.pos += len(separator)
	f.separators--
	rest := f.text[f.pos:]
	if startsWithSeparator(rest) || bytes.HasPrefix(rest, []byte("'")) {
		return true
	}
	spaces := leadingSpaces(rest)
	f.pos += spaces
	return spaces > parent && spaces < len(rest) && rest[spaces] != '\t' && rest[spaces] != '\n' &&
		!startsWithSeparator(rest[spaces:])
}

// fold advances from the end of a line to the content of the next line that is not blank. It must be indented further
// than the parent: upstream accepts less, but then the markers of documents need care.
func (f *fast) fold(parent int) (blanks int, ok bool) {
	f.pos++
	for {
		line := f.line()
		spaces := leadingSpaces(line)
		f.pos += spaces
		if spaces < len(line) {
			return blanks, spaces > parent && line[spaces] != '\t' && !startsWithSeparator(line[spaces:])
		}
		if f.pos == len(f.text) {
			return 0, false
		}
		blanks++
		f.pos++
	}
}

// simpleEscapes are the escape sequences with a single character. Others are rare.
var simpleEscapes = [256]string{
	'n': "\n", 't': "\t", 'r': "\r", '"': `"`, '\\': `\`, ' ': " ", '0': "\x00", 'a': "\a", 'b': "\b", 'e': "\x1b",
	'f': "\f", 'v': "\v", 'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

// escape reads the escape at pos.
func (f *fast) escape(parent int) bool {
	rest := f.text[f.pos+1:]
	if len(rest) == 0 {
		return false
	}
	if s := simpleEscapes[rest[0]]; s != "" {
		f.buf = append(f.buf, s...)
		f.pos += 2
		return true
	}
	digits := 0
	switch rest[0] {
	case '\n':
		f.pos++
		blanks, ok := f.fold(parent)
		return ok && blanks == 0
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	}
	if digits == 0 || len(rest) <= digits {
		return false
	}
	r, err := strconv.ParseUint(string(rest[1:1+digits]), 16, 32)
	if err != nil || r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
		return false
	}
	f.buf = utf8.AppendRune(f.buf, rune(r))
	f.pos += 2 + digits
	return true
}
