package position

import "bytes"

// next returns the first line below that of an offset that holds something and does not stand further right than
// limit: where it starts and at which column. The column is -1 at the end of the text.
func (t blockText) next(at, limit int) (start, column int) {
	return t.content(t.nextLine(at), limit)
}

// content is next from the start of a line on.
func (t blockText) content(line, limit int) (start, column int) {
	for line < len(t) {
		at := line
		for at < len(t) && t[at] == ' ' && at-line <= limit {
			at++
		}
		if at-line <= limit && !t.isBlank(at) {
			return at, at - line
		}
		line = t.nextLine(at)
	}
	return len(t), -1
}

// nextLine returns where the line below that of an offset starts.
func (t blockText) nextLine(at int) int {
	feed := bytes.IndexByte(t[at:], '\n')
	if feed < 0 {
		return len(t)
	}
	return at + feed + 1
}

// column returns how far right an offset is in its line. Before a value are only spaces and dashes.
func (t blockText) column(at int) int {
	return at - 1 - bytes.LastIndexByte(t[:at], '\n')
}

// isBlank tells whether nothing is left on a line but a comment. Spaces or nothing precede the offset.
func (t blockText) isBlank(at int) bool {
	return at == len(t) || t[at] == '\n' || t[at] == '\r' || t[at] == '#'
}

// isGap tells whether a word ends at an offset.
func (t blockText) isGap(at int) bool {
	return at == len(t) || t[at] == ' ' || t[at] == '\n' || t[at] == '\r'
}

// isDash tells whether an element of a list begins at an offset.
func (t blockText) isDash(at int) bool {
	return at < len(t) && t[at] == '-' && t.isGap(at+1)
}

// colon returns where the colon behind the key at an offset stands. It is -1 if no key begins there.
func (t blockText) colon(at int) int {
	line := t[at:t.nextLine(at)]
	if len(line) == 0 {
		return -1
	}
	length := line.keyLength()
	if length == 0 {
		return -1
	}
	return at + length
}

// keyLength returns the length of the key that t, a line, begins with, or 0.
func (t blockText) keyLength() int {
	if isQuote(t[0]) {
		return t.quotedKey()
	}
	return t.plainKey()
}

func isQuote(b byte) bool { return b == '"' || b == '\'' }

// quotedKey returns the length of the key in quotes that t, a line, begins with, or 0. What has a backslash in it is
// none: yamljson then calls the document block style only if it is a value.
func (t blockText) quotedKey() int {
	end := bytes.IndexByte(t[1:], t[0]) + 1
	colon := end + 1
	if end == 0 || colon == len(t) || t[colon] != ':' || !t.isGap(colon+1) {
		return 0
	}
	if bytes.IndexByte(t[:end], '\\') >= 0 {
		return 0
	}
	return colon
}

// plainKey returns the length of the key without quotes that t, a line, begins with, or 0. Spaces may be at its end.
func (t blockText) plainKey() int {
	for i := 0; i < len(t); i++ {
		n := bytes.IndexByte(t[i:], ':')
		if n < 0 {
			return 0
		}
		i += n
		if !t.isGap(i + 1) {
			continue
		}
		if bytes.Contains(t[:i], []byte(" #")) {
			return 0
		}
		return i
	}
	return 0
}
