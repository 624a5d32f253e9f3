package layout

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/format"
)

// An Order is the order of the keys of an object. Lists keep their order. The case of keys does not matter.
type Order struct {
	Keys []string          // the first keys; the other keys follow in their own order
	In   map[string]*Order // by key in lower case: the order of the object, or of the objects in the list, at the key

	// Schemas has the orders of objects by the value of their key schema. For other values, Keys and In apply.
	Schemas map[string]*Order
}

// of returns the order of an object with the given schema.
func (o *Order) of(schema string) *Order {
	return cmp.Or(o.Schemas[schema], o)
}

// compare orders two keys.
func (o *Order) compare(a, b string) int { return cmp.Compare(o.rank(a), o.rank(b)) }

func (o *Order) rank(key string) int {
	i := slices.IndexFunc(o.Keys, func(known string) bool { return strings.EqualFold(known, key) })
	if i < 0 {
		return len(o.Keys)
	}
	return i
}

// in returns the order of the object or the list at a key; nil if it keeps its keys.
func (o *Order) in(key string) *Order { return o.In[strings.ToLower(key)] }

// schemaKey is the key whose value is the type of an object.
const schemaKey = "schema"

// sort sorts the entries of n and of all nodes in it.
func (o *Order) sort(n *node) {
	switch {
	case o == nil:
	case n.isList:
		for _, e := range n.entries {
			o.sort(e.value)
		}
	default:
		o = o.of(n.schema())
		slices.SortStableFunc(n.entries, func(a, b *entry) int { return o.compare(a.key.value, b.key.value) })
		for _, e := range n.entries {
			o.in(e.key.value).sort(e.value)
		}
	}
}

// schema returns the value of the key schema, or "".
func (n *node) schema() string {
	for _, e := range n.entries {
		if strings.EqualFold(e.key.value, schemaKey) {
			return e.value.value
		}
	}
	return ""
}

// JSON appends a JSON value to dst, with its keys in order, and indented by package format. The output ends with a line
// break.
//
// The error is a [*document.Error] with a place in text.
func JSON(dst, text []byte, order *Order) ([]byte, error) {
	err := checkJSON(text)
	var ordered []byte
	if err == nil {
		ordered, err = order.appendJSON(nil, text)
	}
	if err != nil {
		return dst, &document.Error{Place: document.Place{Line: 1, Column: 1}, Err: err}
	}
	if !bytes.Equal(format.AppendCompact(nil, text), format.AppendCompact(nil, ordered)) {
		return dst, failure(text, 0, "formatting would change this object")
	}
	d := format.New()
	defer d.Release()
	d.Value(ordered, true)
	return append(d.AppendJSON(dst), '\n'), nil
}

// checkJSON returns an error for text that is not valid JSON, repeats a key, or would be too large after indentation.
func checkJSON(text []byte) error {
	size := 0
	for d := jsontext.NewDecoder(bytes.NewBuffer(text)); ; {
		if _, err := d.ReadToken(); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		if depth := d.StackDepth(); depth <= format.MaxIndented {
			size += depth * len("    ")
		}
		if size > maxSize {
			return errTooLarge
		}
	}
}

// A member is a member of a JSON object.
type member struct {
	name       string
	key, value jsontext.Value
}

// appendJSON appends v with its keys, and the keys of the objects in it, in order. A list in a list is not changed.
func (o *Order) appendJSON(dst []byte, v jsontext.Value) ([]byte, error) {
	switch {
	case o != nil && v.Kind() == jsontext.KindBeginObject:
		return o.appendObject(dst, v)
	case o != nil && v.Kind() == jsontext.KindBeginArray:
		return o.appendList(dst, v)
	}
	return append(dst, v...), nil
}

func (o *Order) appendObject(dst []byte, v jsontext.Value) ([]byte, error) {
	members, err := membersOf(v)
	if err != nil {
		return dst, err
	}
	for _, m := range members {
		if strings.EqualFold(m.name, schemaKey) && m.value.Kind() == jsontext.KindString {
			schema, _ := jsontext.AppendUnquote(nil, m.value) // it was read before
			o = o.of(string(schema))
			break
		}
	}
	slices.SortStableFunc(members, func(a, b member) int { return o.compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, m.key...), ':')
		if dst, err = o.in(m.name).appendJSON(dst, m.value); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (o *Order) appendList(dst []byte, v jsontext.Value) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(v))
	_, err := d.ReadToken()
	dst = append(dst, '[')
	for i := 0; err == nil && d.PeekKind() != jsontext.KindEndArray; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		var element jsontext.Value
		switch element, err = d.ReadValue(); {
		case err != nil:
		case element.Kind() == jsontext.KindBeginObject:
			dst, err = o.appendObject(dst, element)
		default:
			dst = append(dst, element...)
		}
	}
	return append(dst, ']'), err
}

// membersOf returns the members of an object.
func membersOf(v jsontext.Value) (members []member, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(v))
	_, err = d.ReadToken()
	for err == nil && d.PeekKind() != jsontext.KindEndObject {
		var m member
		m.key, err = d.ReadValue()
		m.key = bytes.Clone(m.key)
		if name, unquoted := jsontext.AppendUnquote(nil, m.key); unquoted == nil {
			m.name = string(name)
		}
		if err == nil {
			m.value, err = d.ReadValue()
			m.value = bytes.Clone(m.value)
		}
		members = append(members, m)
	}
	return members, err
}
