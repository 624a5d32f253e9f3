package position

import (
	"bytes"
	"iter"
)

// Block returns the places of a document of which yamljson.Convert reports that it is in block style. They are those
// that [YAML] gives, at hardly any cost: it skips lines by their indentation and reads only what is asked for.
//
// In any other document places may be wrong or missing, but lie inside of it.
func Block(doc []byte) *Document {
	d := &Document{text: newText(doc)}
	text := blockText(d.text.bytes)
	root, ok := text.root()
	if !ok {
		return d
	}
	d.root = node{newTree(text.container), root}
	d.dupes = func(yield func(repetition)) { text.repetitions(root, "", blockDepth, yield) }
	return d
}

// A blockText is a document in block style: mappings and lists of scalars, without brackets that hold anything, anchors
// or tags.
//
// All lines of a scalar stand further right than the mapping or list that holds it. So of the lines below the start of
// a mapping those at its own column begin with its keys, or with the dashes of a list that stands as far left as its
// key; the first one further left ends it. Blank lines and comments may stand anywhere.
type blockText []byte

// root returns where the value of the document starts.
func (t blockText) root() (at int, ok bool) {
	line := 0
	if bytes.HasPrefix(t, []byte("---")) && t.isGap(3) {
		line = t.nextLine(3)
	}
	at, column := t.content(line, len(t))
	return at, column >= 0
}

func (t blockText) container(at int) container {
	var c container
	if t.isDash(at) {
		for element := range t.elements(at) {
			c.elements = append(c.elements, element)
		}
		return c
	}
	for key, m := range t.members(at) {
		if c.members == nil {
			c.members = make(map[string]member)
		}
		c.members[key] = m
	}
	return c
}

// members yields the keys, as they are in JSON, and the places of the mapping at an offset, in the order of the text.
// In a scalar there are none.
func (t blockText) members(at int) iter.Seq2[string, member] {
	return func(yield func(string, member) bool) {
		column := t.column(at)
		for c := column; c == column; at, c = t.next(at, column) {
			if t.isDash(at) {
				continue
			}
			colon := t.colon(at)
			if colon < 0 {
				return
			}
			key, ok := blockKey(t[at:colon])
			if ok && !yield(key, member{at, t.value(colon, column)}) {
				return
			}
		}
	}
}

// elements yields where those of the list at an offset start.
func (t blockText) elements(at int) iter.Seq[int] {
	return func(yield func(int) bool) {
		column := t.column(at)
		for c := column; c == column && t.isDash(at); at, c = t.next(at, column) {
			if !yield(t.value(at, column)) {
				return
			}
		}
	}
}

// value returns where the value behind a colon or dash starts, in the mapping or list at a column.
func (t blockText) value(indicator, column int) int {
	missing := indicator + 1
	at := missing
	for at < len(t) && t[at] == ' ' {
		at++
	}
	if !t.isBlank(at) {
		return at
	}
	at, c := t.next(at, len(t))
	if c > column || c == column && t[indicator] == ':' && t.isDash(at) {
		return at
	}
	return missing
}

// blockKey returns what a key is called in JSON.
func blockKey(key []byte) (string, bool) {
	if isQuote(key[0]) {
		return string(key[1 : len(key)-1]), true
	}
	return plainKey(string(bytes.TrimRight(key, " ")))
}
