package format

const jsonIndent = 4

// A jsonWriter appends the values of doc to dst.
type jsonWriter struct {
	doc     *Document
	dst     []byte
	compact bool
}

// value appends node i, at a depth of depth levels.
func (w *jsonWriter) value(i, depth int) {
	switch w.doc.nodes[i].kind {
	case objectKind, arrayKind:
		w.collection(i, depth)
	case stringKind:
		w.string(i)
	case numberKind:
		w.number(i)
	case givenKind:
		w.value(w.doc.nodes[i].start, depth)
	default:
		w.dst = append(w.dst, w.doc.raw(i)...)
	}
}

func (w *jsonWriter) collection(i, depth int) {
	isObject := w.doc.nodes[i].kind == objectKind
	switch {
	case w.doc.empty(i) && isObject:
		w.dst = append(w.dst, "{}"...)
	case w.doc.empty(i):
		w.dst = append(w.dst, "[]"...)
	case depth >= MaxIndented && !w.compact:
		w.dst = w.doc.AppendCompact(w.dst, i) // without white space, because of the indentation
	case isObject:
		w.object(i, depth)
	default:
		w.array(i, depth)
	}
}

func (w *jsonWriter) object(i, depth int) {
	base := w.doc.pushMembers(i, false)
	w.dst = append(w.dst, '{')
	for m, end := base, len(w.doc.members); m < end; m++ {
		if m > base {
			w.dst = append(w.dst, ',')
		}
		w.line(depth + 1)
		key := w.doc.members[m].node
		w.string(key)
		w.colon()
		w.value(key+1, depth+1)
	}
	w.doc.popMembers(base)
	w.line(depth)
	w.dst = append(w.dst, '}')
}

func (w *jsonWriter) array(i, depth int) {
	w.dst = append(w.dst, '[')
	for k := i + 1; k < int(w.doc.nodes[i].next); k = w.doc.next(k) {
		if k > i+1 {
			w.dst = append(w.dst, ',')
		}
		w.line(depth + 1)
		w.value(k, depth+1)
	}
	w.line(depth)
	w.dst = append(w.dst, ']')
}

func (w *jsonWriter) number(i int) {
	if w.doc.nodes[i].ordered {
		w.dst = append(w.dst, w.doc.raw(i)...)
		return
	}
	w.dst = appendNumber(w.dst, w.doc.raw(i))
}

func (w *jsonWriter) string(i int) {
	n := w.doc.nodes[i]
	if !n.irregular || n.ordered {
		w.dst = append(w.dst, w.doc.raw(i)...)
		return
	}
	w.dst = append(w.dst, '"')
	w.dst = appendRegular(w.dst, w.doc.body(i))
	w.dst = append(w.dst, '"')
}

func (w *jsonWriter) colon() {
	if w.compact {
		w.dst = append(w.dst, ':')
		return
	}
	w.dst = append(w.dst, ": "...)
}

// line begins a line at a depth of depth levels.
func (w *jsonWriter) line(depth int) {
	if w.compact {
		return
	}
	w.dst = append(w.dst, '\n')
	w.dst = appendSpaces(w.dst, depth*jsonIndent)
}

const spaces = "                                                                "

func appendSpaces(dst []byte, n int) []byte {
	for ; n > len(spaces); n -= len(spaces) {
		dst = append(dst, spaces...)
	}
	return append(dst, spaces[:n]...)
}
