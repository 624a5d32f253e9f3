package edit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

type splice struct {
	from, to int
	by       string
}

// A source is the YAML or JSON text that splices apply to.
type source struct {
	bytes []byte
	yaml  bool
}

// column returns the column of the start of a node, counted from 0.
func (d source) column(n *syntax.Node) int { return syntax.Column(d.bytes, n.Start) }

// insertElement inserts an element after index i into the list at the end of a path, in the style of that neighbour.
func (d source) insertElement(path []*syntax.Node, i int, v jsontext.Value) (splice, error) {
	n := path[len(path)-1]
	if n.Kind != syntax.List {
		return splice{}, &syntax.Error{At: n.From, Msg: "it is not a list"}
	}
	if len(n.Children) == 0 {
		by, err := style{yaml: d.yaml, flow: true, unit: defaultUnit}.append([]byte("["), v)
		return splice{n.From, n.To, string(by) + "]"}, err
	}
	neighbour := n.Children[i]
	s := d.styleOf(path, neighbour)
	if n.Flow {
		by, err := s.append([]byte(","+d.gapBefore(path, i)), v)
		return splice{neighbour.To, neighbour.To, string(by)}, err
	}
	indent, err := d.indentOf(neighbour)
	if err != nil {
		return splice{}, err
	}
	dash := "- "
	if gap := d.bytes[neighbour.Start+1 : neighbour.From]; strings.Trim(string(gap), " ") == "" {
		dash = "-" + string(gap)
	}
	s.indent = indent + strings.Repeat(" ", len(dash))
	by, err := s.append([]byte(indent+dash), v)
	at := syntax.LineEnd(d.bytes, neighbour.To)
	if i == len(n.Children)-1 && d.column(neighbour) > d.column(n) {
		at = d.afterComments(at, indent)
	}
	if i > 0 && d.isBlankBefore(neighbour) {
		by = append([]byte("\n"), by...)
	}
	return d.wholeLines(at, by), err
}

// insertMember adds a member after the others in the object at the end of a path.
func (d source) insertMember(path []*syntax.Node, name string, v jsontext.Value) (splice, error) {
	n := path[len(path)-1]
	if n.Kind != syntax.Object || len(n.Children) == 0 {
		return splice{}, &syntax.Error{At: n.From, Msg: "it is not an object with keys"}
	}
	last := n.Last()
	s := d.styleOf(path, last)
	if !n.Flow {
		s.flow, s.quote, s.indent = false, 0, strings.Repeat(" ", d.column(last))
		by, err := s.append([]byte(s.indent), joined([]member{{name, v}}))
		return d.wholeLines(syntax.LineEnd(d.bytes, last.To), by), err
	}
	key := name
	if d.bytes[last.Start] == '"' {
		key = `"` + name + `"`
	}
	colon := ": "
	if s.compact {
		colon = ":"
	}
	s.flow = true
	s.broken = bytes.IndexByte(d.bytes[n.From:last.Start], '\n') >= 0
	by, err := s.append([]byte(","+d.gapBefore(path, len(n.Children)-1)+key+colon), v)
	return splice{last.To, last.To, string(by)}, err
}

// replaceScalar replaces a scalar, and keeps its quotes.
func (d source) replaceScalar(n *syntax.Node, v jsontext.Value) (splice, error) {
	if n.Kind != syntax.Scalar {
		return splice{}, &syntax.Error{At: n.From, Msg: "it is not a scalar"}
	}
	s := style{yaml: d.yaml, unit: defaultUnit, quote: n.Quote}
	if bytes.Contains(v, []byte(`\n`)) {
		s.quote = '"' // keeps it on one line
	}
	var by []byte
	if n.From == n.To { // an empty value, maybe without a blank before it
		by = append(by, ' ')
	}
	by, err := s.append(by, v)
	return splice{n.From, n.To, string(by)}, err
}

// removeChildren removes the children of n with the given indices, which are sorted.
func (d source) removeChildren(n *syntax.Node, indices ...int) (all splice, err error) {
	if !n.Flow && len(indices) == len(n.Children) {
		return splice{}, &syntax.Error{At: n.From, Msg: "nothing would be left in it"}
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
		all.by += string(d.bytes[all.to:max(s.from, all.to)]) // the text between two removals stays
		all.to = s.to
	}
	return all, nil
}

// removal returns the splice that removes the child of n with index i, and its lines if it is in block style. Comments
// between its lines are removed with it, other comments stay. If first is set, all children before it are also removed.
func (d source) removal(n *syntax.Node, i int, first bool) (splice, error) {
	child, isLast := n.Children[i], i == len(n.Children)-1
	switch _, err := d.indentOf(child); {
	case n.Flow && !first:
		return splice{from: n.Children[i-1].To, to: child.To}, nil
	case n.Flow && isLast:
		return splice{from: child.Start, to: child.To}, nil
	case n.Flow:
		return splice{from: child.Start, to: n.Children[i+1].Start}, nil
	case err == nil:
	case first && !isLast && bytes.IndexByte(d.bytes[child.To:n.Children[i+1].Start], '#') < 0:
		return splice{from: child.Start, to: n.Children[i+1].Start}, nil // the next child moves to the dash
	default:
		return splice{}, err
	}
	from, to := syntax.LineStart(d.bytes, child.Start), syntax.LineEnd(d.bytes, child.To)
	if i > 0 {
		from = d.beforeBlank(n.Children[i-1].To, from)
	} else {
		to = d.afterBlank(to)
	}
	if to == len(d.bytes) && d.bytes[to-1] != '\n' { // the text ends without a line break
		from = len(bytes.TrimSuffix(bytes.TrimSuffix(d.bytes[:from], []byte("\n")), []byte("\r")))
	}
	return splice{from: from, to: to}, nil
}

