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
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/internal/syntax"
)

// An Order is the order of the keys of objects: first the fields of a shape, then the other keys in their own order.
// Lists keep their order. The case of keys does not matter.
type Order struct {
	Shapes map[string]*skim.Shape // by the value of the key schema; "" for other values
	Any    *Order                 // of the objects in lists of any JSON; nil if they keep their order
}

// sort sorts the members of n and of all nodes in it.
func (o *Order) sort(n *syntax.Node) {
	switch {
	case o == nil:
	case n.Kind == syntax.List:
		for _, c := range n.Children {
			o.sort(c)
		}
	default:
		shape, ok := o.Shapes[schema(n)]
		if !ok {
			shape = o.Shapes[""]
		}
		o.sortAs(shape, n)
	}
}

// sortAs is sort for an object of a shape, or a list of such objects.
func (o *Order) sortAs(shape *skim.Shape, n *syntax.Node) {
	for shape != nil && shape.Kind == '[' {
		if shape.Elem == nil {
			o.Any.sort(n)
		}
		shape = shape.Elem
	}
	if shape == nil {
		return
	}
	if n.Kind == syntax.List {
		for _, c := range n.Children {
			o.sortAs(shape, c)
		}
		return
	}
	rank := func(n *syntax.Node) int {
		isField := func(f skim.Field) bool { return strings.EqualFold(f.Name, n.Name) }
		return cmp.Or(slices.IndexFunc(shape.Fields, isField)+1, len(shape.Fields)+1)
	}
	slices.SortStableFunc(n.Children, func(a, b *syntax.Node) int { return rank(a) - rank(b) })
	for _, c := range n.Children {
		if i := rank(c); i <= len(shape.Fields) {
			o.sortAs(shape.Fields[i-1].Shape, c)
		}
	}
}

// schema returns the value of the key schema, which is the type of an object, or "".
func schema(n *syntax.Node) string {
	if c := n.Child("schema"); c != nil {
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
