package document

import (
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// A Duplicate is a repeated key of an object.
type Duplicate struct {
	Key    string
	First  Place // of the first of the equal keys
	Repeat Place // of this key
}

// Duplicates returns every key that repeats an earlier one of the same object, in the order of the text. Keys from a
// YAML merge are not repetitions, and a mapping with aliases is read once.
func (d *Document) Duplicates() []Duplicate {
	o := d.origin()
	var all []repetition
	if o.root != nil {
		all = o.repeatedInNode(nil, o.root)
	} else {
		all = o.repeatedInJSON()
	}
	var found []Duplicate
	for _, r := range all {
		found = append(found, Duplicate{r.key, o.place(r.first, d.Start), o.place(r.again, d.Start)})
	}
	return found
}

// A repetition is a Duplicate with offsets.
type repetition struct {
	key          string
	first, again int
}

// repeatedInJSON returns the keys that repeat earlier ones, up to the end or the first error.
func (o *origin) repeatedInJSON() (found []repetition) {
	r := newReader(o.json)
	var open []map[string]int // offsets of the first keys of each open object
	for {
		at, more := r.next()
		kind, length := r.StackIndex(r.StackDepth())
		isKey := more && kind == jsontext.KindBeginObject && length%2 == 0
		token, err := r.ReadToken()
		if err != nil {
			return found
		}
		switch {
		case isKey:
			keys, name := open[len(open)-1], token.String()
			if first, ok := keys[name]; ok {
				found = append(found, repetition{name, o.at(first), o.at(at)})
			} else {
				keys[name] = at
			}
		case token.Kind() == jsontext.KindBeginObject:
			open = append(open, make(map[string]int))
		case token.Kind() == jsontext.KindEndObject:
			open = open[:len(open)-1]
		}
		if r.StackDepth() == 0 {
			return found
		}
	}
}

// repeatedInNode appends the keys that repeat earlier ones in n and below.
func (o *origin) repeatedInNode(found []repetition, n *yaml.Node) []repetition {
	if n.Kind == yaml.SequenceNode {
		for _, element := range n.Content {
			found = o.repeatedInNode(found, element)
		}
		return found
	}
	if n.Kind != yaml.MappingNode {
		return found
	}
	first := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		node, child := n.Content[i], n.Content[i+1]
		if yamljson.IsMerge(node) { // the keys after it are the object's own
			for _, source := range yamljson.Merged(child) {
				found = o.repeatedInNode(found, source)
			}
			continue
		}
		key, _ := yamljson.Key(node)
		if earlier, ok := first[key]; ok {
			found = append(found, repetition{key, o.offset(earlier), o.offset(node)})
		} else {
			first[key] = node
		}
		found = o.repeatedInNode(found, child)
	}
	return found
}
