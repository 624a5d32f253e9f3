package layout

import (
	"slices"
	"strings"
)

// A printer appends nodes to dst. Each node ends with a line break.
type printer struct {
	dst    []byte
	limit  int  // the maximum length of dst
	full   bool // the limit is reached, so lines are no longer indented
	inLine bool // the line has begun, so it is not indented
}

func (w *printer) document(root *node) {
	if root.text != nil { // a scalar, or a list or mapping in brackets
		w.comments(withoutLeading(root.lead), 0)
		w.text(root, 0, "")
		w.comments(root.tail, 0)
		return
	}
	if root.props != "" {
		w.line(root.props, 0)
	}
	w.entries(root, 0)
}

// line appends a line with an indentation.
func (w *printer) line(text string, indent int) {
	w.begin(indent)
	w.dst = append(append(w.dst, text...), '\n')
}

// begin indents a new line. It does nothing if the line has already begun.
func (w *printer) begin(indent int) {
	if w.full = w.full || len(w.dst)+indent > w.limit; !w.inLine && !w.full {
		w.dst = append(w.dst, strings.Repeat(" ", indent)...)
	}
	w.inLine = false
}

// comments appends comments, with at most one empty line between two of them.
func (w *printer) comments(texts []string, indent int) {
	for i, text := range texts {
		switch {
		case text != "":
			w.line(text, indent)
		case i+1 < len(texts) && texts[i+1] == "":
		default:
			w.dst = append(w.dst, '\n')
		}
	}
}

// withoutLeading returns texts without the empty lines at the start.
func withoutLeading(texts []string) []string {
	for len(texts) > 0 && texts[0] == "" {
		texts = texts[1:]
	}
	return texts
}

// entries appends a list or mapping in block style.
func (w *printer) entries(n *node, indent int) {
	for i, e := range n.entries {
		comments := e.head
		if i == 0 {
			comments = withoutLeading(slices.Concat(n.lead, e.head))
		}
		w.comments(comments, indent)
		w.begin(indent)
		w.entry(e, indent)
	}
	w.comments(n.tail, indent)
}

// entry appends an entry. A list that is the value of a key has the indentation of the key.
func (w *printer) entry(e *entry, indent int) {
	v := e.value
	inner := indent + 2
	if e.key == nil {
		w.dst = append(w.dst, '-')
	} else {
		w.dst = append(w.dst, join(e.key.props, e.key.text[0])...)
		w.dst = append(w.dst, ':')
		if v.isList {
			inner = indent
		}
	}
	switch {
	case v.text != nil:
		w.text(v, indent, e.comment)
	case e.key == nil && v.props == "":
		w.dst = append(w.dst, ' ')
		w.inLine = true
		w.entries(v, inner)
	default:
		w.rest(join(v.props, e.comment))
		w.dst = append(w.dst, '\n')
		w.entries(v, inner)
	}
}

// rest appends a space and text to a line that has begun.
func (w *printer) rest(text string) {
	if text != "" {
		w.dst = append(append(w.dst, ' '), text...)
	}
}

// text appends a value that is not a list or mapping in block style, then its trailing comment.
func (w *printer) text(v *node, indent int, comment string) {
	first := join(v.props, v.text[0])
	if len(w.dst) > 0 && w.dst[len(w.dst)-1] != '\n' {
		w.rest(first)
	} else {
		w.dst = append(w.dst, first...)
	}
	for _, line := range v.text[1:] {
		w.dst = append(w.dst, '\n')
		if line != "" {
			w.begin(indent + v.indent)
			w.dst = append(w.dst, line...)
		}
	}
	w.rest(comment)
	w.dst = append(w.dst, '\n')
}

// join joins two texts with a space, or returns the one that is not empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}
