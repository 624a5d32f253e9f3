package store

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/skim"
)

// A form is a Go type as encoding/json writes it. Most of a large catalog is olm.csv.metadata, which comes out as it
// went in but for the order of its keys. To rearrange its text, instead of decoding and encoding it, saves a fifth of
// the time of building a store.
type form struct {
	kind   reflect.Kind // Interface for any JSON
	elem   *form        // of a list
	fields []formField  // of a struct, in the order in which they are written
}

type formField struct {
	*form
	name string
	key  string // `,"name":`
	zero string // what is written where there is no value; "" for nothing
	omit string // the value that is not written
}

// emptyValues are those that omitempty and omitzero drop.
var emptyValues = map[reflect.Kind]string{
	reflect.String: `""`, reflect.Slice: "[]", reflect.Map: "{}", reflect.Int32: "0",
}

// newForm returns the form of a type that consists of texts, numbers, booleans, lists, maps of texts, and structs.
func newForm(t reflect.Type) *form {
	f := &form{kind: t.Kind()}
	switch {
	case t == reflect.TypeFor[jsontext.Value]():
		f.kind = reflect.Interface
	case f.kind == reflect.Slice:
		f.elem = newForm(t.Elem())
	case f.kind == reflect.Struct:
		for field := range t.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			member := formField{form: newForm(field.Type), name: name, key: `,"` + name + `":`}
			if options != "" {
				member.omit = emptyValues[member.kind]
			} else {
				member.zero = string(appendJSON(nil, reflect.Zero(field.Type).Interface()))
			}
			f.fields = append(f.fields, member)
		}
	}
	return f
}

// append appends the next value as it is written after it was decoded. It is not ok where only decoding can tell: a
// value of another type, null, equal keys, a key in another spelling.
func (f *form) append(dst []byte, c *skim.Cursor) (_ []byte, ok bool) {
	switch kind := c.Kind(); {
	case f.kind == reflect.Interface:
		return appendJSON(dst, jsontext.Value(format.AppendCompact(nil, c.Value()))), true
	case f.kind == reflect.String && kind == '"':
		return appendString(dst, c.Value())
	case f.kind == reflect.Struct && kind == '{':
		return f.appendStruct(dst, c)
	case f.kind == reflect.Map && kind == '{':
		return appendMap(dst, c)
	case f.kind == reflect.Slice && kind == '[':
		return f.appendList(dst, c)
	case f.kind == reflect.Bool && (kind == 't' || kind == 'f'):
		return append(dst, c.Value()...), true
	case f.kind == reflect.Int32:
		n, err := strconv.ParseInt(string(c.Value()), 10, 32)
		return strconv.AppendInt(dst, n, 10), err == nil
	}
	return dst, false
}

func (f *form) appendStruct(dst []byte, c *skim.Cursor) (_ []byte, ok bool) {
	from := len(dst)
	var room [16]span
	dst, members, ok := f.members(dst, room[:0], c)
	if !ok {
		return dst, false
	}
	if end := len(dst); !inOrder(members) {
		for _, m := range members {
			dst = append(dst, m.of(dst)...)
		}
		dst = dst[:from+copy(dst[from:], dst[end:])]
	}
	if len(dst) == from {
		return append(dst, "{}"...), true
	}
	dst[from] = '{' // for the first comma
	return append(dst, '}'), true
}

// A span is a part of a text.
type span struct{ start, end int }

func (s span) of(text []byte) []byte { return text[s.start:s.end] }

// inOrder reports whether the spans that are not empty are one behind the other.
func inOrder(spans []span) bool {
	end := 0
	for _, s := range spans {
		if s.start < s.end {
			if s.start < end {
				return false
			}
			end = s.end
		}
	}
	return true
}

// members appends the members of the next object, in any order and each with a comma before it, and returns where that
// of each field is.
func (f *form) members(dst []byte, room []span, c *skim.Cursor) (_ []byte, all []span, ok bool) {
	all = append(room, make([]span, len(f.fields))...)
	seen := uint(0)
	for c.Enter(); c.More(); {
		name := c.Value()
		i := f.field(name[1 : len(name)-1])
		if i < 0 {
			if f.mayMean(name) {
				return dst, all, false
			}
			c.Skip()
			continue
		}
		if seen&(1<<i) != 0 {
			return dst, all, false
		}
		seen |= 1 << i
		start, field := len(dst), &f.fields[i]
		dst = append(dst, field.key...)
		value := len(dst)
		if dst, ok = field.append(dst, c); !ok {
			return dst, all, false
		}
		if string(dst[value:]) == field.omit {
			dst = dst[:start]
		}
		all[i] = span{start, len(dst)}
	}
	for i, field := range f.fields {
		if seen&(1<<i) == 0 && field.zero != "" {
			start := len(dst)
			dst = append(append(dst, field.key...), field.zero...)
			all[i] = span{start, len(dst)}
		}
	}
	return dst, all, true
}

// field returns the index of the field of that name, or -1.
func (f *form) field(name []byte) int {
	return slices.IndexFunc(f.fields, func(field formField) bool { return string(name) == field.name })
}

// mayMean reports whether decoding takes a name in another spelling for that of a field.
func (f *form) mayMean(name []byte) bool {
	text := string(skim.Unquote(name))
	return slices.ContainsFunc(f.fields, func(field formField) bool {
		return strings.EqualFold(text, field.name)
	})
}

func (f *form) appendList(dst []byte, c *skim.Cursor) (_ []byte, ok bool) {
	from := len(dst)
	for c.Enter(); c.More(); {
		if dst, ok = f.elem.append(append(dst, ','), c); !ok {
			return dst, false
		}
	}
	if len(dst) == from {
		return append(dst, "[]"...), true
	}
	dst[from] = '['
	return append(dst, ']'), true
}

// appendMap appends an object of texts by key.
func appendMap(dst []byte, c *skim.Cursor) (_ []byte, ok bool) {
	type member struct{ key, name, value []byte }
	var all []member
	for c.Enter(); c.More(); {
		name := c.Value()
		if c.Kind() != '"' {
			return dst, false
		}
		all = append(all, member{skim.Unquote(name), name, c.Value()})
	}
	slices.SortFunc(all, func(x, y member) int { return bytes.Compare(x.key, y.key) })
	dst = append(dst, '{')
	for i, m := range all {
		if i > 0 {
			if bytes.Equal(m.key, all[i-1].key) {
				return dst, false
			}
			dst = append(dst, ',')
		}
		if dst, ok = appendString(dst, m.name); !ok {
			return dst, false
		}
		if dst, ok = appendString(append(dst, ':'), m.value); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

// appendString appends a text in quotes. What may be written in another way is decoded.
func appendString(dst, quoted []byte) (_ []byte, ok bool) {
	for i := 1; i < len(quoted)-1; i++ {
		switch c := quoted[i]; {
		case plain[c]:
		case c == '\\' && strings.IndexByte(`"\bfnrt`, quoted[i+1]) >= 0:
			i++
		default:
			text, err := jsontext.AppendUnquote(nil, quoted)
			return appendJSON(dst, string(text)), err == nil
		}
	}
	return append(dst, quoted...), true
}

// plain are the bytes that are written as they are: of ASCII what neither JSON nor HTML escapes.
var plain = func() (is [256]bool) {
	for c := byte(' '); c < 0x80; c++ {
		is[c] = strings.IndexByte(`"\<>&`, c) < 0
	}
	return is
}()
