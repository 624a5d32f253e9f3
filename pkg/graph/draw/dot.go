package draw

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// DOT draws packages for Graphviz; see https://graphviz.org/doc/info/lang.html. It shows the same nodes and links as
// [Mermaid]: packages and channels are clusters, and every channel has its own nodes.
func DOT(w io.Writer, packages []*graph.Package, o Options) error {
	d := dot{bufio.NewWriter(w)}
	d.WriteString(`digraph updates {
  // from old to new; solid: replaces, bold: skips, dashed: skipRange
  rankdir=LR
  node [shape=box, style=rounded, fontname="sans-serif"]
  edge [fontname="sans-serif", fontsize=10]
`)
	outline(d, packages, o)
	d.WriteString("}\n")
	return d.Flush()
}

// A dot writes one Graphviz graph.
type dot struct{ *bufio.Writer }

// begin opens a cluster. Graphviz requires the prefix cluster_ in its name.
func (d dot) begin(indent, id, title string, deprecated bool) {
	style := "style=rounded"
	if deprecated {
		style = `style="rounded,filled", fillcolor="#FFF3CD"`
	}
	fmt.Fprintf(d, "%ssubgraph cluster_%s {\n", indent, id)
	fmt.Fprintf(d, "%s  label=\"%s\"\n%s  %s\n", indent, dotText(title), indent, style)
}

func (d dot) end(indent string) { d.WriteString(indent + "}\n") }

func (d dot) node(id string, n *graph.Node) {
	styles, attributes := []string{"rounded"}, ""
	switch {
	case n.Virtual:
		styles = append(styles, "dashed")
	case n.Outside():
		styles = append(styles, "dotted")
	}
	switch {
	case n.Head:
		styles = append(styles, "bold")
		attributes += `, color="#1A7F37", peripheries=2`
	case n.Skipped:
		attributes += `, color="#CF222E"`
	}
	if n.Deprecated {
		styles = append(styles, "filled")
		attributes += `, fillcolor="#F2CC60", fontcolor="#1F2328"`
	}
	if len(styles) > 1 { // rounded alone is the default
		attributes = fmt.Sprintf(", style=\"%s\"%s", strings.Join(styles, ","), attributes)
	}
	fmt.Fprintf(d, "      %s [label=\"%s\"%s]\n", id, label(n, dotText, `\n`), attributes)
}

// dotLines are the attributes of links, apart from their labels.
var dotLines = map[graph.Edge]string{
	graph.Replaces:  "",
	graph.Skips:     ", style=bold",
	graph.SkipRange: ", style=dashed",
}

func (d dot) link(from, to string, l link) {
	label := dotText(l.label())
	if l.from == none {
		fmt.Fprintf(d, "      %s [label=\"%s\", style=\"rounded,dashed\"]\n", from, label)
		fmt.Fprintf(d, "      %s -> %s [style=dashed]\n", from, to)
		return
	}
	d.WriteString("      " + from + " -> " + to + ` [label="` + label + `"` + dotLines[l.by] + "]\n")
}

// dotEscapes escapes the special characters of quoted labels: quotes, the backslashes of escapes such as \N, and the
// ampersands of entities such as &lt;.
var dotEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "&", "&amp;")

// dotText escapes text for a label.
func dotText(text string) string { return dotEscapes.Replace(legible.Name(text)) }

// Quote returns text as a quoted node or label of DOT.
func Quote(text string) string { return `"` + dotText(text) + `"` }
