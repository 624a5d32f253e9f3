package document

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/pkg/place"
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

// placesOf returns the places of offsets in a text that starts at p. It goes through the text once.
func placesOf(text []byte, p Place, offsets []int) []Place {
	order := make([]int, len(offsets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(offsets[a], offsets[b]) })
	places := make([]Place, len(offsets))
	from := 0
	for _, i := range order {
		p = p.After(text[from:offsets[i]])
		places[i], from = p, offsets[i]
	}
	return places
}
