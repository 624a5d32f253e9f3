package edit

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A splice replaces the bytes between two offsets.
type splice struct {
	from, to int
	by       string
}

// A source is the text that splices are made for, in YAML or JSON.
type source struct {
	bytes []byte
	yaml  bool
}

// insertElement puts an element into the list at the end of a path, behind the one with index i, in its style.
func (d source) insertElement(path []*node, i int, v jsontext.Value) (splice, error) {
	n := path[len(path)-1]
	if n.kind != list {
		return splice{}, &placeError{n.from, "it is not a list"}
	}
	if len(n.children) == 0 {
		by, err := style{yaml: d.yaml, flow: true, unit: defaultUnit}.append([]byte("["), v)
		return splice{n.from, n.to, string(by) + "]"}, err
	}
	neighbour := n.children[i]
	s := d.styleOf(path, neighbour)
	if n.flow {
		by, err := s.append([]byte(","+d.gapBefore(path, i)), v)
		return splice{neighbour.to, neighbour.to, string(by)}, err
	}
	indent, err := d.indentOf(neighbour)
	if err != nil {
		return splice{}, err
	}
	dash := "- "
	if gap := d.bytes[neighbour.start+1 : neighbour.from]; strings.Trim(string(gap), " ") == "" {
		dash = "-" + string(gap)
	}
	s.indent = indent + strings.Repeat(" ", len(dash))
	by, err := s.append([]byte(indent+dash), v)
	at := lineEnd(d.bytes, neighbour.to)
	if i == len(n.children)-1 && neighbour.column > n.column {
		at = d.behindComments(at, indent)
	}
	if i > 0 && d.isBlankBefore(neighbour) {
		by = append([]byte("\n"), by...)
	}
	return d.wholeLines(at, by), err
}

// insertMember puts a member behind the others of the object at the end of a path.
func (d source) insertMember(path []*node, name string, v jsontext.Value) (splice, error) {
	n := path[len(path)-1]
	if n.kind != object || len(n.children) == 0 {
		return splice{}, &placeError{n.from, "it is not an object with keys"}
	}
	last := n.last()
	s := d.styleOf(path, last)
	if !n.flow {
		s.flow, s.quote, s.indent = false, 0, strings.Repeat(" ", last.column)
		by, err := s.append([]byte(s.indent), joined([]member{{name, v}}))
		return d.wholeLines(lineEnd(d.bytes, last.to), by), err
	}
	key := name
	if d.bytes[last.start] == '"' {
		key = `"` + name + `"`
	}
	colon := ": "
	if s.compact {
		colon = ":"
	}
	s.flow = true
	s.broken = bytes.IndexByte(d.bytes[n.from:last.start], '\n') >= 0
	by, err := s.append([]byte(","+d.gapBefore(path, len(n.children)-1)+key+colon), v)
	return splice{last.to, last.to, string(by)}, err
}

// replaceScalar gives the text at the end of a path another value, in the quotes that it has.
func (d source) replaceScalar(n *node, v jsontext.Value) (splice, error) {
	if n.kind != scalar {
		return splice{}, &placeError{n.from, "it is not a text"}
	}
	s := style{yaml: d.yaml, unit: defaultUnit, quote: n.quote}
	if bytes.Contains(v, []byte(`\n`)) {
		s.quote = '"' // on one line
	}
	var by []byte
	if n.from == n.to { // where not even a blank is needed
		by = append(by, ' ')
	}
	by, err := s.append(by, v)
	return splice{n.from, n.to, string(by)}, err
}

// removeChildren removes the children of n with these indices, which are sorted.
func (d source) removeChildren(n *node, indices ...int) (all splice, err error) {
	if !n.flow && len(indices) == len(n.children) {
		return splice{}, &placeError{n.from, "nothing would be left in it"}
	}
	for k, i := range indices {
		s, err := d.removal(n, i, i == k)
		if err != nil {
			return splice{}, err
		}
		if k == 0 {
			all = s
			continue
		}
		all.by += string(d.bytes[all.to:max(s.from, all.to)]) // stays
		all.to = s.to
	}
	return all, nil
}

