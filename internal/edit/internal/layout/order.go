package layout

import (
	"cmp"
	"slices"
	"strings"

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
		schema := ""
		if c := n.Child("schema"); c != nil {
			schema = c.Value
		}
		o.sortAs(o.shape(schema), n)
	}
}

// shape returns the shape of the objects with a schema, which is "" for other values. Without one, it has no fields.
func (o *Order) shape(schema string) *skim.Shape {
	return cmp.Or(o.Shapes[schema], o.Shapes[""], new(skim.Shape))
}

// rank returns the index of a key in the fields of a shape. Other keys are behind the fields.
func rank(shape *skim.Shape, key string) int {
	i := slices.IndexFunc(shape.Fields, func(f skim.Field) bool { return strings.EqualFold(f.Name, key) })
	if i < 0 {
		return len(shape.Fields)
	}
	return i
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
	slices.SortStableFunc(n.Children, func(a, b *syntax.Node) int { return rank(shape, a.Name) - rank(shape, b.Name) })
	for _, c := range n.Children {
		if i := rank(shape, c.Name); i < len(shape.Fields) {
			o.sortAs(shape.Fields[i].Shape, c)
		}
	}
}
