package layout

import (
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/syntax"
)

// A printer appends nodes to dst. Each node ends with a line break.
type printer struct {
	text   []byte // that the nodes are from
	dst    []byte
	limit  int  // the maximum length of dst
	full   bool // the limit is reached, so lines are no longer indented
	inLine bool // the line has begun, so it is not indented
}

func (w *printer) document(root *syntax.Node) {
	if !root.InBlockStyle() {
		w.comments(withoutLeading(root.Lead), 0)
		w.value(root, 0, -1)
		w.comments(root.Tail, 0)
		return
	}
	if root.Props != "" {
		w.line(root.Props, 0)
	}
	w.children(root, 0)
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

// children appends a list or mapping in block style.
func (w *printer) children(n *syntax.Node, indent int) {
	for i, c := range n.Children {
		comments := c.Head
		if i == 0 {
			comments = withoutLeading(slices.Concat(n.Lead, c.Head))
		}
		w.comments(comments, indent)
		w.begin(indent)
		w.child(c, indent)
	}
	w.comments(n.Tail, indent)
}

// child appends a child. A list that is the value of a key has the indentation of the key.
func (w *printer) child(c *syntax.Node, indent int) {
	inner := indent + 2
	column := syntax.Column(w.text, c.Start)
	if c.Key == nil {
		w.dst = append(w.dst, '-')
	} else {
		key, _ := w.lines(c.Key, column)
		w.dst = append(append(w.dst, key[0]...), ':')
		if c.Kind == syntax.List {
			inner = indent
		}
	}
	switch {
	case !c.InBlockStyle():
		w.value(c, indent, column)
	case c.Key == nil && c.Props == "":
		w.dst = append(w.dst, ' ')
		w.inLine = true
		w.children(c, inner)
	default:
		w.rest(join(c.Props, c.Comment))
		w.dst = append(w.dst, '\n')
		w.children(c, inner)
	}
}

// rest appends a space and text to a line that has begun.
func (w *printer) rest(text string) {
	if text != "" {
		w.dst = append(append(w.dst, ' '), text...)
	}
}

// value appends a value that is not a list or mapping in block style, then its trailing comment. The list or mapping
// around it is at a column of the text.
func (w *printer) value(v *syntax.Node, indent, column int) {
	lines, further := w.lines(v, column)
	if len(w.dst) > 0 && w.dst[len(w.dst)-1] != '\n' {
		w.rest(lines[0])
	} else {
		w.dst = append(w.dst, lines[0]...)
	}
	for _, line := range lines[1:] {
		w.dst = append(w.dst, '\n')
		if line != "" {
			w.begin(indent + further)
			w.dst = append(w.dst, line...)
		}
	}
	if !v.Block {
		w.rest(v.Comment)
	}
	w.dst = append(w.dst, '\n')
}

// join joins two texts with a space, or returns the one that is not empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}
