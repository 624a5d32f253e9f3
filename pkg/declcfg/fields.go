package declcfg

import (
	"encoding/base64"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
)

// fields are the fields of a struct of the format, in the order in which they are written. The tags of the Go types
// say everything about them: encoding and the two fast decoders of bundles go by this table.
type fields struct {
	all     []field
	unknown int // the index of the field for unknown keys
}

// A field is a field of a struct. Its value is a string, JSON, bytes, a struct, a pointer to a struct, or a list of
// structs or strings.
type field struct {
	name      string
	index     int
	omitEmpty bool    // it is not written if it is empty
	in        *fields // of the struct, or of the elements of the list; nil for other values
}

var (
	bundleFields = sync.OnceValue(func() *fields { return fieldsOf(reflect.TypeFor[Bundle]()) })
	tables       sync.Map // of *fields by type
)

var jsonType = reflect.TypeFor[jsontext.Value]()

// fieldsOf returns the fields of a struct, of the struct that a pointer points to, or of the elements of a list; nil
// for other types.
func fieldsOf(t reflect.Type) *fields {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	if table, ok := tables.Load(t); ok {
		return table.(*fields)
	}
	table := &fields{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case options == "embed":
			table.unknown = i
		case name != "-":
			table.all = append(table.all, field{name, i, options == "omitempty", fieldsOf(f.Type)})
		}
	}
	loaded, _ := tables.LoadOrStore(t, table)
	return loaded.(*fields)
}

// named returns the field of exactly this name, or nil.
func (t *fields) named(name []byte) *field {
	for i := range t.all {
		if t.all[i].name == string(name) {
			return &t.all[i]
		}
	}
	return nil
}

// encode adds a struct to d: its fields, then its unknown keys.
func (t *fields) encode(d *format.Document, v reflect.Value) {
	d.OpenObject()
	for i := range t.all {
		f := &t.all[i]
		value := v.Field(f.index)
		if f.omitEmpty && isEmpty(value) {
			continue
		}
		d.String(f.name)
		if p, ok := reflect.TypeAssert[*Property](v.Addr()); ok && value.Type() == jsonType {
			d.Value(p.Value, p.Ordered)
		} else {
			f.encode(d, value)
		}
	}
	if unknown := v.Field(t.unknown).Bytes(); unknown != nil {
		d.AddMembers(unknown)
	}
	d.Close()
}

// isEmpty reports whether a pointer is nil, or a string or a list empty.
func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Pointer {
		return v.IsNil()
	}
	return v.Len() == 0
}

func (f *field) encode(d *format.Document, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		d.String(v.String())
	case reflect.Struct:
		f.in.encode(d, v)
	case reflect.Pointer:
		f.in.encode(d, v.Elem())
	case reflect.Slice:
		switch {
		case v.IsNil():
			d.Null()
		case v.Type().Elem().Kind() == reflect.Uint8:
			d.String(base64.StdEncoding.EncodeToString(v.Bytes()))
		default:
			d.OpenList()
			for i := range v.Len() {
				f.encode(d, v.Index(i))
			}
			d.Close()
		}
	}
}

// decode decodes value i of d into a struct, without scanning the text again. It reports false for a form that opm
// itself does not write, with unknown keys for example.
func (t *fields) decode(d *format.Document, i int, v reflect.Value) bool {
	for key, member := range d.Members(i) {
		f := t.named(key)
		if f == nil || !f.decode(d, member, v.Field(f.index)) {
			return false
		}
	}
	return d.IsObject(i)
}

// decode decodes a string, JSON or a list of structs.
func (f *field) decode(d *format.Document, i int, v reflect.Value) bool {
	switch {
	case v.Kind() == reflect.String:
		text, ok := d.Text(i)
		v.SetString(text)
		return ok
	case v.Type() == jsonType:
		v.SetBytes(d.Raw(i))
		return true
	}
	n := 0
	for range d.Elements(i) {
		n++
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	n = 0
	for element := range d.Elements(i) {
		if !f.in.decode(d, element, v.Index(n)) {
			return false
		}
		n++
	}
	return d.IsList(i)
}

// scan reads the struct that r is at, to its end. plain is false for a form that opm itself does not write: then v is
// not complete.
func (t *fields) scan(r reader, v reflect.Value) (plain bool, err error) {
	if r.PeekKind() != '{' {
		return false, r.SkipValue()
	}
	if _, err := r.ReadToken(); err != nil {
		return false, err
	}
	plain = true
	for r.PeekKind() == '"' {
		name, err := r.ReadValue()
		if err != nil {
			return false, err
		}
		isPlain, err := t.named(name[1:len(name)-1]).scan(r, v)
		if err != nil {
			return false, err
		}
		plain = plain && isPlain
	}
	_, err = r.ReadToken()
	return plain, err
}

// scan reads a string, JSON or a list of structs into the field of a struct. The value of an unknown field, nil, is not
// plain.
func (f *field) scan(r reader, in reflect.Value) (plain bool, err error) {
	if f == nil {
		return false, r.SkipValue()
	}
	v := in.Field(f.index)
	switch kind := r.PeekKind(); {
	case v.Type() == jsonType:
		value, err := r.value()
		v.SetBytes(value)
		return true, err
	case v.Kind() == reflect.String && kind == '"':
		value, err := r.ReadValue()
		if err == nil {
			v.SetString(unquoted(value))
		}
		return true, err
	case v.Kind() != reflect.Slice || kind != '[':
		return false, r.SkipValue()
	}
	if _, err := r.ReadToken(); err != nil {
		return false, err
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	plain = true
	for kind := r.PeekKind(); kind != ']' && kind != jsontext.KindInvalid; kind = r.PeekKind() {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		isPlain, err := f.in.scan(r, v.Index(n))
		if err != nil {
			return false, err
		}
		plain = plain && isPlain
	}
	_, err = r.ReadToken()
	return plain, err
}
