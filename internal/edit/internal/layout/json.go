package layout

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"
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
	sorted := order.appendSorted(make([]byte, 0, len(text)), text)
	if !bytes.Equal(format.AppendCompact(nil, text), format.AppendCompact(nil, sorted)) {
		return dst, failure(text, 0, "formatting would change this object")
	}
	d := format.New()
	defer d.Release()
	d.Value(sorted, true)
	return append(d.AppendJSON(dst), '\n'), nil
}

// maxTokens is the maximum number of keys and values in a JSON value. Package format takes up to a hundred bytes for each.
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

// appendSorted appends a JSON value with its members in the order of [Order.sort]. A tree of the value would take a
// hundred times the memory of a short list element, so this keeps the members of one object at a time.
func (o *Order) appendSorted(dst, text []byte) []byte {
	if o == nil {
		return append(dst, text...)
	}
	if jsontext.Value(text).Kind() == jsontext.KindBeginArray {
		return appendElements(dst, text, o.appendSorted)
	}
	var object struct {
		Schema string `json:"schema"`
	}
	_ = json.Unmarshal(text, &object, document.Lenient, json.MatchCaseInsensitiveNames(true)) // a schema has any type
	return o.appendSortedAs(dst, text, o.shape(object.Schema))
}

// appendSortedAs is appendSorted for an object of a shape, or a list of such objects.
func (o *Order) appendSortedAs(dst, text []byte, shape *skim.Shape) []byte {
	for shape != nil && shape.Kind == '[' {
		if shape.Elem == nil {
			return o.Any.appendSorted(dst, text)
		}
		shape = shape.Elem
	}
	switch jsontext.Value(text).Kind() {
	case jsontext.KindBeginArray:
		return appendElements(dst, text, func(dst, text []byte) []byte { return o.appendSortedAs(dst, text, shape) })
	case jsontext.KindBeginObject:
		if shape != nil {
			return o.appendMembers(dst, text, shape)
		}
	}
	return append(dst, text...)
}

// appendMembers appends an object of a shape.
func (o *Order) appendMembers(dst, text []byte, shape *skim.Shape) []byte {
	type member struct {
		key, value []byte
		rank       int
	}
	var members []member
	for i, child := range children(text) {
		if i%2 == 1 {
			members[i/2].value = child
			continue
		}
		name, _ := jsontext.AppendUnquote(nil, child)
		members = append(members, member{key: child, rank: rank(shape, string(name))})
	}
	slices.SortStableFunc(members, func(a, b member) int { return a.rank - b.rank })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, m.key...), ':')
		if m.rank < len(shape.Fields) {
			dst = o.appendSortedAs(dst, m.value, shape.Fields[m.rank].Shape)
		} else {
			dst = append(dst, m.value...)
		}
	}
	return append(dst, '}')
}

// appendElements appends a list whose elements are appended by a function.
func appendElements(dst, text []byte, appendElement func(dst, text []byte) []byte) []byte {
	dst = append(dst, '[')
	for i, child := range children(text) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendElement(dst, child)
	}
	return append(dst, ']')
}

// children returns the elements of a list, or the keys and values of an object in turn. The text is valid JSON.
func children(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		r := syntax.NewJSONReader(text)
		_, err := r.ReadToken()
		for i := 0; err == nil; i++ {
			at, ok := r.Next()
			if !ok {
				return
			}
			err = r.SkipValue()
			if !yield(i, text[at:r.InputOffset()]) {
				return
			}
		}
	}
}
