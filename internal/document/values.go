package document

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// A Value is the position of a value in a document.
type Value struct {
	Key   Place // start of its key; start of the value in lists and for the whole document
	Place Place // start of the value
	Found bool  // false if there is no such value; the places are of the nearest value around it
}

// Find returns the positions of the values at ptrs in the file, in the order of ptrs. The last of several equal keys
// wins. YAML keys have their JSON names, in which y is "true" and 0x10 is "16". The case of keys does not matter.
//
// The position of a YAML alias is the place of its use; values inside it have their places at its anchor. The position
// of an omitted null is the place of the missing value.
func (d *Document) Find(ptrs ...jsontext.Pointer) []Value {
	f := newFinder(ptrs)
	o := d.origin()
	if o.root != nil {
		at := o.offset(o.root)
		f.inNode(o, &f.root, o.root, at, at)
	} else {
		f.inJSON(o)
	}
	return f.values(o.text, d.Start)
}

// An origin is the text that the JSON of a document was converted from.
type origin struct {
	text   []byte           // that offsets refer to
	json   []byte           // nil if there are nodes
	source *yamljson.Source // of json; nil if that is the text

	root  *yaml.Node // of YAML that is not in block style
	nodes *yamljson.Nodes
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

// A finder looks for several values in one pass.
type finder struct {
	root  wanted
	found []location // of the values, in the order of the pointers
}

// A location is a Value with offsets.
type location struct {
	key, value int
	ok         bool
}

// wanted is a value that is searched for, or that contains such a value.
type wanted struct {
	found    []int // the indices of its locations
	children map[string]*wanted
}

// child returns the wanted value at a key, in any case, or at an index.
func (w *wanted) child(name string) *wanted {
	if child := w.children[name]; child != nil || isIndex(name) {
		return child
	}
	for key, child := range w.children {
		if strings.EqualFold(key, name) {
			return child
		}
	}
	return nil
}

func isIndex(name string) bool { return name != "" && '0' <= name[0] && name[0] <= '9' }

func newFinder(ptrs []jsontext.Pointer) *finder {
	f := &finder{found: make([]location, len(ptrs))}
	for i, ptr := range ptrs {
		w := &f.root
		for token := range ptr.Tokens() {
			child := w.children[token]
			if child == nil {
				if w.children == nil {
					w.children = make(map[string]*wanted)
				}
				child = new(wanted)
				w.children[token] = child
			}
			w = child
		}
		w.found = append(w.found, i)
	}
	return f
}

// at records the position of w, also as the nearest position of the values in it, until they are found.
func (f *finder) at(w *wanted, key, value int) {
	for _, child := range w.children {
		f.around(child, value)
	}
	for _, i := range w.found {
		f.found[i] = location{key, value, true}
	}
}

func (f *finder) around(w *wanted, at int) {
	for _, i := range w.found {
		f.found[i] = location{at, at, false}
	}
	for _, child := range w.children {
		f.around(child, at)
	}
}

// values returns the found values in a text that starts at a place.
func (f *finder) values(text []byte, start Place) []Value {
	offsets := make([]int, 0, 2*len(f.found))
	for _, l := range f.found {
		offsets = append(offsets, l.key, l.value)
	}
	places := placesOf(text, start, offsets)
	values := make([]Value, len(f.found))
	for i, l := range f.found {
		values[i] = Value{places[2*i], places[2*i+1], l.ok}
	}
	return values
}

func (f *finder) inJSON(o *origin) {
	r := newReader(o.json)
	if at, ok := r.next(); ok {
		f.inValue(r, &f.root, o, at, at)
	}
}

// inValue reads the next value, w. It reports false if the rest of the text cannot be read.
func (f *finder) inValue(r reader, w *wanted, o *origin, key, value int) bool {
	f.at(w, o.at(key), o.at(value))
	kind := r.PeekKind()
	if len(w.children) == 0 || kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray {
		return r.SkipValue() == nil
	}
	if _, err := r.ReadToken(); err != nil {
		return false
	}
	for i := 0; ; i++ {
		key, value, name, ok := r.child(kind, i)
		if !ok {
			break
		}
		if child := w.child(name); child == nil {
			ok = r.SkipValue() == nil
		} else {
			ok = f.inValue(r, child, o, key, value)
		}
		if !ok {
			return false
		}
	}
	_, err := r.ReadToken()
	return err == nil
}

// A reader is a decoder with the offset of the next value.
type reader struct {
	*jsontext.Decoder
	text []byte
}

func newReader(text []byte) reader {
	return reader{jsontext.NewDecoder(bytes.NewBuffer(text), Lenient), text}
}

// next returns the offset of the next key or value. It reports false at the end of a container and before an error.
func (r reader) next() (int, bool) {
	switch r.PeekKind() {
	case jsontext.KindInvalid, jsontext.KindEndObject, jsontext.KindEndArray:
		return 0, false
	}
	at := int(r.InputOffset())
	for bytes.IndexByte([]byte(space+",:"), r.text[at]) >= 0 {
		at++
	}
	return at, true
}

// child goes to the value of the next member of an object, or to the element of an array with index i.
func (r reader) child(kind jsontext.Kind, i int) (key, value int, name string, ok bool) {
	key, ok = r.next()
	if !ok || kind == jsontext.KindBeginArray {
		return key, key, strconv.Itoa(i), ok
	}
	token, err := r.ReadToken()
	if err != nil {
		return 0, 0, "", false
	}
	name = token.String()
	value, ok = r.next()
	return key, value, name, ok
}

// inNode searches a node, w.
func (f *finder) inNode(o *origin, w *wanted, n *yaml.Node, key, value int) {
	f.at(w, key, value)
	if len(w.children) == 0 {
		return
	}
	n = yamljson.Target(n)
	if n.Kind == yaml.MappingNode {
		f.inMapping(o, w, n)
		return
	}
	for i, element := range n.Content {
		if child := w.children[strconv.Itoa(i)]; child != nil {
			at := o.offset(element)
			f.inNode(o, child, element, at, at)
		}
	}
}

// inMapping searches the members of a mapping in the order in which upstream sets them, because later ones count.
func (f *finder) inMapping(o *origin, w *wanted, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if yamljson.IsMerge(n.Content[i]) {
			for _, source := range slices.Backward(yamljson.Merged(n.Content[i+1])) {
				f.inMapping(o, w, yamljson.Target(source))
			}
			continue
		}
		key, _ := yamljson.Key(n.Content[i])
		if child := w.child(key); child != nil {
			f.inNode(o, child, n.Content[i+1], o.offset(n.Content[i]), o.offset(n.Content[i+1]))
		}
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
