package yamljson

import "bytes"

// A fast reader converts block mappings and lists of plain, quoted, literal and folded scalars, with comments, in one
// pass: all that package format writes, and more.
//
// Between values pos is at the first character of a line, and column is the column of that character. Methods report
// false for unsupported syntax and for errors. Accepted text must have the same meaning for upstream, so the reader is
// always stricter than upstream.
type fast struct {
	text []byte
	pos  int
	out  []byte
	buf  []byte // for scalars that are put together from several lines

	separators int // U+2028 and U+2029 that no scalar has taken in; elsewhere they are line breaks

	source *Source // records the offsets of values, unless nil
	base   int     // offset of the document in out

	depth     int
	column    int  // of the line at pos; -1 at the end of the document
	blanks    int  // number of blank lines before it
	commented bool // whether a comment line precedes it
}

// appendFast appends text, which has the line breaks found but no CR LF, to dst as JSON if it can. If source is not
// nil, it records the offsets of keys and values.
func appendFast(dst, text []byte, found breaks, source *Source) ([]byte, bool) {
	if found.others {
		return dst, false
	}
	var buf [64]byte
	f := fast{text: text, out: dst, buf: buf[:0], separators: found.separators, source: source, base: len(dst)}
	if line := firstLine(text); isMarker(line, "---") {
		f.pos = 3
		if !f.endLine() {
			return dst, false
		}
	} else if !f.next() {
		return dst, false
	}
	if f.column != 0 || !f.block(-1) || f.column != -1 || f.separators != 0 {
		return dst, false
	}
	return f.out, true
}

// next goes from the start of a line to the next content.
func (f *fast) next() bool {
	f.blanks, f.commented = 0, false
	for f.pos < len(f.text) {
		i := f.pos
		for i < len(f.text) && f.text[i] == ' ' {
			i++
		}
		if i == len(f.text) {
			break
		}
		switch f.text[i] {
		case '\n':
			f.blanks++
			f.pos = i + 1
			continue
		case '#':
			f.commented = true
			f.pos = i
			f.skipLine()
			continue
		}
		f.column = i - f.pos
		f.pos = i
		return f.column > 0 || !f.atMarker()
	}
	f.pos, f.column = len(f.text), -1
	return true
}

func (f *fast) atMarker() bool {
	c := f.text[f.pos]
	if c != '-' && c != '.' {
		return false
	}
	rest := f.text[f.pos:]
	return isMarker(rest, "---") || isMarker(rest, "...")
}

// line is the rest of the line without its end.
func (f *fast) line() []byte {
	line, _, _ := bytes.Cut(f.text[f.pos:], []byte{'\n'})
	return line
}

// skipLine goes to the start of the next line.
func (f *fast) skipLine() {
	f.skip(len(f.line()))
}

// skip goes to the start of the next line, which is n bytes and a line feed away.
func (f *fast) skip(n int) {
	f.pos = min(f.pos+n+1, len(f.text))
}

// endLine goes to the next content, if the rest of the line has at most a comment.
func (f *fast) endLine() bool {
	rest := f.line()
	spaces := leadingSpaces(rest)
	if spaces < len(rest) && (rest[spaces] != '#' || spaces == 0) {
		return false
	}
	f.skip(len(rest))
	return f.next()
}

func leadingSpaces(s []byte) int {
	n := 0
	for n < len(s) && s[n] == ' ' {
		n++
	}
	return n
}

// endsHere reports whether the rest of the line has at most a comment. The character before pos is a blank, a colon or
// a dash; a colon or dash is followed by a blank or the end of the line.
func (f *fast) endsHere() bool {
	return f.pos == len(f.text) || f.text[f.pos] == '\n' || f.text[f.pos] == '#'
}

func (f *fast) skipSpaces() {
	for f.pos < len(f.text) && f.text[f.pos] == ' ' {
		f.pos++
	}
}

// block reads the node that begins on this line, in a collection whose column is parent.
func (f *fast) block(parent int) bool {
	f.mark(f.pos)
	if f.at('-') {
		return f.list(f.column)
	}
	if colon := f.colon(); colon >= 0 || f.at('?') {
		return f.mapping(f.column, colon)
	}
	return parent >= 0 && f.scalar(parent)
}

// at reports whether pos is at the indicator of an entry: a dash, question mark or colon with a blank behind it.
func (f *fast) at(indicator byte) bool {
	if f.pos == len(f.text) || f.text[f.pos] != indicator {
		return false
	}
	return f.pos+1 == len(f.text) || f.text[f.pos+1] == ' ' || f.text[f.pos+1] == '\n'
}

// mapping reads the mapping at a column. Its first key ends before colon; -1 if it has a question mark.
func (f *fast) mapping(column, colon int) bool {
	if f.depth == maxDepth {
		return false
	}
	f.depth++
	f.out = append(f.out, '{')
	for {
		if !f.keyAndValue(column, colon) || f.column > column {
			return false
		}
		if f.column < column {
			break
		}
		if colon = f.colon(); colon < 0 && !f.at('?') {
			return false
		}
		f.out = append(f.out, ',')
	}
	f.out = append(f.out, '}')
	f.depth--
	return true
}

func (f *fast) keyAndValue(column, colon int) bool {
	if colon < 0 {
		return f.complexMember(column)
	}
	f.mark(f.pos)
	return f.key(colon) && f.member(column)
}

// member reads the value of a key of the mapping at a column.
func (f *fast) member(column int) bool {
	behind := f.pos
	f.skipSpaces()
	if !f.endsHere() {
		f.mark(f.pos)
		return f.scalar(column)
	}
	f.skipLine()
	if !f.next() {
		return false
	}
	if f.column == column && f.at('-') {
		f.mark(f.pos)
		return f.list(column)
	}
	return f.nested(column, behind)
}

// complexMember reads a string key after a question mark, and its value after a colon on another line.
func (f *fast) complexMember(column int) bool {
	f.pos++
	f.skipSpaces()
	if f.endsHere() {
		return false
	}
	f.mark(f.pos)
	key := len(f.out)
	if !f.scalar(column) || f.out[key] != '"' || f.column != column || !f.at(':') {
		return false
	}
	f.out = append(f.out, ':')
	colon := f.pos
	f.pos++
	f.skipSpaces()
	f.column = column + f.pos - colon
	return !f.endsHere() && f.block(column)
}

// nested reads the node below a key or dash at a column. A missing node is null; its place is after the colon or dash.
func (f *fast) nested(column, behind int) bool {
	if f.column > column {
		return f.block(column)
	}
	f.mark(behind)
	f.out = append(f.out, "null"...)
	return true
}

// list reads the list whose dashes are at a column.
func (f *fast) list(column int) bool {
	if f.depth == maxDepth {
		return false
	}
	f.depth++
	f.out = append(f.out, '[')
	for {
		if !f.entry(column) || f.column > column {
			return false
		}
		// At the same column a key may follow, in the mapping that this list is a value of.
		if f.column < column || !f.at('-') {
			break
		}
		f.out = append(f.out, ',')
	}
	f.out = append(f.out, ']')
	f.depth--
	return true
}

// entry reads the dash at pos and its value.
func (f *fast) entry(column int) bool {
	dash := f.pos
	f.pos++
	f.skipSpaces()
	if f.endsHere() {
		f.skipLine()
		return f.next() && f.nested(column, dash+1)
	}
	f.column = column + f.pos - dash
	return f.block(column)
}

// mark records that the next output comes from an offset of the text.
func (f *fast) mark(at int) {
	if f.source != nil {
		f.source.marks = append(f.source.marks, mark{len(f.out) - f.base, at})
	}
}
