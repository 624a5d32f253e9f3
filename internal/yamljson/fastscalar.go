package yamljson

import "bytes"

// maxKey is the maximum size of a key in bytes. The limit of upstream is 1,024 characters.
const maxKey = 1000

// indicators are the characters that a plain scalar does not begin with. A dash, a question mark and a colon may begin
// one unless a blank follows.
var indicators = [256]bool{
	',': true, '[': true, ']': true, '{': true, '}': true, '#': true, '&': true, '*': true,
	'!': true, '|': true, '>': true, '\'': true, '"': true, '%': true, '@': true, '`': true, '\t': true,
}

// colon returns the position of the colon behind the key that begins at pos, or -1 if there is none on the line.
func (f *fast) colon() int {
	start := f.pos
	if c := f.text[start]; c == '"' || c == '\'' {
		return f.colonAfterQuote()
	}
	if indicators[f.text[start]] || f.at('-') || f.at('?') || f.at(':') {
		return -1
	}
	line := f.line()
	for i := 0; i < len(line); i++ {
		n := bytes.IndexByte(line[i:], ':')
		if n < 0 {
			return -1
		}
		i += n
		if i+1 == len(line) || line[i+1] == ' ' {
			if i > maxKey || bytes.IndexByte(line[:i], '\t') >= 0 || comment(line[:i]) >= 0 {
				return -1
			}
			return start + i
		}
	}
	return -1
}

func (f *fast) colonAfterQuote() int {
	line := f.line()
	end := quoteEnd(line)
	if end < 0 || end+1 >= len(line) || line[end+1] != ':' || end > maxKey {
		return -1
	}
	if end+2 < len(line) && line[end+2] != ' ' {
		return -1
	}
	if f.separators > 0 && firstBreak(line[:end]) < end {
		return -1
	}
	return f.pos + end + 1
}

// quoteEnd returns the offset of the quote that ends the scalar at the start of s, or -1.
func quoteEnd(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] != s[0]:
		case s[0] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		default:
			return i
		}
	}
	return -1
}

// key reads the key from pos to colon.
func (f *fast) key(colon int) bool {
	s := f.text[f.pos:colon]
	if s[0] == '"' || s[0] == '\'' {
		f.pos++
		ok := f.quotedText(s[0], 0)
		f.out = append(appendString(f.out, f.buf), ':')
		f.pos = colon + 1
		return ok
	}
	f.pos = colon + 1
	s = bytes.TrimRight(s, " ")
	if starts[s[0]] == anyText {
		f.out = append(appendString(f.out, s), ':')
		return string(s) != "<<"
	}
	k, number := resolve(string(s))
	key, ok := keyText(k, string(s), number)
	f.out = append(appendString(f.out, []byte(key)), ':')
	return ok
}

// scalar reads the scalar at pos, in a collection at the column parent, and goes to the next content.
func (f *fast) scalar(parent int) bool {
	switch c := f.text[f.pos]; c {
	case '"', '\'':
		return f.quoted(parent)
	case '|':
		return f.literal(parent, false)
	case '>':
		return f.separators == 0 && f.literal(parent, true)
	case '{', '[':
		return f.empty(c + 2) // which closes the bracket
	default:
		return !indicators[c] && !f.at('-') && !f.at('?') && !f.at(':') && f.plain(parent)
	}
}

// empty reads a collection without content.
func (f *fast) empty(closing byte) bool {
	if f.pos+1 == len(f.text) || f.text[f.pos+1] != closing {
		return false
	}
	f.out = append(f.out, f.text[f.pos], closing)
	f.pos += 2
	return f.endLine()
}

// plain reads a plain scalar, with the lines that continue it.
func (f *fast) plain(parent int) bool {
	s, ended, ok := f.plainLine()
	if !ok || !f.next() {
		return false
	}
	if f.column <= parent {
		return f.plainValue(s)
	}
	f.buf = append(f.buf[:0], s...)
	for f.column > parent {
		if ended || f.commented {
			return false
		}
		f.buf = appendFold(f.buf, f.blanks)
		if s, ended, ok = f.plainLine(); !ok {
			return false
		}
		f.buf = append(f.buf, s...)
		if !f.next() {
			return false
		}
	}
	f.out = appendString(f.out, f.buf)
	return true
}

// plainLine reads the part of a plain scalar that is on this line. A comment ends the scalar.
func (f *fast) plainLine() (s []byte, ended, ok bool) {
	line := f.line()
	s = line
	if i := comment(s); i >= 0 {
		s, ended = s[:i], true
	}
	if bytes.IndexByte(s, '\t') >= 0 || hasColon(s) {
		return nil, false, false
	}
	f.skip(len(line))
	return bytes.TrimRight(s, " "), ended, true
}

// comment returns the offset of a comment in s, or -1.
func comment(s []byte) int {
	for i := 0; i < len(s); i++ {
		n := bytes.IndexByte(s[i:], '#')
		if n < 0 {
			return -1
		}
		i += n
		if i > 0 && s[i-1] == ' ' {
			return i
		}
	}
	return -1
}

