package format

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// These methods build a value that is printed instead of the parsed one: an object or list, and then its content in
// order. In an object, keys and values alternate.

// OpenObject begins an object. JSON output has its keys in the order in which they are added.
func (d *Document) OpenObject() { d.begin(objectKind) }

// OpenList begins a list.
func (d *Document) OpenList() { d.begin(arrayKind) }

func (d *Document) begin(k kind) {
	if len(d.open) == 0 {
		d.root = len(d.nodes)
	}
	d.open = append(d.open, len(d.nodes))
	d.nodes = append(d.nodes, node{kind: k, ordered: true})
}

// Close ends the innermost object or list.
func (d *Document) Close() {
	last := len(d.open) - 1
	d.nodes[d.open[last]].next = uint32(len(d.nodes))
	d.open = d.open[:last]
}

// String adds a string or a key.
func (d *Document) String(s string) {
	start := len(d.src)
	d.src = AppendString(d.src, s)
	d.scan(start)
}

// Null adds null.
func (d *Document) Null() { d.add(nil) }

// Value adds v, which is scanned unless [Document.Raw] returned it. An empty v is null. If ordered is set, JSON output
// keeps the order of its keys.
func (d *Document) Value(v jsontext.Value, ordered bool) {
	first := len(d.nodes)
	switch i := d.find(v); {
	case i < 0:
		d.add(v)
	case !ordered:
		d.nodes = append(d.nodes, node{kind: givenKind, start: i})
	default:
		d.copy(i)
	}
	if ordered {
		for i := range d.nodes[first:] {
			d.nodes[first+i].ordered = true
		}
	}
}

// AddMembers adds the members of object, sorted.
func (d *Document) AddMembers(object jsontext.Value) {
	from := Parse(object)
	defer from.Release()
	base := from.pushMembers(0, false)
	for _, m := range from.members[base:] {
		d.add(from.raw(m.node))
		d.add(from.raw(m.node + 1))
	}
	from.popMembers(base)
}

func (d *Document) add(v []byte) {
	start := len(d.src)
	d.src = append(d.src, v...)
	d.scan(start)
}

// find returns the value whose text is v, or -1. Nearly all values are added in the order in which Raw returned them.
func (d *Document) find(v []byte) int {
	isText := func(i int) bool {
		n := d.nodes[i]
		return n.end-n.start == len(v) && &d.text[n.start] == &v[0]
	}
	k := slices.IndexFunc(d.given[d.found:], isText)
	if k >= 0 {
		k += d.found
	} else if k = slices.IndexFunc(d.given[:d.found], isText); k < 0 {
		return -1
	}
	d.found = k + 1
	return d.given[k]
}

func (d *Document) copy(i int) {
	moved := uint32(len(d.nodes) - i)
	for _, n := range d.nodes[i:d.next(i)] {
		if n.kind >= arrayKind {
			n.next += moved
		}
		d.nodes = append(d.nodes, n)
	}
}

// AppendJSON appends the built value or, without one, the parsed value, as [AppendJSON] prints it.
func (d *Document) AppendJSON(dst []byte) []byte {
	w := jsonWriter{doc: d, dst: dst}
	w.value(d.root, 0)
	return w.dst
}

// AppendYAML appends the built value or, without one, the parsed value, as [AppendYAML] prints it.
func (d *Document) AppendYAML(dst []byte) []byte {
	w := yamlWriter{doc: d, dst: dst, line: len(dst)}
	w.document()
	return w.dst
}
