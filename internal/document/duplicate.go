package document

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/syntax"
)

// A Duplicate is a repeated key of an object.
type Duplicate struct {
	Key    string
	First  Place // of the first of the equal keys
	Repeat Place // of this key
}

// Duplicates yields every key that repeats an earlier one of the same object, in the order of the text. Keys from a
// YAML merge are not repetitions, and a mapping with aliases is read once.
func (d *Document) Duplicates() iter.Seq[Duplicate] {
	return func(yield func(Duplicate) bool) {
		o := d.origin()
		found := func(key string, first, again int) bool {
			return yield(Duplicate{key, o.place(first, d.Start), o.place(again, d.Start)})
		}
		if o.root != nil {
			repeatedInNode(o.root, found)
		} else {
			o.repeatedInJSON(found)
		}
	}
}

// repeatedInJSON calls found with the offsets of keys that repeat earlier ones, up to the end or the first error, or
// until found returns false.
func (o *origin) repeatedInJSON(found func(key string, first, again int) bool) {
	r := syntax.NewJSONReader(o.json)
	var open []map[string]int // offsets of the first keys of each open object
	for {
		at, more := r.Next()
		kind, length := r.StackIndex(r.StackDepth())
		isKey := more && kind == jsontext.KindBeginObject && length%2 == 0
		token, err := r.ReadToken()
		if err != nil {
			return
		}
		switch {
		case isKey:
			keys, name := open[len(open)-1], token.String()
			first, again := keys[name]
			if again && !found(name, o.at(first), o.at(at)) {
				return
			} else if !again {
				keys[name] = at
			}
		case token.Kind() == jsontext.KindBeginObject:
			open = append(open, make(map[string]int))
		case token.Kind() == jsontext.KindEndObject:
			open = open[:len(open)-1]
		}
		if r.StackDepth() == 0 {
			return
		}
	}
}

// repeatedInNode is repeatedInJSON for the keys in n and below. It returns false if found does.
func repeatedInNode(n *syntax.Node, found func(key string, first, again int) bool) bool {
	first := make(map[string]int)
	for _, c := range n.Children {
		if c.Key != nil && !c.Merge { // the keys in the value of a merge key are an object of their own
			earlier, again := first[c.Name]
			if again && !found(c.Name, earlier, c.Start) {
				return false
			} else if !again {
				first[c.Name] = c.Start
			}
		}
		if !repeatedInNode(c, found) {
			return false
		}
	}
	return true
}
