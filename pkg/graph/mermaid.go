package graph

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// mermaidHead says how nodes look and what the lines mean. Fills go with a dark text, in light and in dark pages.
const mermaidHead = `flowchart LR
  %% from old to new; solid: replaces, thick: skips, dotted: skipRange
  classDef head stroke:#1A7F37,stroke-width:4px
  classDef skipped stroke:#CF222E,stroke-width:2px
  classDef deprecated fill:#F2CC60,color:#1F2328
  classDef virtual stroke-dasharray:6 4
  classDef outside stroke-dasharray:2 3
`

// WriteMermaid draws packages as a Mermaid flowchart; see https://mermaid.js.org/syntax/flowchart.html. Packages hold
// their channels, these their nodes, with the highest version first, and the links to each. Every channel has nodes of
// its own, so that no link leaves it. Heads are round. Bundles
// that are not in the catalog are dashed, those that are in it but not in the channel dotted.
func WriteMermaid(w io.Writer, packages []*Package, o DrawOptions) error {
	m := &mermaid{Writer: bufio.NewWriter(w), classes: map[string][]string{}}
	m.WriteString(mermaidHead)
	for i, p := range packages {
		m.pkg(fmt.Sprintf("p%d", i+1), p, o.ChannelsOf(p))
	}
	for _, class := range []string{"head", "skipped", "deprecated", "virtual", "outside"} {
		if ids := m.classes[class]; len(ids) > 0 {
			fmt.Fprintf(m, "  class %s %s\n", strings.Join(ids, ","), class)
		}
	}
	return m.Flush()
}

// A mermaid writes one flowchart.
type mermaid struct {
	*bufio.Writer
	classes map[string][]string // ids by class, in the order of the text
}

func (m *mermaid) classify(id, class string, is bool) {
	if is {
		m.classes[class] = append(m.classes[class], id)
	}
}

func (m *mermaid) pkg(id string, p *Package, channels []*Channel) {
	fmt.Fprintf(m, "  subgraph %s[\"%s\"]\n", id, mermaidText(title(p.Name, false, p.Deprecated)))
	m.classify(id, "deprecated", p.Deprecated)
	for i, c := range channels {
		m.channel(fmt.Sprintf("%sc%d", id, i+1), c, title(c.Name, c.Name == p.DefaultChannel, c.Deprecated))
	}
	m.WriteString("  end\n")
}

func (m *mermaid) channel(id string, c *Channel, title string) {
	fmt.Fprintf(m, "    subgraph %s[\"%s\"]\n", id, mermaidText(title))
	m.classify(id, "deprecated", c.Deprecated)
	d := c.Draw()
	nodes := nodeIDs(id, d)
	for i, n := range d.Nodes {
		open, end := `["`, `"]`
		if n.Head {
			open, end = `(["`, `"])`
		}
		fmt.Fprintf(m, "      %s%s%s%s\n", nodes[i], open, strings.Join(texts(mermaidText, n.lines()), "<br/>"), end)
		m.classify(nodes[i], "head", n.Head)
		m.classify(nodes[i], "skipped", n.Skipped)
		m.classify(nodes[i], "deprecated", n.Deprecated)
		m.classify(nodes[i], "virtual", n.Virtual)
		m.classify(nodes[i], "outside", !n.Virtual && !n.Entry)
	}
	for l := range d.Links() {
		m.link(nodes, l)
	}
	m.WriteString("    end\n")
}

// mermaidLines are the lines of links: the text goes between the two.
var mermaidLines = map[Edge][2]string{
	Replaces:  {"--", "-->"},
	Skips:     {"==", "==>"},
	SkipRange: {"-.", ".->"},
}

func (m *mermaid) link(nodes []string, l Link) {
	line, to := mermaidLines[l.By], nodes[l.To]
	if l.From < 0 {
		id := to + "r"
		fmt.Fprintf(m, "      %s(\"%s\") -.-> %s\n", id, mermaidText(l.label()), to)
		m.classify(id, "virtual", true)
		return
	}
	fmt.Fprintf(m, "      %s %s \"%s\" %s %s\n", nodes[l.From], line[0], mermaidText(l.label()), line[1], to)
}

// mermaidText writes text such that it stands for itself between the quotes of a label. Mermaid reads quotes, Markdown,
// HTML and entities there; an entity such as #35; is a character by its number.
func mermaidText(text string) string {
	var escaped strings.Builder
	previous := '-'
	for _, r := range visible(text) {
		if r < 0x80 && !isPlain(previous, r) {
			fmt.Fprintf(&escaped, "#%d;", r)
		} else {
			escaped.WriteRune(r)
		}
		previous = r
	}
	return escaped.String()
}

// isPlain tells whether an ASCII character has no meaning to Mermaid behind the previous one, which is a hyphen at the
// start of the text. Most of punctuation may have one; what names and versions are made of stays legible.
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