// hasColon reports whether s has a colon that is not inside a word.
func hasColon(s []byte) bool {
	for {
		i := bytes.IndexByte(s, ':')
		if i < 0 {
			return false
		}
		if i+1 == len(s) || s[i+1] == ' ' {
			return true
		}
		s = s[i+1:]
	}
}

// plainValue writes a plain scalar of one line.
func (f *fast) plainValue(s []byte) bool {
	if starts[s[0]] == anyText || starts[s[0]] == maybeWord && len(s) > len("false") {
		f.out = appendString(f.out, s)
		return true
	}
	k, number := resolve(string(s))
	if k == kindInfinite {
		return false
	}
	f.out = appendKind(f.out, k, s, number)
	return true
}

// appendFold appends the text of a line break and the blank lines after it in a scalar of several lines.
func appendFold(buf []byte, blanks int) []byte {
	if blanks == 0 {
		return append(buf, ' ')
	}
	for ; blanks > 0; blanks-- {
		buf = append(buf, '\n')
	}
	return buf
}

// literal reads a text block in the style | or, folded, >.
func (f *fast) literal(parent int, folded bool) bool {
	header := f.line()
	chomp, indent, ok := indicatorsOf(bytes.TrimRight(header[1:], " "))
	if !ok {
		return false
	}
	if indent > 0 {
		indent += max(parent, 0)
	}
	f.skip(len(header))
	f.out = append(f.out, '"')
	empty := len(f.out)
	if !f.literalLines(parent, indent, folded) {
		return false
	}
	switch {
	case chomp == '+':
		f.out = append(f.out, f.buf...)
	case chomp == 0 && len(f.out) > empty:
		f.out = append(f.out, f.buf[:firstBreakJSON(f.buf)]...)
	}
	f.out = append(f.out, '"')
	return f.next()
}

// indicatorsOf reads the indicators after the first one of a text block, in any order: the chomping of its last line
// breaks, 0 by default, and its indentation relative to its parent, 0 for the indentation of its first line.
func indicatorsOf(s []byte) (chomp byte, indent int, ok bool) {
	for _, c := range s {
		switch {
		case (c == '-' || c == '+') && chomp == 0:
			chomp = c
		case '1' <= c && c <= '9' && indent == 0:
			indent = int(c - '0')
		default:
			return 0, 0, false
		}
	}
	return chomp, indent, true
}

// literalLines writes the lines of a text block, which are indented by indent or, if that is 0, like the first line. It
// leaves the line breaks after the last line that is not blank in buf, in JSON. Folded joins lines, except lines that
// begin with a blank after the indent.
func (f *fast) literalLines(parent, indent int, folded bool) bool {
	f.buf = f.buf[:0]
	joins := false // the last line
	for f.pos < len(f.text) {
		line := f.line()
		lineBreak := 1
		if f.separators > 0 {
			if n := firstBreak(line); n < len(line) {
				line, lineBreak = line[:n], len(separator)
			}
		}
		if f.pos+len(line) == len(f.text) {
			return false // a last line without a line break has rules of its own
		}
		spaces := leadingSpaces(line)
		switch {
		case spaces == len(line) && (spaces <= indent || indent == 0):
			if indent == 0 && spaces > 0 {
				return false // may set the indent
			}
			f.endLiteralLine(len(line), lineBreak)
			continue
		case spaces <= parent || spaces < indent:
			return line[spaces] != '\t'
		case indent == 0 && line[spaces] == '\t':
			return false
		case indent == 0:
			indent = spaces
		}
		breaks, text := f.buf, line[indent:]
		joined := joins
		joins = folded && text[0] != ' ' && text[0] != '\t'
		if joined && joins {
			breaks = breaks[len(`\n`):]
			if len(breaks) == 0 {
				breaks = []byte{' '}
			}
		}
		f.out = append(f.out, breaks...)
		f.out = appendEscaped(f.out, text)
		f.buf = f.buf[:0]
		f.endLiteralLine(len(line), lineBreak)
	}
	return true
}

// endLiteralLine goes to the next line, n bytes and a line break away, and keeps the line break in buf.
func (f *fast) endLiteralLine(n, lineBreak int) {
	f.pos += n
	if lineBreak == 1 {
		f.buf = append(f.buf, '\\', 'n')
	} else {
		f.buf = append(f.buf, f.text[f.pos:f.pos+lineBreak]...)
		f.separators--
	}
	f.pos += lineBreak
}

// firstBreakJSON returns the length of the line break at the start of s, which has only line breaks, in JSON.
func firstBreakJSON(s []byte) int {
	switch {
	case len(s) == 0:
		return 0
	case s[0] == '\\':
		return len(`\n`)
	}
	return len(separator)
}

// separator is one of the two line separators of Unicode, U+2028 and U+2029, which are of one length.
const separator = "\u2028"

func startsWithSeparator(s []byte) bool {
	return len(s) >= len(separator) && s[0] == separator[0] && s[1] == separator[1] && s[2]|1 == 0xA9
}

// firstBreak returns the offset of the first line separator in s, or the length of s.
func firstBreak(s []byte) int {
	for i := range s {
		if startsWithSeparator(s[i:]) {
			return i
		}
	}
	return len(s)
}
