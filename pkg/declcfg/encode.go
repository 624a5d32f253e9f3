package declcfg

import (
	"fmt"
	"reflect"

	"github.com/opm-toolchain/opm/internal/format"
)

// A Format is an encoding of a catalog.
type Format string

// The formats, with their names on the command line.
const (
	JSON Format = "json" // concatenated objects, indented by four spaces, with their keys in the order of the Go types
	YAML Format = "yaml" // documents that begin with ---, all keys sorted
)

// Append appends the encoding of a *[Package], *[Channel], *[Bundle] or *[Deprecations], byte for byte as upstream
// writes it, or of one *[Entry] or *[Deprecation] in such an object.
func (f Format) Append(dst []byte, object any) []byte {
	d := format.New()
	defer d.Release()
	return f.appendObject(dst, object, d)
}

// appendObject appends the encoding of v, or of the object in d if v is nil, byte for byte as upstream writes it.
func (f Format) appendObject(dst []byte, v any, d *format.Document) []byte {
	switch v.(type) {
	case nil:
	case *Package, *Channel, *Bundle, *Deprecations, *Entry, *Deprecation:
		value := reflect.ValueOf(v).Elem()
		fieldsOf(value.Type()).encode(d, value)
	default:
		panic(fmt.Sprintf("declcfg: no object of the format: %T", v))
	}
	if f != YAML {
		return append(d.AppendJSON(dst), '\n')
	}
	dst = d.AppendYAML(append(dst, "---\n"...))
	if dst[len(dst)-1] != '\n' {
		dst = append(dst, "#\n"...) // U+2028 ends the text block, but only LF makes the next --- a separator
	}
	return dst
}
