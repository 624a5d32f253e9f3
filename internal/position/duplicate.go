package position

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// A Duplicate is a key that an object has more than once.
type Duplicate struct {
	Object jsontext.Pointer
	Key    string
	First  Place // of the first key that is equal
	Repeat Place // of this one
}

// Duplicates lists every key that repeats an earlier one of the same object, in the order of the text. A key is not
// repeated by one that a YAML merge brings in, and a mapping that aliases stand for is looked at once.
func (d *Document) Duplicates() []Duplicate {
	var found []Duplicate
	if d.root == nil {
		return nil
	}
	d.dupes(func(r repetition) {
		found = append(found, Duplicate{r.object, r.key, d.text.place(r.first), d.text.place(r.again)})
	})
	return found
}

// A repetition is a Duplicate with offsets.
type repetition struct {
	object       jsontext.Pointer
	key          string
	first, again int
}

// repetitions yields the keys that repeat earlier ones, up to the end or the first error.
func (t jsonText) repetitions(yield func(repetition)) {
	r := newReader(t, 0)
	var open []map[string]int // where the keys of each open object first stand
	for {
		at, more := r.next()
		isKey := more && r.atKey()
		token, err := r.ReadToken()
		if err != nil {
			return
		}
		switch {
		case isKey:
			keys, name := open[len(open)-1], token.String()
			if first, ok := keys[name]; ok {
				yield(repetition{r.StackPointer().Parent(), name, first, at})
			} else {
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

// atKey tells whether the next token is a key, unless the object ends.
func (r reader) atKey() bool {
	kind, length := r.StackIndex(r.StackDepth())
	return kind == jsontext.KindBeginObject && length%2 == 0
}

// repetitions yields the keys that repeat earlier ones in n and below.
func (t *yamlTree) repetitions(n *yaml.Node, ptr jsontext.Pointer, yield func(repetition)) {
	switch n.Kind {
	case yaml.SequenceNode:
		for i, element := range n.Content {
			t.repetitions(element, ptr.AppendToken(strconv.Itoa(i)), yield)
		}
	case yaml.MappingNode:
		t.repeatedKeys(n, ptr, yield)
	}
}

func (t *yamlTree) repeatedKeys(n *yaml.Node, ptr jsontext.Pointer, yield func(repetition)) {
	first := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		node, child := n.Content[i], n.Content[i+1]
		if isMerge(node) {
			t.repeatedInMerge(child, ptr, yield)
			continue
		}
		key, ok := t.key(node)
		if !ok {
			continue
		}
		if earlier, ok := first[key]; ok {
			yield(repetition{ptr, key, t.offset(earlier), t.offset(node)})
		} else {
			first[key] = node
		}
		t.repetitions(child, ptr.AppendToken(key), yield)
	}
}

// repeatedInMerge looks at the mappings that are written out behind a merge key: what they hold is the object's own.
func (t *yamlTree) repeatedInMerge(n *yaml.Node, ptr jsontext.Pointer, yield func(repetition)) {
	if n.Kind != yaml.SequenceNode {
		t.repetitions(n, ptr, yield)
		return
	}
	for _, source := range n.Content {
		t.repetitions(source, ptr, yield)
	}
}

// blockDepth is how deep repetitions are looked for in block style, far beyond what its reader accepts.
const blockDepth = 1000

// repetitions yields the keys that repeat earlier ones in the value at an offset and below.
func (t blockText) repetitions(at int, ptr jsontext.Pointer, depth int, yield func(repetition)) {
	if depth == 0 {
		return
	}
	if !t.isDash(at) {
		t.repeatedKeys(at, ptr, depth, yield)
		return
	}
	i := 0
	for element := range t.elements(at) {
		t.repetitions(element, ptr.AppendToken(strconv.Itoa(i)), depth-1, yield)
		i++
	}
}

func (t blockText) repeatedKeys(at int, ptr jsontext.Pointer, depth int, yield func(repetition)) {
	first := make(map[string]int)
	for key, m := range t.members(at) {
		if earlier, ok := first[key]; ok {
			yield(repetition{ptr, key, earlier, m.key})
		} else {
			first[key] = m.key
		}
		t.repetitions(m.value, ptr.AppendToken(key), depth-1, yield)
	}
}