// wholeLines returns the splice that inserts lines at the start of a line or at the end of the text. The last inserted
// line has no line break.
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

// indentOf returns the blanks before a node in its line. It is an error if the line has anything else before the node.
func (d source) indentOf(n *syntax.Node) (string, error) {
	before := string(d.bytes[syntax.LineStart(d.bytes, n.Start):n.Start])
	if strings.TrimLeft(before, " ") != "" {
		return "", &syntax.Error{At: n.Start, Msg: "it shares a line with other values"}
	}
	return before, nil
}

// afterComments returns the offset after the comment lines at an offset that have at least this indent: such comments
// belong to the value before them.
func (d source) afterComments(at int, indent string) int {
	for at < len(d.bytes) && bytes.HasPrefix(d.bytes[at:], []byte(indent)) {
		end := syntax.LineEnd(d.bytes, at)
		if rest := bytes.TrimSpace(d.bytes[at:end]); len(rest) == 0 || rest[0] != '#' {
			break
		}
		at = end
	}
	return at
}

// isBlankBefore reports whether the line before a node is blank.
func (d source) isBlankBefore(n *syntax.Node) bool {
	at := syntax.LineStart(d.bytes, n.Start)
	return at > 0 && isBlank(d.bytes[syntax.LineStart(d.bytes, at-1):at])
}

// beforeBlank returns the start of the blank lines before an offset, but at least down.
func (d source) beforeBlank(down, at int) int {
	for start := syntax.LineStart(d.bytes, at-1); start > down && isBlank(d.bytes[start:at]); {
		at, start = start, syntax.LineStart(d.bytes, start-1)
	}
	return at
}

// afterBlank returns the start of the first line at or after an offset that is not empty.
func (d source) afterBlank(at int) int {
	for at < len(d.bytes) && isBlank(d.bytes[at:syntax.LineEnd(d.bytes, at)]) {
		at = syntax.LineEnd(d.bytes, at)
	}
	return at
}

func isBlank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// gapBefore returns the white space to write before a new child of the flow value at the end of a path: the same as
// before the child with index i.
func (d source) gapBefore(path []*syntax.Node, i int) string {
	n := path[len(path)-1]
	before := d.bytes[n.From+1 : n.Children[i].Start]
	if i > 0 {
		before = d.bytes[n.Children[i-1].To:n.Children[i].Start]
	}
	blanks := string(before[len(bytes.TrimRight(before, " \t\r\n")):])
	if i == 0 && blanks == "" && !d.isCompact(path[0]) {
		return " "
	}
	return blanks
}

// defaultUnit is the indent of one level if the text does not show another.
const defaultUnit = "  "

// styleOf returns the style of a child of the value at the end of a path.
func (d source) styleOf(path []*syntax.Node, child *syntax.Node) style {
	n := path[len(path)-1]
	s := style{yaml: d.yaml, flow: child.Flow, unit: defaultUnit, compact: d.isCompact(path[0]), quote: child.Quote}
	if d.yaml {
		s.dashed, s.quotes = d.isDashed(path), quotes{}
		s.quotes.collect(d, n, "")
		return s
	}
	s.indent = d.lineIndent(child.Start)
	s.broken = len(child.Children) > 0 && bytes.IndexByte(d.bytes[child.From:child.Children[0].Start], '\n') >= 0
	if unit, ok := strings.CutPrefix(s.indent, d.lineIndent(n.Start)); ok && unit != "" {
		s.unit = unit
	}
	return s
}

// lineIndent returns the blanks at the start of the line that contains an offset.
func (d source) lineIndent(at int) string {
	line := d.bytes[syntax.LineStart(d.bytes, at):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// collect records the quotes of the strings in n by key; the last string of a key wins. key is the key of n or of the
// list around it. Quotes that a string needs are not recorded for its key, because other strings may not need them.
func (q quotes) collect(d source, n *syntax.Node, key string) {
	if n.Name != "" {
		key = strings.ToLower(n.Name)
	}
	if n.Kind == syntax.Scalar {
		if n.Quote == 0 || d.isFree(n) {
			q[key] = n.Quote
		}
		if n.Quote != 0 {
			q[""] = n.Quote
		}
	}
	for _, c := range n.Children {
		q.collect(d, c, key)
	}
}

// isFree reports whether a quoted string would mean the same without quotes.
func (d source) isFree(n *syntax.Node) bool {
	raw, err := yamljson.Append(nil, d.bytes[n.From:n.To])
	if err != nil {
		return false
	}
	text, ok := decoded(raw).(string)
	return ok && isPlain(text)
}

// isDashed reports whether new lists are indented further than their keys, like the list nearest to the end of a path.
func (d source) isDashed(path []*syntax.Node) bool {
	for _, n := range slices.Backward(path) {
		if l := listIn(n); l != nil {
			return d.column(l.Children[0]) > d.column(l)
		}
	}
	return false
}

// listIn returns the last list in n that is a member in block style; nil if there is none.
func listIn(n *syntax.Node) *syntax.Node {
	for _, c := range slices.Backward(n.Children) {
		if found := listIn(c); found != nil {
			return found
		}
		if c.Kind == syntax.List && !c.Flow && c.Name != "" {
			return c
		}
	}
	return nil
}

// isCompact reports whether n has no blanks after its colons.
func (d source) isCompact(n *syntax.Node) bool {
	for _, c := range n.Children {
		if c.Name != "" {
			return d.bytes[c.From-1] == ':'
		}
		if len(c.Children) > 0 {
			return d.isCompact(c)
		}
	}
	return false
}
