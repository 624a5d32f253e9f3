package draw

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// mermaidHead defines the styles of nodes and explains the lines. Text on a fill is dark, in light and dark mode.
const mermaidHead = `flowchart LR
  %% from old to new; solid: replaces, thick: skips, dotted: skipRange
  classDef head stroke:#1A7F37,stroke-width:4px
  classDef skipped stroke:#CF222E,stroke-width:2px
  classDef deprecated fill:#F2CC60,color:#1F2328
  classDef virtual stroke-dasharray:6 4
  classDef outside stroke-dasharray:2 3
`

// Mermaid draws packages as a Mermaid flowchart; see https://mermaid.js.org/syntax/flowchart.html. Packages contain
// their channels, and every channel has its own nodes. Heads are round. Bundles that are not in the catalog are dashed;
// bundles in the catalog, but not in the channel, are dotted.
//
// If the drawing is larger than [MermaidLimit], there is one flowchart for each package, after a comment with its name.
// Empty lines separate them.
func Mermaid(w io.Writer, packages []*graph.Package, o Options) error {
	if len(packages) > 1 {
		if size, _ := flowchart(io.Discard, packages, o); size.tooLarge() {
			o.tooLarge(packages, size)
			// Write a flowchart for each package.
			for i, p := range packages {
				comment := "%% package " + legible.Name(p.Name) + "\n"
				if i > 0 {
					comment = "\n" + comment
				}
				if _, err := io.WriteString(w, comment); err != nil {
					return err
				}
				if err := Mermaid(w, packages[i:i+1], o); err != nil {
					return err
				}
			}
			return nil
		}
	}
	size, err := flowchart(w, packages, o)
	if size.tooLarge() {
		o.tooLarge(packages, size)
	}
	return err
}

func (o Options) tooLarge(packages []*graph.Package, size MermaidSize) {
	if o.TooLarge != nil {
		o.TooLarge(packages, size)
	}
}

// flowchart writes packages as one flowchart.
func flowchart(w io.Writer, packages []*graph.Package, o Options) (MermaidSize, error) {
	counted := &meter{Writer: w}
	m := &mermaid{Writer: bufio.NewWriter(counted), classes: map[string][]string{}}
	m.WriteString(mermaidHead)
	outline(m, packages, o)
	for _, class := range []string{"head", "skipped", "deprecated", "virtual", "outside"} {
		if ids := m.classes[class]; len(ids) > 0 {
			fmt.Fprintf(m, "  class %s %s\n", strings.Join(ids, ","), class)
		}
	}
	err := m.Flush()
	return MermaidSize{counted.characters, m.links}, err
}

// A mermaid writes one flowchart.
type mermaid struct {
	*bufio.Writer
	classes map[string][]string // ids by class, in the order in which they are written
	links   int
}

func (m *mermaid) classify(id, class string, is bool) {
	if is {
		m.classes[class] = append(m.classes[class], id)
	}
}

func (m *mermaid) begin(indent, id, title string, deprecated bool) {
	fmt.Fprintf(m, "%ssubgraph %s[\"%s\"]\n", indent, id, mermaidText(title))
	m.classify(id, "deprecated", deprecated)
}

func (m *mermaid) end(indent string) { m.WriteString(indent + "end\n") }

func (m *mermaid) node(id string, n *graph.Node) {
	left, right := `["`, `"]`
	if n.Head {
		left, right = `(["`, `"])`
	}
	m.WriteString("      " + id + left + label(n, mermaidText, "<br/>") + right + "\n")
	m.classify(id, "head", n.Head)
	m.classify(id, "skipped", n.Skipped)
	m.classify(id, "deprecated", n.Deprecated)
	m.classify(id, "virtual", n.Virtual)
	m.classify(id, "outside", n.Outside())
}

// mermaidLines are the two halves of the arrows of links; the label goes between them.
var mermaidLines = map[graph.Edge][2]string{
	graph.Replaces:  {"--", "-->"},
	graph.Skips:     {"==", "==>"},
	graph.SkipRange: {"-.", ".->"},
}

func (m *mermaid) link(from, to string, l link) {
	m.links++
	label := mermaidText(l.label())
	if l.from == none {
		fmt.Fprintf(m, "      %s(\"%s\") -.-> %s\n", from, label, to)
		m.classify(from, "virtual", true)
		return
	}
	line := mermaidLines[l.by]
	m.WriteString("      " + from + " " + line[0] + ` "` + label + `" ` + line[1] + " " + to + "\n")
}

// mermaidText escapes text for a quoted label, in which Mermaid interprets quotes, Markdown, HTML and entities. An
// entity such as #35; is a character by its number.
func mermaidText(text string) string {
	var escaped strings.Builder
	previous := '-'
	for _, r := range legible.Name(text) {
		if r < 0x80 && !isPlain(previous, r) {
			fmt.Fprintf(&escaped, "#%d;", r)
		} else {
			escaped.WriteRune(r)
		}
		previous = r
	}
	return escaped.String()
}

// isPlain reports whether an ASCII character needs no escape after the previous one, which is a hyphen at the start of
// the text. Most punctuation may be special to Mermaid; the usual characters of names and versions stay legible.
func isPlain(previous, r rune) bool {
	switch r {
	case ' ': // "1. ", "- " and spaces begin lists and blocks
		return !strings.ContainsRune(" .)-+", previous)
	case '.': // www. begins a link
		return previous != 'w' && previous != 'W'
	case '-', '+': // --- is a line
		return previous != '-'
	case '/', ',', '(', ')', '=':
		return true
	}
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// A MermaidSize is the size of a Mermaid drawing. Renderers refuse drawings larger than [MermaidLimit], unless their
// maxTextSize and maxEdges are higher; see https://mermaid.js.org/config/schema-docs/config.html.
type MermaidSize struct {
	Characters int // UTF-16 code units, as in JavaScript
	Links      int
}

// MermaidLimit is the default limit of renderers.
var MermaidLimit = MermaidSize{Characters: 50_000, Links: 500}

// String returns the size in words: "1,234 characters and 56 links".
func (s MermaidSize) String() string {
	return plural.Number(s.Characters) + " characters and " + plural.Number(s.Links) + " links"
}

// tooLarge reports whether renderers refuse a drawing of this size.
func (s MermaidSize) tooLarge() bool {
	return s.Characters > MermaidLimit.Characters || s.Links > MermaidLimit.Links
}

// A meter is a writer that counts characters.
type meter struct {
	io.Writer
	characters int
}

func (m *meter) Write(text []byte) (int, error) {
	for _, c := range text {
		if c&0xC0 != 0x80 { // first byte of a character
			m.characters++
		}
		if c >= 0xF0 { // of a character with two UTF-16 code units
			m.characters++
		}
	}
	return m.Writer.Write(text)
}
