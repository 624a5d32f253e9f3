package store

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Most of a large catalog is olm.csv.metadata, and most of that is text that comes out as it went in; only the order of
// keys differs. So it is not decoded and encoded but rearranged. What is unusual in any way, right or wrong, is left to
// decoding: a value of another type, null, a key in another spelling.

// A shape is the JSON of a Go type, as [declcfg.CSVMetadata] is made of.
type shape struct {
	kind   shapeKind
	fields []shapeField // of an object, in the order in which they are written
	elem   *shape       // of a list
}

type shapeKind int

const (
	shapeString shapeKind = iota
	shapeBool
	shapeNumber
	shapeObject
	shapeList
	shapeMap   // of strings
	shapeValue // any JSON
)

type shapeField struct {
	name  string
	shape *shape
	omit  bool // where it is empty
}

var metadataShape = shapeOf(reflect.TypeFor[declcfg.CSVMetadata]())

// shapeOf covers the types that a CSVMetadata is made of.
func shapeOf(t reflect.Type) *shape {
	switch {
	case t == reflect.TypeFor[jsontext.Value]():
		return &shape{kind: shapeValue}
	case t.Kind() == reflect.Struct:
		s := &shape{kind: shapeObject}
		for f := range t.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			s.fields = append(s.fields, shapeField{name, shapeOf(f.Type), options != ""})
		}
		return s
	case t.Kind() == reflect.Slice:
		return &shape{kind: shapeList, elem: shapeOf(t.Elem())}
	case t.Kind() == reflect.Map:
		return &shape{kind: shapeMap}
	case t.Kind() == reflect.Bool:
		return &shape{kind: shapeBool}
	case t.Kind() == reflect.String:
		return &shape{kind: shapeString}
	default:
		return &shape{kind: shapeNumber}
	}
}

// field returns the place of a field among those of s, or -1. It returns false for a key that decoding might take for
// one.
func (s *shape) field(key []byte) (int, bool) {
	for i := range s.fields {
		if string(key) == s.fields[i].name {
			return i, true
		}
	}
	if bytes.IndexByte(key, '\\') >= 0 {
		return -1, false
	}
	for i := range s.fields {
		if strings.EqualFold(string(key), s.fields[i].name) {
			return -1, false
		}
	}
	return -1, true
}

// A transcoder rearranges one value.
type transcoder struct {
	src   []byte
	nodes []node
	odd   bool // it has to be decoded
}

// A node is a value in the text. The nodes of an object or a list are followed by those of what is in it.
type node struct {
	start, end int // with quotes and brackets
	next       int // the node behind it and all that is in it
}

var transcoders = make(chan *transcoder, 4)

// newTranscoder returns the nodes of src, which must be valid JSON.
func newTranscoder(src []byte) *transcoder {
	var t *transcoder
	select {
	case t = <-transcoders:
	default:
		t = new(transcoder)
	}
	t.src, t.nodes, t.odd = src, t.nodes[:0], false
	t.scan(0)
	return t
}

// recycle lets others use the memory.
func (t *transcoder) recycle() {
	t.src = nil
	select {
	case transcoders <- t:
	default:
	}
}

// scan enters the value that follows at, and returns where it ends.
func (t *transcoder) scan(at int) int {
	at = t.skipSpace(at)
	n := len(t.nodes)
	t.nodes = append(t.nodes, node{start: at})
	switch t.src[at] {
	case '{', '[':
		at = t.skipSpace(at + 1)
		for t.src[at] != '}' && t.src[at] != ']' {
			at = t.skipSpace(t.scan(at))
			if t.src[at] == ',' || t.src[at] == ':' {
				at = t.skipSpace(at + 1)
			}
		}
		at++
	case '"':
		at = stringEnd(t.src, at+1)
	default:
		for at < len(t.src) && strings.IndexByte(",]} \t\r\n", t.src[at]) < 0 {
			at++
		}
	}
	t.nodes[n].end, t.nodes[n].next = at, len(t.nodes)
	return at
}

func (t *transcoder) skipSpace(at int) int {
	for at < len(t.src) && (t.src[at] == ' ' || t.src[at] == '\n' || t.src[at] == '\t' || t.src[at] == '\r') {
		at++
	}
	return at
}

// stringEnd returns the place behind the quote that ends the string whose text begins at.
func stringEnd(src []byte, at int) int {
	for {
		at += bytes.IndexByte(src[at:], '"')
		escapes := 0
		for src[at-1-escapes] == '\\' {
			escapes++
		}
		at++
		if escapes%2 == 0 {
			return at
		}
	}
}

// members returns the node of the value of each field of object n, and 0 for those that are not there.
func (t *transcoder) members(n int, s *shape, into []int) []int {
	into = append(into[:0], make([]int, len(s.fields))...)
	if t.src[t.nodes[n].start] != '{' {
		t.odd = true
		return into
	}
	for i := n + 1; i < t.nodes[n].next; i = t.nodes[i+1].next {
		key := t.nodes[i]
		f, ok := s.field(t.src[key.start+1 : key.end-1])
		switch {
		case !ok:
			t.odd = true
		case f >= 0:
			into[f] = i + 1
		}
	}
	return into
}

// append appends node n in its shape.
func (t *transcoder) append(dst []byte, n int, s *shape) []byte {
	text := t.src[t.nodes[n].start:t.nodes[n].end]
	switch s.kind {
	case shapeString:
		return t.string(dst, text)
	case shapeObject:
		return t.object(dst, n, s)
	case shapeList:
		return t.list(dst, n, s)
	case shapeMap:
		return t.texts(dst, n)
	case shapeValue:
		t.odd = t.odd || text[0] == 'n'
		return escapeHTML(dst, format.AppendCompact(nil, text))
	case shapeBool:
		t.odd = t.odd || text[0] != 't' && text[0] != 'f'
	default:
		t.odd = t.odd || len(text) > 9 || bytes.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	}
	return append(dst, text...)
}

