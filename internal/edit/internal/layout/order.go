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
	"github.com/opm-toolchain/opm/internal/syntax"
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

// sort sorts the members of n and of all nodes in it.
func (o *Order) sort(n *syntax.Node) {
	switch {
	case o == nil:
	case n.Kind == syntax.List:
		for _, c := range n.Children {
			o.sort(c)
		}
	default:
		o = o.of(schema(n))
		slices.SortStableFunc(n.Children, func(a, b *syntax.Node) int { return o.compare(a.Name, b.Name) })
		for _, c := range n.Children {
			o.in(c.Name).sort(c)
		}
	}
}

// schema returns the value of the key schema, or "".
func schema(n *syntax.Node) string {
	if c := n.Child(schemaKey); c != nil {
		return c.Value
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
		var tree *syntax.Tree
		if tree, err = syntax.Parse(text, false); err == nil {
			order.sort(tree.Root)
			ordered = appendNode(nil, text, tree.Root)
		}
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

// appendNode appends a JSON value without white space between its tokens.
func appendNode(dst, text []byte, n *syntax.Node) []byte {
	if n.Kind == syntax.Scalar {
		return append(dst, text[n.From:n.To]...)
	}
	dst = append(dst, text[n.From])
	for i, c := range n.Children {
		if i > 0 {
			dst = append(dst, ',')
		}
		if c.Key != nil {
			dst = append(append(dst, text[c.Key.From:c.Key.To]...), ':')
		}
		dst = appendNode(dst, text, c)
	}
	return append(dst, text[n.To-1])
}
