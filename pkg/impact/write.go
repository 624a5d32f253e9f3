package impact

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/markdown"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/cluster/audit"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A style is a format of text.
type style struct {
	none, bundle, section, item string // formats
	name, text                  func(string) string
}

var (
	plain = style{"no new bundles\n", "%s\n", "  %s\n", "    %s\n", legible.Name, legible.Text}
	marks = style{
		"### Impact: no new bundles\n", "### Impact of %s\n\n", "- %s\n", "  - %s\n", markdown.Code, markdown.Escape,
	}
)

// WriteText writes a report for a terminal.
func WriteText(w io.Writer, r *Report) error { return plain.write(w, r) }

// WriteMarkdown writes a report as a comment on a pull request.
func WriteMarkdown(w io.Writer, r *Report) error { return marks.write(w, r) }

func (s style) write(w io.Writer, r *Report) error {
	var b strings.Builder
	if len(r.Bundles) == 0 {
		b.WriteString(s.none)
	}
	for i := range r.Bundles {
		if i > 0 {
			b.WriteString("\n")
		}
		n := &r.Bundles[i]
		fmt.Fprintf(&b, s.bundle, s.name(n.Name)+" of package "+s.name(n.Package))
		for _, section := range s.sections(n) {
			fmt.Fprintf(&b, s.section, section.title)
			for i, item := range section.items {
				if i == maxItems {
					fmt.Fprintf(&b, s.item, plural.Words(len(section.items)-i, "more is", "more are")+" in -o json")
					break
				}
				fmt.Fprintf(&b, s.item, item)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxItems is the maximum number of items in a section, so that a comment does not get too long.
const maxItems = 20

// A section is a list below a title.
type section struct {
	title string
	items []string
}

func (s style) sections(n *Bundle) []section {
	var all []section
	for _, u := range n.Updates {
		all = append(all, s.updates(u))
	}
	return append(all, s.permissions(n), s.definitions(n), s.images(n), s.dependencies(n))
}

func (s style) updates(u Updates) section {
	var names []string
	for _, olm := range u.OLM {
		if olm == graph.Classic {
			names = append(names, "OLM Classic")
		} else {
			names = append(names, "OLM v1")
		}
	}
	in := "channel " + s.name(u.Channel) + ", " + strings.Join(names, " and ")
	if u.Error != "" {
		return section{in + " refuses the channel: " + s.text(u.Error), nil}
	}
	total := len(u.From) + len(u.Not)
	if total == 0 {
		return section{in + ": no older bundle", nil}
	}
	found := section{title: fmt.Sprintf("%s: %s of %s can be updated to it", in, plural.Number(len(u.From)),
		plural.Of(total, "older bundle"))}
	if len(u.From) > 0 {
		found.items = append(found.items, "updated: "+s.some(u.From))
	}
	for _, end := range ends(u.Not) {
		found.items = append(found.items, s.stay(u.Not, end))
	}
	return found
}

// ends returns the ends of bundles, each once, in the order of the bundles.
func ends(stays []Stay) (ends []string) {
	for _, stay := range stays {
		if !slices.Contains(ends, stay.End) {
			ends = append(ends, stay.End)
		}
	}
	return ends
}

// stay describes the bundles whose updates have the same end.
func (s style) stay(stays []Stay, end string) string {
	var names []string
	why := ""
	for _, stay := range stays {
		if stay.End == end {
			names = append(names, stay.Bundle)
			if stay.Error != "" {
				why = ": " + s.text(stay.Error)
			}
		}
	}
	switch {
	case end == "":
		return "not updated to it: " + s.some(names) + " (update loop)"
	case len(names) == 1 && names[0] == end:
		return "not updated: " + s.name(end) + why
	}
	return "not updated to it: " + s.some(names) + " (up to " + s.name(end) + ")" + why
}

// maxNames is the maximum number of names in a list.
const maxNames = 10

// some returns the names, the latest versions first if there are too many, with the number of omitted ones.
func (s style) some(names []string) string {
	var shown []string
	for _, name := range slices.Backward(names) {
		if len(shown) == maxNames {
			return strings.Join(shown, ", ") + " and " + plural.Words(len(names)-maxNames, "other", "others")
		}
		shown = append(shown, s.name(name))
	}
	return strings.Join(shown, ", ")
}

func (s style) permissions(n *Bundle) section {
	than := "since " + s.name(n.Head)
	if n.Head == "" {
		than = "of a new package"
	}
	switch {
	case n.Permissions.Unknown != "":
		return section{"permissions are not known: " + s.text(n.Permissions.Unknown), nil}
	case len(n.Permissions.New) == 0:
		return section{"no new permissions " + than, nil}
	}
	found := section{title: "permissions " + than + ":"}
	for _, p := range n.Permissions.New {
		scope := "in the namespaces that it watches"
		if p.Scope == audit.Cluster {
			scope = "in the whole cluster"
		}
		item := "service account " + s.name(p.ServiceAccount) + ", " + scope + ": " + audit.RuleText(p.Rule, s.name)
		if p.Escalates {
			item += " (escalates)"
		}
		found.items = append(found.items, item)
	}
	return found
}

func (s style) definitions(n *Bundle) section {
	if len(n.Definitions) == 0 {
		return section{"OLM refuses no change of a CustomResourceDefinition", nil}
	}
	found := section{title: "CustomResourceDefinitions:"}
	for _, d := range n.Definitions {
		found.items = append(found.items, string(d.Severity)+": "+s.text(d.Message))
	}
	return found
}

func (s style) images(n *Bundle) section {
	if len(n.Images) == 0 {
		return section{"no new images", nil}
	}
	found := section{title: plural.Of(len(n.Images), "new image") + ":"}
	for _, i := range n.Images {
		item := s.name(i.Reference)
		switch {
		case i.Size > 0:
			item += ", " + plural.Size(i.Size)
		case i.Error != "":
			item += ", size not known: " + s.text(i.Error)
		}
		found.items = append(found.items, item)
	}
	return found
}

func (s style) dependencies(n *Bundle) section {
	if len(n.Dependencies) == 0 {
		return section{"the catalog satisfies all new dependencies", nil}
	}
	found := section{title: "new dependencies that no package of the catalog satisfies:"}
	for _, d := range n.Dependencies {
		found.items = append(found.items, s.text(d))
	}
	return found
}
