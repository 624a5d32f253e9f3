package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/report"
)

// Report returns a report for people: the summary, each changed package with its changes, then removed and added
// packages. Long lists of names are cut; the number of omitted names is written. In Markdown, it is a comment on a pull
// request with folded details.
func (r *Report) Report() *report.Report {
	out := &report.Report{}
	if len(r.Packages) == 0 {
		out.Heading(3, "Catalog: no changes")
		out.InText("no changes")
		return out
	}
	out.Heading(3, "Changes of the catalog")
	out.InText()
	var rows [][]string
	var lines []string
	for _, c := range r.Summary.counts() {
		rows = append(rows, []string{c.what, strconv.Itoa(c.Added), strconv.Itoa(c.Removed), strconv.Itoa(c.Changed)})
		if words := c.words(); len(words) > 0 {
			lines = append(lines, strings.Join(words, ", "))
		}
	}
	out.Table([]string{"", "added:", "removed:", "changed:"}, rows)
	out.InText(lines...)
	for _, line := range append(r.warnings(), r.Summary.notes()...) {
		out.Item(0, "%s", line)
	}
	for _, s := range r.sections() {
		out.Fold(s.title, s.lines)
	}
	return out
}

// sections returns the sections of a report: changed packages, removed packages, added packages, and bundles in which
// only the form of the metadata changed.
func (r *Report) sections() []section {
	var all []section
	gone, added := section{}, section{}
	forms := section{title: "Metadata in another form, and otherwise the same"}
	for _, p := range r.Packages {
		switch {
		case p.Change == Removed:
			gone.lines = append(gone.lines, p.whole())
		case p.Change == Added:
			added.lines = append(added.lines, p.whole())
		case !p.onlyForm():
			all = append(all, section{p.name() + ": " + p.brief(), p.changes()})
		}
		forms.lines = append(forms.lines, p.forms()...)
	}
	gone.title = plural.Of(len(gone.lines), "package") + " removed"
	added.title = plural.Of(len(added.lines), "package") + " added"
	return slices.DeleteFunc(append(all, gone, added, forms), func(s section) bool { return len(s.lines) == 0 })
}

func (p *Package) name() string { return cmp.Or(report.Name(p.Name), "objects without a package") }

// whole formats an added or removed package on one line.
func (p *Package) whole() string {
	return p.name() + ": " + strings.Join(p.all(), "; ")
}

// brief formats the numbers of changes in a package.
func (p *Package) brief() string {
	s := p.summary()
	var words []string
	if s.Stranded > 0 {
		words = append(words, plural.Of(s.Stranded, "stranded install"))
	}
	for _, c := range s.counts()[1:] {
		words = append(words, c.words()...)
	}
	if words == nil {
		words = s.notes()
	}
	return cmp.Or(strings.Join(words, ", "), "other changes")
}

// words formats the counts that are not zero, such as "2 bundles added".
func (c namedCounts) words() []string {
	var words []string
	for _, part := range []struct {
		n      int
		change Change
	}{{c.Added, Added}, {c.Removed, Removed}, {c.Changed, Changed}} {
		if part.n > 0 {
			words = append(words, fmt.Sprintf("%s %s", plural.Of(part.n, strings.TrimSuffix(c.what, "s")), part.change))
		}
	}
	return words
}

// forms formats the numbers of bundles of a package with metadata in another form.
func (p *Package) forms() []string {
	var reformed grouped[Values, string]
	for _, b := range p.reformed() {
		reformed.add(*b.Form, b.Name)
	}
	var lines []string
	for form, bundles := range reformed.all() {
		n := plural.Of(len(bundles), "bundle")
		lines = append(lines, fmt.Sprintf("%s: %s, %s", p.name(), n, form.becomes()))
	}
	return lines
}

// A warning is a kind of change to review before a catalog is published.
type warning struct {
	kind Kind
	say  func(s Summary) string
}

var warnings = []warning{
	{LostPath, func(s Summary) string { return report.Strong(lostPaths(s.Stranded)) }},
	{Replaced, func(s Summary) string {
		return report.Strong(plural.Of(s.Bundles.Changed, "published bundle")+" changed") +
			" (clusters do not install a version again)"
	}},
	{Gone, func(s Summary) string {
		var what []string
		for _, c := range s.counts() {
			if c.Removed > 0 {
				what = append(what, plural.Of(c.Removed, strings.TrimSuffix(c.what, "s")))
			}
		}
		if s.Left > 0 {
			what = append(what, plural.Words(s.Left, "entry of a channel", "entries of channels"))
		}
		return report.Strong(strings.Join(what, ", ") + " removed")
	}},
}

// warnings formats the numbers of changes to review, with their packages.
func (r *Report) warnings() []string {
	var lines []string
	for _, warning := range warnings {
		if r.Count(warning.kind) == 0 {
			continue
		}
		var in []string
		for _, p := range r.Packages {
			of := Report{Summary: p.summary()}
			if n := of.Count(warning.kind); n > 0 {
				in = append(in, fmt.Sprintf("%s (%d)", p.name(), n))
			}
		}
		lines = append(lines, warning.say(r.Summary)+": "+abbreviated(in))
	}
	return lines
}

// A namedCounts is a row of a summary.
type namedCounts struct {
	what string
	Counts
}

func (s Summary) counts() []namedCounts {
	return []namedCounts{{"packages", s.Packages}, {"channels", s.Channels}, {"bundles", s.Bundles}}
}

// notes formats the other counts.
func (s Summary) notes() []string {
	var lines []string
	for _, note := range []struct {
		n         int
		one, many string
	}{
		{s.DefaultChannels, "package has another default channel", "packages have another default channel"},
		{s.Heads, "channel has another head", "channels have another head"},
		{s.Edges, "entry has other edges", "entries have other edges"},
		{s.Rerouted, "install has another next update", "installs have another next update"},
		{s.Deprecations, "deprecation is new, gone or changed", "deprecations are new, gone or changed"},
		{s.Reformed, "bundle has metadata in another form", "bundles have metadata in another form"},
	} {
		if note.n > 0 {
			lines = append(lines, plural.Words(note.n, note.one, note.many))
		}
	}
	return lines
}
