package layout

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/internal/syntax"
)

// JSON appends a JSON value to dst, with its keys in order, and indented by package format. The output ends with a line
// break.
//
// The error is a [*document.Error] with a place in text.
func JSON(dst, text []byte, order *Order) ([]byte, error) {
	if err := checkJSON(text); err != nil {
		return dst, &document.Error{Place: start, Err: err}
	}
	sorted := order.appendSorted(make([]byte, 0, len(text)), syntax.NewJSONReader(text))
	if !bytes.Equal(format.AppendCompact(nil, text), format.AppendCompact(nil, sorted)) {
		return dst, failure(text, 0, "formatting would change this object")
	}
	d := format.New()
	defer d.Release()
	d.Value(sorted, true)
	return append(d.AppendJSON(dst), '\n'), nil
}

// maxTokens is the maximum number of keys and values in a JSON value. Package format takes up to 100 bytes for each.
const maxTokens = 2_000_000

var errTooMany = errors.New("more than 2,000,000 keys and values in an object")

// checkJSON returns an error for text that is not valid JSON, repeats a key, has too many values, or would be too large
// after indentation.
func checkJSON(text []byte) error {
	count, size := 0, 0
	for d := jsontext.NewDecoder(bytes.NewBuffer(text)); ; {
		token, err := d.ReadToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if kind := token.Kind(); kind != jsontext.KindEndObject && kind != jsontext.KindEndArray {
			count++
		}
		if depth := d.StackDepth(); depth <= format.MaxIndented {
			size += depth * len("    ")
		}
		switch {
		case size > maxSize:
			return errTooLarge
		case count > maxTokens:
			return errTooMany
		}
	}
}

// appendSorted appends the next value of valid JSON with its members in the order of [Order.sort]. A tree of the value
// would take a hundred times the memory of a short list element, so this keeps the members of one object at a time.
func (o *Order) appendSorted(dst []byte, r syntax.JSONReader) []byte {
	kind := r.PeekKind()
	switch {
	case o != nil && kind == jsontext.KindBeginArray:
		return appendElements(dst, r, o.appendSorted)
	case o != nil && kind == jsontext.KindBeginObject:
		members := readMembers(r)
		return o.appendMembers(dst, members, o.shape(schemaOf(members)))
	}
	return append(dst, r.Value()...)
}

// appendSortedAs is appendSorted for an object of a shape, or a list of such objects.
func (o *Order) appendSortedAs(dst []byte, r syntax.JSONReader, shape *skim.Shape) []byte {
	for shape != nil && shape.Kind == '[' {
		if shape.Elem == nil {
			return o.Any.appendSorted(dst, r)
		}
		shape = shape.Elem
	}
	kind := r.PeekKind()
	switch {
	case shape != nil && kind == jsontext.KindBeginArray:
		return appendElements(dst, r, func(dst []byte, r syntax.JSONReader) []byte { return o.appendSortedAs(dst, r, shape) })
	case shape != nil && kind == jsontext.KindBeginObject:
		return o.appendMembers(dst, readMembers(r), shape)
	}
	return append(dst, r.Value()...)
}

// appendElements appends a list whose elements are appended by a function. Lists in each other are read once.
func appendElements(
	dst []byte, r syntax.JSONReader, appendElement func([]byte, syntax.JSONReader) []byte,
) []byte {
	_, _ = r.ReadToken()
	dst = append(dst, '[')
	for i := 0; r.More(); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendElement(dst, r)
	}
	_, _ = r.ReadToken()
	return append(dst, ']')
}

// A member of an object. The key is a JSON string, and the name its content.
type member struct {
	name       string
	key, value []byte
	rank       int
}

func readMembers(r syntax.JSONReader) (members []member) {
	_, _ = r.ReadToken()
	for r.More() {
		key := r.Value()
		members = append(members, member{name: unquote(key), key: key, value: r.Value()})
	}
	_, _ = r.ReadToken()
	return members
}

// schemaOf returns the value of the key schema, which is the type of an object, or "". An exact key wins over one in
// another case.
func schemaOf(members []member) (schema string) {
	for _, m := range members {
		switch {
		case m.name == "schema":
			return unquote(m.value)
		case strings.EqualFold(m.name, "schema"):
			schema = unquote(m.value)
		}
	}
	return schema
}

// unquote returns the content of a JSON string; "" for other values.
func unquote(value []byte) string {
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

// appendMembers appends an object of a shape.
func (o *Order) appendMembers(dst []byte, members []member, shape *skim.Shape) []byte {
	for i, m := range members {
		members[i].rank = rank(shape, m.name)
	}
	slices.SortStableFunc(members, func(a, b member) int { return a.rank - b.rank })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, m.key...), ':')
		if m.rank < len(shape.Fields) {
			dst = o.appendSortedAs(dst, syntax.NewJSONReader(m.value), shape.Fields[m.rank].Shape)
		} else {
			dst = append(dst, m.value...)
		}
	}
	return append(dst, '}')
}