// removal removes the child of n with index i, and its lines if it is in block style. Comments between its lines go
// with it, others stay. First says that all children before it are removed too.
func (d source) removal(n *node, i int, first bool) (splice, error) {
	child, isLast := n.children[i], i == len(n.children)-1
	switch _, err := d.indentOf(child); {
	case n.flow && !first:
		return splice{from: n.children[i-1].to, to: child.to}, nil
	case n.flow && isLast:
		return splice{from: child.start, to: child.to}, nil
	case n.flow:
		return splice{from: child.start, to: n.children[i+1].start}, nil
	case err == nil:
	case first && !isLast && bytes.IndexByte(d.bytes[child.to:n.children[i+1].start], '#') < 0:
		return splice{from: child.start, to: n.children[i+1].start}, nil // which gets the dash in its line
	default:
		return splice{}, err
	}
	from, to := lineStart(d.bytes, child.start), lineEnd(d.bytes, child.to)
	if i > 0 {
		from = d.beforeBlank(n.children[i-1].to, from)
	} else {
		to = d.behindBlank(to)
	}
	if to == len(d.bytes) && d.bytes[to-1] != '\n' { // the end of the text, which has no line break
		from = len(bytes.TrimSuffix(bytes.TrimSuffix(d.bytes[:from], []byte("\n")), []byte("\r")))
	}
	return splice{from: from, to: to}, nil
}

// wholeLines inserts lines, of which the last has no line break, where a line starts or at the end of the text.
func (d source) wholeLines(at int, lines []byte) splice {
	by := string(lines) + "\n"
	if at > 0 && d.bytes[at-1] != '\n' {
		by = "\n" + string(lines)
	}
	if bytes.Contains(d.bytes, []byte("\r\n")) {
		by = strings.ReplaceAll(by, "\n", "\r\n")
	}
	return splice{at, at, by}
}

// indentOf returns what is before a node in its line, which must be blanks only.
func (d source) indentOf(n *node) (string, error) {
	before := string(d.bytes[lineStart(d.bytes, n.start):n.start])
	if strings.TrimLeft(before, " ") != "" {
		return "", &placeError{n.start, "it shares a line with other values"}
	}
	return before, nil
}

// behindComments returns what is behind the lines at an offset that hold a comment with at least this indent: they
// belong to what is before them.
func (d source) behindComments(at int, indent string) int {
	for at < len(d.bytes) && bytes.HasPrefix(d.bytes[at:], []byte(indent)) {
		end := lineEnd(d.bytes, at)
		if rest := bytes.TrimSpace(d.bytes[at:end]); len(rest) == 0 || rest[0] != '#' {
			break
		}
		at = end
	}
	return at
}

// isBlankBefore reports whether the line before a node is empty.
func (d source) isBlankBefore(n *node) bool {
	at := lineStart(d.bytes, n.start)
	return at > 0 && isBlank(d.bytes[lineStart(d.bytes, at-1):at])
}

// beforeBlank returns where the empty lines before an offset start, down to another offset.
func (d source) beforeBlank(down, at int) int {
	for start := lineStart(d.bytes, at-1); start > down && isBlank(d.bytes[start:at]); {
		at, start = start, lineStart(d.bytes, start-1)
	}
	return at
}

// behindBlank returns where the first line starts, from an offset on, that is not empty.
func (d source) behindBlank(at int) int {
	for at < len(d.bytes) && isBlank(d.bytes[at:lineEnd(d.bytes, at)]) {
		at = lineEnd(d.bytes, at)
	}
	return at
}

func isBlank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// gapBefore returns the blanks before the children of the value in brackets at the end of a path, as they are before
// the one with index i.
func (d source) gapBefore(path []*node, i int) string {
	n := path[len(path)-1]
	before := d.bytes[n.from+1 : n.children[i].start]
	if i > 0 {
		before = d.bytes[n.children[i-1].to:n.children[i].start]
	}
	blanks := string(before[len(bytes.TrimRight(before, " \t\r\n")):])
	if i == 0 && blanks == "" && !d.isCompact(path[0]) {
		return " "
	}
	return blanks
}
