package document

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// A Value is the position of a value in a document.
type Value struct {
	Key   Place // start of its key; start of the value in lists and for the whole document
	Place Place // start of the value
	Found bool  // false if there is no such value; the places are of the nearest value around it
}

// Find returns the positions of the values at ptrs in the file, in the order of ptrs. The last of several equal keys
// wins. YAML keys have their JSON names, in which y is "true" and 0x10 is "16". The case of keys does not matter,
// unless the object also has the key in the given case.
//
// The position of a YAML alias is the place of its use; values inside it have their places at its anchor. The position
// of an omitted null is the place of the missing value.
//
// The objects and lists around a value are read once, however many values are looked up in them, together or one by
// one.
func (d *Document) Find(ptrs ...jsontext.Pointer) []Value {
	o := d.origin()
	values := make([]Value, len(ptrs))
	for i, ptr := range ptrs {
		l := o.find(ptr)
		values[i] = Value{o.place(l.key, d.Start), o.place(l.value, d.Start), l.ok}
	}
	return values
}

// An origin is the text that the JSON of a document was converted from.
type origin struct {
	text   []byte           // that offsets refer to
	json   []byte           // nil if there are nodes
	source *yamljson.Source // of json; nil if that is the text

	root  *yaml.Node // of YAML that is not in block style
	nodes *yamljson.Nodes

	values   map[int]*table        // by the offset of an object or a list in the JSON
	mappings map[*yaml.Node]*table // by mapping
	scanned  int                   // the number of bytes of JSON that were read for tables
	marks    []mark                // places in the text; see [origin.place]
}

func (d *Document) origin() *origin {
	if d.from == nil {
		d.from = d.newOrigin()
	}
	return d.from
}

func (d *Document) newOrigin() *origin {
	if !d.YAML {
		text := trimMark(d.Text)
		return &origin{text: text, json: text}
	}
	source := new(yamljson.Source)
	if converted := source.Trace(d.Text); source.Text != nil {
		return &origin{text: source.Text, json: converted, source: source}
	}
	return nodesOf(d.Text)
}

// nodesOf returns the origin of YAML in any style.
func nodesOf(text []byte) *origin {
	root, text, err := yamljson.Parse(text)
	if err != nil { // upstream reads it, yaml/v4 does not
		return &origin{text: text}
	}
	return &origin{text: text, root: root, nodes: yamljson.NewNodes(text)}
}

// at returns the offset in the text of one in the JSON.
func (o *origin) at(offset int) int {
	if o.source == nil {
		return offset
	}
	return o.source.Offset(offset)
}

// offset returns the offset of the start of a node.
func (o *origin) offset(n *yaml.Node) int { return o.nodes.Offset(n) }

func trimMark(text []byte) []byte { return bytes.TrimPrefix(text, byteOrderMark) }

// A location is a Value with offsets.
type location struct {
	key, value int
	ok         bool
}

// find returns the location of the value at ptr in the text.
func (o *origin) find(ptr jsontext.Pointer) location {
	path := slices.Collect(ptr.Tokens())
	if o.root != nil {
		return o.findNode(path)
	}
	start, ok := syntax.NewJSONReader(o.json).Next()
	if !ok {
		return location{}
	}
	at := member{key: start, value: start}
	for i, token := range path {
		if o.values[at.value] == nil {
			r := syntax.NewJSONReader(o.json[at.value:])
			o.read(r, at.value, path[i:])
			o.scanned += int(r.InputOffset())
		}
		child, ok := o.values[at.value].find(token)
		if !ok {
			return location{o.at(at.value), o.at(at.value), false}
		}
		at = child
	}
	return location{o.at(at.key), o.at(at.value), true}
}

// read makes the table of the next value of r, at an offset of the JSON, and the tables on a path in it. It reports
// false if the rest of the text cannot be read.
func (o *origin) read(r syntax.JSONReader, base int, path []string) bool {
	t := new(table)
	if o.values == nil {
		o.values = make(map[int]*table)
	}
	value, ok := r.Next()
	if !ok {
		o.values[base] = t
		return false
	}
	o.values[base+value] = t
	kind := r.PeekKind()
	if kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray {
		return r.SkipValue() == nil
	}
	if _, err := r.ReadToken(); err != nil {
		return false
	}
	for i := 0; ; i++ {
		key, value, name, ok := r.Child(kind)
		if !ok {
			break
		}
		var isNext bool
		if kind == jsontext.KindBeginArray {
			t.elements = append(t.elements, base+value)
			isNext = len(path) > 1 && path[0] == strconv.Itoa(i)
		} else {
			t.add(member{name: name, key: base + key, value: base + value})
			isNext = len(path) > 1 && strings.EqualFold(path[0], name)
		}
		if isNext {
			ok = o.read(r, base, path[1:])
		} else {
			ok = r.SkipValue() == nil
		}
		if !ok {
			return false
		}
	}
	_, err := r.ReadToken()
	return err == nil
}

