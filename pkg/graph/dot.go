package graph

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteDOT draws packages in the language of Graphviz; see https://graphviz.org/doc/info/lang.html. It shows what
// [WriteMermaid] shows: packages and their channels are clusters, and every channel has nodes of its own.
func WriteDOT(w io.Writer, packages []*Package, o DrawOptions) error {
	d := dot{bufio.NewWriter(w)}
	d.WriteString(`digraph updates {
  // from old to new; solid: replaces, bold: skips, dashed: skipRange
  rankdir=LR
  node [shape=box, style=rounded, fontname="sans-serif"]
  edge [fontname="sans-serif", fontsize=10]
`)
	for i, p := range packages {
		d.pkg(fmt.Sprintf("p%d", i+1), p, o.ChannelsOf(p))
	}
	d.WriteString("}\n")
	return d.Flush()
}

// A dot writes one graph.
type dot struct{ *bufio.Writer }

func (d dot) pkg(id string, p *Package, channels []*Channel) {
	d.cluster("  ", id, title(p.Name, false, p.Deprecated), p.Deprecated)
	for i, c := range channels {
		d.channel(fmt.Sprintf("%sc%d", id, i+1), c, title(c.Name, c.Name == p.DefaultChannel, c.Deprecated))
	}
	d.WriteString("  }\n")
}

// cluster begins a cluster; Graphviz draws as such what has a name that begins with that word.
func (d dot) cluster(indent, id, title string, deprecated bool) {
	fmt.Fprintf(d, "%ssubgraph cluster_%s {\n%s  label=%s\n", indent, id, indent, dotText(title))
	style := "style=rounded"
	if deprecated {
		style = `style="rounded,filled", fillcolor="#FFF3CD"`
	}
	fmt.Fprintf(d, "%s  %s\n", indent, style)
}

func (d dot) channel(id string, c *Channel, title string) {
	d.cluster("    ", id, title, c.Deprecated)
	drawing := c.Draw()
	nodes := nodeIDs(id, drawing)
	for i, n := range drawing.Nodes {
		fmt.Fprintf(d, "      %s [label=%s%s]\n", nodes[i], dotText(n.lines()...), dotStyle(n))
	}
	for l := range drawing.Links() {
		d.link(nodes, l)
	}
	d.WriteString("    }\n")
}

// dotStyle returns the attributes by which a node is told from others.
func dotStyle(n Node) string {
	styles, attributes := []string{"rounded"}, ""
	switch {
	case n.Virtual:
		styles = append(styles, "dashed")
	case !n.Entry:
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
	if len(styles) == 1 { // that of all nodes
		return attributes
	}
	return fmt.Sprintf(", style=\"%s\"%s", strings.Join(styles, ","), attributes)
}

// dotLines are the attributes of links, but for their label.
var dotLines = map[Edge]string{
	Replaces:  "",
	Skips:     ", style=bold",
	SkipRange: ", style=dashed",
}

func (d dot) link(nodes []string, l Link) {
	to := nodes[l.To]
	if l.From < 0 {
		fmt.Fprintf(d, "      %sr [label=%s, style=\"rounded,dashed\"]\n", to, dotText(l.label()))
		fmt.Fprintf(d, "      %sr -> %s [style=dashed]\n", to, to)
		return
	}
	fmt.Fprintf(d, "      %s -> %s [label=%s%s]\n", nodes[l.From], to, dotText(l.label()), dotLines[l.By])
}

// dotEscapes are what has a meaning within the quotes of a label: quotes, the backslashes of escapes such as \N, and
// entities such as &lt;.
var dotEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "&", "&amp;")

// dotText writes lines as a label that shows just them.
func dotText(lines ...string) string {
	escape := func(line string) string { return dotEscapes.Replace(visible(line)) }
	return `"` + strings.Join(texts(escape, lines), `\n`) + `"`
}
