package format

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/pool"
	"github.com/opm-toolchain/opm/internal/skim"
)

// A Document is a JSON text with a flat index of its values. The text is scanned once, to visit the members of an
// object in any order without scanning their values again, and to print the text, alone or as a part of a built value.
//
// Values are identified by numbers; 0 is the whole text.
type Document struct {
	text    []byte // that was parsed
	src     []byte // text, and then the added values
	nodes   []node
	members []member // of the objects being written, of the outermost object first
	keys    []byte   // the text of keys that have escapes
	scratch []byte   // the text of the one string being written

	root  int   // of the printed value
	open  []int // the objects and lists that are being built
	given []int // the values that Raw returned
	found int   // start of the search for the next of them: after the one that was added last
}

// A node is one value, or the key of a member. The nodes inside an array or object follow it directly; in an object,
// keys and values alternate.
type node struct {
	start, end int    // in src, quotes and brackets included; meaningless for an array or object that was built
	next       uint32 // of an array or object, the node after it; there are never as many as it can count
	kind       kind
	escaped    bool // a string with a backslash
	irregular  bool // a string that JSON output cannot copy unchanged
	ordered    bool // JSON output keeps the order of keys, and the spelling of strings and numbers
}

type kind uint8

const (
	numberKind  kind = iota
	literalKind      // null, true, false
	stringKind
	givenKind // the node at start, which Raw returned
	arrayKind
	objectKind
)

// maxPooledNodes limits the index that is kept for the next document, 1.5 MB.
const maxPooledNodes = 1 << 16

// maxPooledText limits the text that is kept for the next document.
const maxPooledText = 4 << 20

var documents = pool.New(4, func() *Document { return new(Document) }, (*Document).recycle)

// Parse indexes v, which the document uses until Release. Values that are added to the document are appended to v, in
// its memory if there is room.
func Parse(v jsontext.Value) *Document {
	d := documents.Get()
	d.text, d.src = v, v
	if c := skim.New(v); c.Kind() == 0 {
		d.src = nil // the null in its place must not overwrite what follows v in memory
	}
	d.scan(0)
	return d
}

// New returns a document without text, to build a value.
func New() *Document { return documents.Get() }

// Release ends the use of d, and keeps its memory for the next document.
func (d *Document) Release() { documents.Put(d) }

// Reset makes d a document without text. Values that Raw returned are scanned again when they are added.
func (d *Document) Reset() {
	d.text, d.src, d.root, d.found = nil, nil, 0, 0
	d.nodes, d.keys, d.open, d.given = d.nodes[:0], d.keys[:0], d.open[:0], d.given[:0]
}

func (d *Document) recycle() (*Document, bool) {
	d.Reset()
	return d, cap(d.nodes) <= maxPooledNodes && cap(d.scratch) <= maxPooledText && cap(d.keys) <= maxPooledText
}

// next returns the node after node i and its content.
func (d *Document) next(i int) int {
	if d.nodes[i].kind >= arrayKind {
		return int(d.nodes[i].next)
	}
	return i + 1
}

// empty reports whether node i is an empty array or object.
func (d *Document) empty(i int) bool { return d.nodes[i].next == uint32(i+1) }

// raw returns the text of node i, which was not built.
func (d *Document) raw(i int) []byte { return d.src[d.nodes[i].start:d.nodes[i].end] }

// Members yields the keys and the values of value i if it is an object. A key is valid until the document changes.
func (d *Document) Members(i int) iter.Seq2[[]byte, int] {
	return func(yield func([]byte, int) bool) {
		for k := range d.inside(i, objectKind) {
			if !yield(d.key(k), k+1) {
				return
			}
		}
	}
}

// Elements yields the elements of value i if it is a list.
func (d *Document) Elements(i int) iter.Seq[int] { return d.inside(i, arrayKind) }

// IsObject reports whether value i is an object.
func (d *Document) IsObject(i int) bool { return d.nodes[i].kind == objectKind }

// IsList reports whether value i is a list.
func (d *Document) IsList(i int) bool { return d.nodes[i].kind == arrayKind }

// Kind returns the first byte of value i of the text.
func (d *Document) Kind(i int) byte { return d.src[d.nodes[i].start] }

// IsEmpty reports whether value i is an empty string, object or list.
func (d *Document) IsEmpty(i int) bool {
	return d.nodes[i].kind == stringKind && len(d.body(i)) == 0 || d.empty(i)
}

// AppendCompact appends value i as [AppendCompact] prints it.
func (d *Document) AppendCompact(dst []byte, i int) []byte {
	w := jsonWriter{doc: d, dst: dst, compact: true}
	w.value(i, 0)
	return w.dst
}

// inside yields the elements of node i, or the keys of its members, if the node is of that kind.
func (d *Document) inside(i int, of kind) iter.Seq[int] {
	return func(yield func(int) bool) {
		if d.nodes[i].kind != of {
			return
		}
		for k, end := i+1, int(d.nodes[i].next); k < end; {
			if !yield(k) {
				return
			}
			if of == objectKind {
				k++
			}
			k = d.next(k)
		}
	}
}

// Text returns the text of value i. It reports false if that is not a string.
func (d *Document) Text(i int) (string, bool) {
	if d.nodes[i].kind != stringKind {
		return "", false
	}
	return string(d.string(i)), true
}

// Raw returns value i as a part of the text. The caller must not change it.
func (d *Document) Raw(i int) jsontext.Value {
	d.given = append(d.given, i)
	n := d.nodes[i]
	return d.src[n.start:n.end:n.end]
}
