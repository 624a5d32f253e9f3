package impact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/olm/audit"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/report"
)

// Report returns a report for people, such as the readers of a pull request.
func (r *Report) Report() *report.Report {
	out := &report.Report{}
	if len(r.Bundles) == 0 {
		out.Heading(3, "Impact: no new bundles")
		out.InText("no new bundles")
	}
	for i := range r.Bundles {
		b := &r.Bundles[i]
		title := report.Name(b.Name) + " of package " + report.Name(b.Package)
		out.Heading(3, "Impact of "+title)
		out.InText(title)
		for i := range b.Updates {
			b.Updates[i].addTo(out)
		}
		b.addPermissions(out)
		b.addRefusals(out)
		b.addImages(out)
		list(out, "the catalog satisfies all new dependencies",
			"new dependencies that no package of the catalog satisfies:", b.Dependencies)
	}
	return out
}

// maxItems is the maximum number of items in a list, so that a comment does not get too long.
const maxItems = 20

// list adds a title and its items, or only another title if there are no items.
func list(out *report.Report, none, title string, items []string) {
	if len(items) == 0 {
		title = none
	}
	out.Item(1, "%s", title)
	for i, item := range items {
		if i == maxItems {
			out.Item(2, "%s in -o json", plural.Words(len(items)-i, "more is", "more are"))
			break
		}
		out.Item(2, "%s", item)
	}
}

func (u *Updates) addTo(out *report.Report) {
	var names []string
	for _, olm := range u.OLM {
		names = append(names, olm.Title())
	}
	in := "channel " + report.Name(u.Channel) + ", " + strings.Join(names, " and ")
	if u.Error != "" {
		out.Item(1, "%s refuses the channel: %s", in, u.Error)
		return
	}
	var items []string
	if len(u.From) > 0 {
		items = append(items, "updated: "+some(u.From))
	}
	for _, end := range ends(u.Not) {
		items = append(items, stay(u.Not, end))
	}
	older := plural.Of(len(u.From)+len(u.Not), "older bundle")
	list(out, in+": no older bundle",
		fmt.Sprintf("%s: %s of %s can be updated to it", in, plural.Number(len(u.From)), older), items)
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
func stay(stays []Stay, end string) string {
	var names []string
	why := ""
	for _, stay := range stays {
		if stay.End == end {
			names = append(names, stay.Bundle)
			if stay.Error != "" {
				why = ": " + stay.Error
			}
		}
	}
	switch {
	case end == "":
		return "not updated to it: " + some(names) + " (update loop)"
	case len(names) == 1 && names[0] == end:
		return "not updated: " + report.Name(end) + why
	}
	return "not updated to it: " + some(names) + " (up to " + report.Name(end) + ")" + why
}

// maxNames is the maximum number of names in a list.
const maxNames = 10

// some returns the names, the latest versions first if there are too many, with the number of omitted ones.
func some(names []string) string {
	var shown []string
	for _, name := range slices.Backward(names) {
		if len(shown) == maxNames {
			return strings.Join(shown, ", ") + " and " + plural.Words(len(names)-maxNames, "other", "others")
		}
		shown = append(shown, report.Name(name))
	}
	return strings.Join(shown, ", ")
}

func (b *Bundle) addPermissions(out *report.Report) {
	if b.Permissions.Unknown != "" {
		out.Item(1, "permissions are not known: %s", b.Permissions.Unknown)
		return
	}
	than := "since " + report.Name(b.Head)
	if b.Head == "" {
		than = "of a new package"
	}
	var items []string
	for _, p := range b.Permissions.New {
		scope := "in the namespaces that it watches"
		if p.Scope == audit.Cluster {
			scope = "in the whole cluster"
		}
		item := "service account " + report.Name(p.ServiceAccount) + ", " + scope + ": " + audit.RuleText(p.Rule)
		if p.Escalates {
			item += " (escalates)"
		}
		items = append(items, item)
	}
	list(out, "no new permissions "+than, "permissions "+than+":", items)
}

func (b *Bundle) addRefusals(out *report.Report) {
	var items []string
	for _, d := range b.Refusals {
		items = append(items, string(d.Severity)+": "+d.Message)
	}
	list(out, "OLM refuses no update to it", "refused updates:", items)
}

func (b *Bundle) addImages(out *report.Report) {
	var items []string
	for _, i := range b.Images {
		item := report.Name(i.Reference)
		switch {
		case i.Size > 0:
			item += ", " + plural.Size(i.Size)
		case i.Error != "":
			item += ", size not known: " + i.Error
		}
		items = append(items, item)
	}
	list(out, "no new images", plural.Of(len(items), "new image")+":", items)
}
