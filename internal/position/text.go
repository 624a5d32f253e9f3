package position

import "bytes"

// markEvery is how many bytes lie between two offsets whose place is remembered. A document may be one long line.
const markEvery = 64 << 10

// A text turns offsets into places.
type text struct {
	bytes []byte
	marks []Place // the places of 0, markEvery, 2*markEvery ... as far as was needed
}

var byteOrderMark = []byte("\ufeff")

// newText leaves out the byte order mark. Offsets count from behind it.
func newText(doc []byte) text {
	return text{bytes: bytes.TrimPrefix(doc, byteOrderMark), marks: []Place{{1, 1}}}
}

func (t *text) place(offset int) Place {
	for n := len(t.marks); n <= offset/markEvery; n++ {
		t.marks = append(t.marks, t.marks[n-1].after(t.bytes[(n-1)*markEvery:n*markEvery]))
	}
	n := offset / markEvery
	return t.marks[n].after(t.bytes[n*markEvery : offset])
}

// after returns the place behind a text that starts at p.
func (p Place) after(text []byte) Place {
	if feeds := bytes.Count(text, []byte{'\n'}); feeds > 0 {
		p = Place{p.Line + feeds, 1}
		text = text[bytes.LastIndexByte(text, '\n')+1:]
	}
	p.Column += characters(text)
	return p
}

// characters counts the bytes that begin one, so that a text may be counted in pieces.
func characters(text []byte) int {
	n := 0
	for _, b := range text {
		if b&0xC0 != 0x80 {
			n++
		}
	}
	return n
}
