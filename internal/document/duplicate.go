package document

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/internal/yamljson"
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
			o.repeatedInNode(o.root, found)
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
func (o *origin) repeatedInNode(n *yaml.Node, found func(key string, first, again int) bool) bool {
	if n.Kind == yaml.SequenceNode {
		return o.repeatedInNodes(n.Content, found)
	}
	if n.Kind != yaml.MappingNode {
		return true
	}
	first := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		node, child := n.Content[i], n.Content[i+1]
		if yamljson.IsMerge(node) { // the keys after it are the object's own
			if !o.repeatedInNodes(yamljson.Merged(child), found) {
				return false
			}
			continue
		}
		key, _ := yamljson.Key(node)
		earlier, again := first[key]
		if again && !found(key, o.offset(earlier), o.offset(node)) {
			return false
		} else if !again {
			first[key] = node
		}
		if !o.repeatedInNode(child, found) {
			return false
		}
	}
	return true
}

func (o *origin) repeatedInNodes(nodes []*yaml.Node, found func(key string, first, again int) bool) bool {
	for _, n := range nodes {
		if !o.repeatedInNode(n, found) {
			return false
		}
	}
	return true
}
