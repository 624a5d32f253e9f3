package draw

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// An outlineWriter writes the elements of an outline, as Mermaid or DOT.
type outlineWriter interface {
	begin(indent, id, title string, deprecated bool) // a package or a channel
	end(indent string)
	node(id string, n *graph.Node)
	link(from, to string, l link) // from is a node id, or for a whole range a new id
}

// outline writes packages, their channels, and the nodes of each channel, the highest version first, then the links.
// Every channel has its own nodes, so no link crosses channels.
func outline(in outlineWriter, packages []*graph.Package, o Options) {
	for i, p := range packages {
		id := "p" + strconv.Itoa(i+1)
		in.begin("  ", id, title(p.Name, false, p.Deprecated), p.Deprecated)
		for j, c := range o.channelsOf(p) {
			id := id + "c" + strconv.Itoa(j+1)
			in.begin("    ", id, title(c.Name, c.Name == p.DefaultChannel, c.Deprecated), c.Deprecated)
			// Write nodes and links. Nodes are numbered from the lowest version, so that most of them keep their ids
			// when a version is added.
			d := newDrawing(c)
			ids := make([]string, len(d.nodes))
			for i := range d.nodes {
				ids[i] = id + "n" + strconv.Itoa(len(ids)-i)
				in.node(ids[i], &d.nodes[i])
			}
			for l := range d.links() {
				from := ids[l.to] + "r"
				if l.from != none {
					from = ids[l.from]
				}
				in.link(from, ids[l.to], l)
			}
			in.end("    ")
		}
		in.end("  ")
	}
}

// title returns the title of a package or a channel.
func title(name string, isDefault, deprecated bool) string {
	var marks []string
	if isDefault && name != "" {
		marks = append(marks, "default")
	}
	if deprecated {
		marks = append(marks, "deprecated")
	}
	if name == "" {
		marks = append(marks, "without a name")
	}
	if marks == nil {
		return name
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%s)", name, strings.Join(marks, ", ")))
}

// label returns the name of a node, and its version unless the name contains it. Lines are escaped and joined.
func label(n *graph.Node, escape func(string) string, lineBreak string) string {
	v := versionOf(n)
	if strings.Contains(n.Name, v) {
		return escape(n.Name)
	}
	return escape(n.Name) + lineBreak + escape(v)
}

// versionOf returns the version of a bundle, or "".
func versionOf(n *graph.Node) string {
	if n.Version == nil {
		return ""
	}
	return n.Version.String()
}

// label returns the label of a link or, for a whole range, of the node that replaces its source.
func (l link) label() string {
	switch {
	case l.by != graph.SkipRange:
		return string(l.by)
	case l.from != none:
		return l.skipRange
	case l.bundles == 0:
		return "skipRange " + l.skipRange
	}
	return fmt.Sprintf("skipRange %s (%s)", l.skipRange, plural.Of(l.bundles, "bundle"))
}