// isEmpty tells whether node n is left out where empty values are.
func (t *transcoder) isEmpty(n int, s *shape) bool {
	v := t.nodes[n]
	text := t.src[v.start:v.end]
	switch s.kind {
	case shapeString:
		return string(text) == `""`
	case shapeNumber:
		return string(text) == "0"
	case shapeBool:
		return string(text) == "false"
	case shapeList:
		return text[0] == '[' && v.next == n+1
	case shapeMap:
		return text[0] == '{' && v.next == n+1
	default:
		return false
	}
}

func (t *transcoder) object(dst []byte, n int, s *shape) []byte {
	var room [16]int
	members := t.members(n, s, room[:])
	dst = append(dst, '{')
	from := len(dst)
	for i, f := range s.fields {
		dst = t.member(dst, f, members[i], len(dst) > from)
	}
	return append(dst, '}')
}

// member appends a field with the value of node n, 0 for none.
func (t *transcoder) member(dst []byte, f shapeField, n int, comma bool) []byte {
	if f.omit && (n == 0 || t.isEmpty(n, f.shape)) {
		return dst
	}
	if comma {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, f.name...)
	dst = append(dst, '"', ':')
	if n == 0 {
		return append(dst, zero(f.shape)...)
	}
	return t.append(dst, n, f.shape)
}

// zero returns how a field is written that is not there and not left out.
func zero(s *shape) string {
	switch s.kind {
	case shapeString:
		return `""`
	case shapeBool:
		return "false"
	case shapeNumber:
		return "0"
	case shapeObject: // all fields of which are left out, as those of the objects that may be missing are
		return "{}"
	default:
		return "null"
	}
}

func (t *transcoder) list(dst []byte, n int, s *shape) []byte {
	if t.src[t.nodes[n].start] != '[' {
		t.odd = true
		return dst
	}
	dst = append(dst, '[')
	for i := n + 1; i < t.nodes[n].next; i = t.nodes[i].next {
		if i > n+1 {
			dst = append(dst, ',')
		}
		dst = t.append(dst, i, s.elem)
	}
	return append(dst, ']')
}

// texts appends an object with strings, whose keys are sorted already.
func (t *transcoder) texts(dst []byte, n int) []byte {
	if t.src[t.nodes[n].start] != '{' {
		t.odd = true
		return dst
	}
	dst = append(dst, '{')
	var last []byte
	for i := n + 1; i < t.nodes[n].next; i += 2 {
		key := t.src[t.nodes[i].start:t.nodes[i].end]
		if last != nil && bytes.Compare(last[:len(last)-1], key[:len(key)-1]) >= 0 || bytes.IndexByte(key, '\\') >= 0 {
			t.odd = true
			return dst
		}
		if last != nil {
			dst = append(dst, ',')
		}
		last = key
		dst = t.string(dst, key)
		dst = append(dst, ':')
		v := t.nodes[i+1]
		if v.next != i+2 {
			t.odd = true
			return dst
		}
		dst = t.string(dst, t.src[v.start:v.end])
	}
	return append(dst, '}')
}

// plain tells of every byte whether it is written as it is read.
var plain = func() (is [256]bool) {
	for i := range is {
		is[i] = !slices.Contains([]byte{'\\', '<', '>', '&', 0xe2}, byte(i)) // 0xe2 begins U+2028 and U+2029
	}
	return is
}()

// string appends a string as encoding/json writes it.
func (t *transcoder) string(dst, text []byte) []byte {
	if text[0] != '"' {
		t.odd = true
		return dst
	}
	start, from := len(dst), 0
	for i := 1; i < len(text)-1; i++ {
		switch c := text[i]; {
		case plain[c], c == 0xe2 && !isLineSeparator(text[i:]):
		case c == '\\' && strings.IndexByte(`nrt"\`, text[i+1]) >= 0:
			i++
		case c == '\\' && isEscapedForHTML(text[i:]):
			i += len(`\u0026`) - 1
		case c == '\\' || c == 0xe2:
			unquoted, _ := jsontext.AppendUnquote(nil, text) // fails on what is no UTF-8 only, which it replaces
			return appendText(dst[:start], string(unquoted))
		default:
			dst = appendEscape(append(dst, text[from:i]...), c)
			from = i + 1
		}
	}
	return append(dst, text[from:]...)
}

func isLineSeparator(text []byte) bool {
	return len(text) > 2 && text[1] == 0x80 && (text[2] == 0xa8 || text[2] == 0xa9)
}

// isEscapedForHTML tells whether text begins with an escape as encoding/json writes it.
func isEscapedForHTML(text []byte) bool {
	if len(text) < len(`\u0026`) {
		return false
	}
	switch string(text[:len(`\u0026`)]) {
	case `\u003c`, `\u003e`, `\u0026`:
		return true
	}
	return false
}

// appendText appends a string as encoding/json writes it.
func appendText(dst []byte, s string) []byte {
	from := len(dst)
	dst = format.AppendString(dst, s)
	if !bytes.ContainsAny(dst[from:], "<>&") {
		return dst
	}
	return escapeHTML(dst[:from], bytes.Clone(dst[from:]))
}

// appendEscape appends a character as encoding/json escapes it for HTML.
func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// escapeHTML appends JSON text, in which the characters that HTML gives a meaning stand in strings only.
func escapeHTML(dst, text []byte) []byte {
	for _, c := range text {
		if c == '<' || c == '>' || c == '&' {
			dst = appendEscape(dst, c)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}
