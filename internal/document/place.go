package document

import (
	"bytes"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/place"
)

// A Place is a position in a text. Lines and columns count from 1. A line ends after a line feed; columns count
// characters, not bytes. A byte order mark at the start of a file has no column.
type Place struct{ Line, Column int }

// After returns the place after a text that starts at p.
func (p Place) After(text []byte) Place {
	if n := bytes.Count(text, newline); n > 0 {
		p = Place{p.Line + n, 1}
		text = text[bytes.LastIndexByte(text, '\n')+1:]
	}
	p.Column += utf8.RuneCount(text)
	return p
}

// In returns the place in a file of p, which is relative to a text that starts at start.
func (p Place) In(start Place) Place {
	if p.Line == 1 {
		p.Column += start.Column - 1
	}
	p.Line += start.Line - 1
	return p
}

// Pos returns p in the file of that name.
func (p Place) Pos(file string) place.Pos {
	return place.Pos{File: file, Line: p.Line, Column: p.Column}
}

var newline = []byte{'\n'}

// A mark is the place of an offset in a text.
type mark struct {
	offset int
	place  Place
}

// stride is the distance of marks in bytes.
const stride = 1024

// place returns the place of an offset in the text, which starts at start. It reads the text once to mark places, and
// then only from a mark to the offset: a document may have only one line.
func (o *origin) place(offset int, start Place) Place {
	if o.marks == nil {
		o.marks = marksOf(o.text, start)
	}
	m := o.marks[min(offset/stride, len(o.marks)-1)]
	if m.offset > offset { // the mark was moved to the start of a character
		m = o.marks[offset/stride-1]
	}
	return m.place.After(o.text[m.offset:offset])
}

// marksOf returns the places at every stride of a text that starts at p, or behind it up to the next character.
func marksOf(text []byte, p Place) []mark {
	marks := []mark{{0, p}}
	for at := stride; at < len(text); at += stride {
		last, offset := marks[len(marks)-1], at
		for offset < min(at+utf8.UTFMax, len(text)) && !utf8.RuneStart(text[offset]) {
			offset++
		}
		marks = append(marks, mark{offset, last.place.After(text[last.offset:offset])})
	}
	return marks
}