// A table has the members of an object or the elements of a list.
type table struct {
	elements []int // offsets in the JSON

	members []member
	byName  map[string]int // the index of the last member with a name
	folded  map[string]int // the same for names without case; nil until it is needed
}

// A member is a member of an object or an element of a list, with offsets in the JSON, or with a node.
type member struct {
	name       string
	key, value int

	keyNode, valueNode *yaml.Node
}

func (t *table) add(m member) {
	if t.byName == nil {
		t.byName = make(map[string]int)
	}
	t.byName[m.name] = len(t.members)
	t.members = append(t.members, m)
}

// find returns the member with a name, in any case, or the element with an index.
func (t *table) find(token string) (m member, ok bool) {
	if at, ok := element(t.elements, token); ok {
		return member{key: at, value: at}, true
	}
	i, ok := t.byName[token]
	if !ok && !isIndex(token) {
		if t.folded == nil {
			t.folded = make(map[string]int)
			for i, m := range t.members {
				t.folded[fold(m.name)] = i
			}
		}
		i, ok = t.folded[fold(token)]
	}
	if !ok {
		return member{}, false
	}
	return t.members[i], true
}

// element returns the element of a list with an index, as it is in pointers.
func element[T any](list []T, token string) (e T, ok bool) {
	i, ok := syntax.Index(token)
	if !ok || i >= len(list) {
		return e, false
	}
	return list[i], true
}

func isIndex(name string) bool { return name != "" && '0' <= name[0] && name[0] <= '9' }

// fold returns a text that is the same for all names that [strings.EqualFold] considers equal.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}

// findNode is find for a document with nodes.
func (o *origin) findNode(path []string) location {
	at := member{keyNode: o.root, valueNode: o.root}
	for _, token := range path {
		child, ok := o.child(yamljson.Target(at.valueNode), token)
		if !ok {
			value := o.offset(at.valueNode)
			return location{value, value, false}
		}
		at = child
	}
	return location{o.offset(at.keyNode), o.offset(at.valueNode), true}
}

// child returns a member or an element of a node.
func (o *origin) child(n *yaml.Node, token string) (m member, ok bool) {
	if n.Kind != yaml.MappingNode {
		e, ok := element(n.Content, token)
		return member{keyNode: e, valueNode: e}, ok
	}
	t := o.mappings[n]
	if t == nil {
		if o.mappings == nil {
			o.mappings = make(map[*yaml.Node]*table)
		}
		t = new(table)
		o.mappings[n] = t
		t.addMapping(n)
	}
	return t.find(token)
}

// addMapping adds the members of a mapping in the order in which upstream sets them, because later ones count.
func (t *table) addMapping(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if yamljson.IsMerge(n.Content[i]) {
			for _, source := range slices.Backward(yamljson.Merged(n.Content[i+1])) {
				t.addMapping(yamljson.Target(source))
			}
			continue
		}
		name, _ := yamljson.Key(n.Content[i])
		t.add(member{name: name, keyNode: n.Content[i], valueNode: n.Content[i+1]})
	}
}

// Children yields the members of a JSON object by key, or the elements of a list by index. A value is valid until the
// next one.
func Children(raw jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewBuffer(raw), Lenient)
		begin, err := d.ReadToken()
		for i := 0; err == nil && d.PeekKind() != jsontext.KindEndObject && d.PeekKind() != jsontext.KindEndArray; i++ {
			key := strconv.Itoa(i)
			if begin.Kind() == jsontext.KindBeginObject {
				name, _ := d.ReadToken()
				key = name.String()
			}
			var value jsontext.Value
			if value, err = d.ReadValue(); err != nil || !yield(key, value) {
				return
			}
		}
	}
}
