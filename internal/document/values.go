package document

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/skim"
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

	root *syntax.Node // of YAML that is not in block style

	values   map[int]*table          // by the offset of an object or a list in the JSON
	mappings map[*syntax.Node]*table // by mapping
	scanned  int                     // the number of bytes of JSON that were read for tables
	marks    []mark                  // places in the text; see [origin.place]
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
	text = trimMark(text)
	root, _ := syntax.Outline(text) // nil if only upstream reads it, yaml/v4 does not
	return &origin{text: text, root: root}
}

// at returns the offset in the text of one in the JSON.
func (o *origin) at(offset int) int {
	if o.source == nil {
		return offset
	}
	return o.source.Offset(offset)
}

func trimMark(text []byte) []byte { return bytes.TrimPrefix(text, byteOrderMark) }

// A location is a Value with offsets.
type location struct {
	key, value int
	ok         bool
}

// find returns the location of the value at ptr in the text.
func (o *origin) find(ptr jsontext.Pointer) location {
	at, ok := o.start()
	if !ok {
		return location{}
	}
	path := slices.Collect(ptr.Tokens())
	for i := range path {
		child, ok := o.children(at, path[i:]).find(path[i])
		if !ok {
			return location{o.at(at.value), o.at(at.value), false}
		}
		at = child
	}
	return location{o.at(at.key), o.at(at.value), true}
}

// start returns the whole document. It reports false if it cannot be read.
func (o *origin) start() (member, bool) {
	if o.root != nil {
		return memberOf(o.root), true
	}
	at, ok := syntax.NewJSONReader(o.json).Next()
	return member{key: at, value: at}, ok
}

// children returns the table of a value on the way to the value at path, which starts there.
func (o *origin) children(m member, path []string) *table {
	if m.node != nil {
		return o.childrenOf(m.node.Target())
	}
	if o.values[m.value] == nil {
		r := syntax.NewJSONReader(o.json[m.value:])
		o.read(r, m.value, path)
		o.scanned += int(r.InputOffset())
	}
	return o.values[m.value]
}

func (o *origin) childrenOf(n *syntax.Node) *table {
	if n.Kind != syntax.Object {
		return &table{nodes: n.Children}
	}
	t := o.mappings[n]
	if t == nil {
		t = new(table)
		if o.mappings == nil {
			o.mappings = make(map[*syntax.Node]*table)
		}
		o.mappings[n] = t
		for _, c := range n.Members() {
			t.add(memberOf(c))
		}
	}
	return t
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
	elements []int          // offsets in the JSON: a node for each element of a long list would take much memory
	nodes    []*syntax.Node // elements of YAML that is not in block style

	members []member
	byName  map[string]int // the index of the last member with a name
	folded  map[string]int // the same for names without case; nil until it is needed
}

// A member is a member of an object or an element of a list, with offsets in the JSON or, with a node, in the text.
type member struct {
	name       string
	key, value int
	node       *syntax.Node
}

func memberOf(n *syntax.Node) member { return member{n.Name, n.Start, n.From, n} }

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
	if n, ok := element(t.nodes, token); ok {
		return memberOf(n), true
	}
	i, ok := t.byName[token]
	if !ok && !isIndex(token) {
		if t.folded == nil {
			t.folded = make(map[string]int)
			for i, m := range t.members {
				t.folded[skim.Fold(m.name)] = i
			}
		}
		i, ok = t.folded[skim.Fold(token)]
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
