package store

import (
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/skim"
)

// A printer prints values as encoding/json does after decoding them into a Go type, except for the escapes of HTML.
// Most of a large catalog is olm.csv.metadata, of which only the order of keys changes: printing it without decoding
// reduces the time to build a store by a fifth.
type printer struct {
	doc  *format.Document
	dst  []byte
	fits bool // the values have the expected shape; otherwise they must be decoded
}

// absent is the index of a missing value.
const absent = 0

// fields appends the values of the fields of object i.
func (p *printer) fields(dst []int, s *skim.Shape, i int) []int {
	dst = append(dst, make([]int, len(s.Fields))...)
	for name, value := range p.doc.Members(i) {
		field, ok := s.Find(name)
		p.fits = p.fits && ok
		if field >= 0 {
			dst[field] = value
		}
	}
	return dst
}

// value prints value i, or the zero value if it is absent.
func (p *printer) value(s *skim.Shape, i int) {
	p.fits = p.fits && (i == absent || s.Allows(p.doc.Kind(i)))
	var room [16]int
	from := len(p.dst)
	switch {
	case s == nil:
		p.dst = p.doc.AppendCompact(p.dst, i)
	case s.Fields != nil:
		for k, value := range p.fields(room[:0], s, i) {
			p.member(s.Fields[k].Name, &s.Fields[k], value)
		}
		p.enclose(from, '{', '}')
	case i == absent:
		p.dst = append(p.dst, zeros[s.Kind]...)
	case s.Kind == '[':
		for element := range p.doc.Elements(i) {
			p.dst = append(p.dst, ',')
			p.value(s.Elem, element)
		}
		p.enclose(from, '[', ']')
	default: // the keys of a map are sorted
		for _, value := range p.doc.Members(i) {
			p.fits = p.fits && s.Elem.Allows(p.doc.Kind(value))
		}
		p.dst = p.doc.AppendCompact(p.dst, i)
	}
}

// zeros are the zero values of the types that are not structs.
var zeros = map[byte]string{'"': `""`, 't': "false", '[': "null", '{': "null"}

// member prints a comma and a field under this name, unless the field is omitted.
func (p *printer) member(name string, f *skim.Field, i int) {
	if f.Optional && (i == absent || f.Shape != nil && p.doc.IsEmpty(i)) {
		return
	}
	p.dst = append(append(append(p.dst, `,"`...), name...), `":`...)
	p.value(f.Shape, i)
}

// enclose puts brackets around the text from an offset on. The opening bracket replaces a comma.
func (p *printer) enclose(from int, opening, closing byte) {
	if len(p.dst) == from {
		p.dst = append(p.dst, opening)
	}
	p.dst[from] = opening
	p.dst = append(p.dst, closing)
}
