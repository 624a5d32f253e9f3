package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
)

// sections returns the sections of a report: changed packages, removed packages, added packages, and bundles in which
// only the form of the metadata changed.
func (w prose) sections(r *Report) []section {
	var all []section
	gone, added := section{}, section{}
	forms := section{title: "Metadata in another form, and otherwise the same"}
	for _, p := range r.Packages {
		switch {
		case p.Change == Removed:
			gone.lines = append(gone.lines, w.whole(p))
		case p.Change == Added:
			added.lines = append(added.lines, w.whole(p))
		case !p.onlyForm():
			all = append(all, section{w.packageName(p, w.heading) + ": " + p.brief(), w.changes(p)})
		}
		forms.lines = append(forms.lines, w.forms(p)...)
	}
	gone.title = plural.Of(len(gone.lines), "package") + " removed"
	added.title = plural.Of(len(added.lines), "package") + " added"
	return slices.DeleteFunc(append(all, gone, added, forms), func(s section) bool { return len(s.lines) == 0 })
}

func (w prose) packageName(p Package, write func(string) string) string {
	if p.Name == "" {
		return "objects without a package"
	}
	return write(p.Name)
}

// whole formats a package that is in only one of the catalogs, on one line.
func (w prose) whole(p Package) string {
	return w.packageName(p, w.name) + ": " + strings.Join(w.all(p), "; ")
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
func (w prose) forms(p Package) []string {
	var reformed grouped[Values, string]
	for _, b := range p.reformed() {
		reformed.add(*b.Form, b.Name)
	}
	var lines []string
	for form, bundles := range reformed.all() {
		n := plural.Of(len(bundles), "bundle")
		lines = append(lines, fmt.Sprintf("%s: %s, %s", w.packageName(p, w.name), n, w.becomes(&form)))
	}
	return lines
}

// A warning is a kind of change to review before a catalog is published.
type warning struct {
	kind Kind
	say  func(w prose, s Summary) string
}

var warnings = []warning{
	{LostPath, func(w prose, s Summary) string {
		return w.strong(lostPaths(s.Stranded))
	}},
	{Replaced, func(w prose, s Summary) string {
		return w.strong(plural.Of(s.Bundles.Changed, "published bundle")+" changed") +
			" (clusters do not install a version again)"
	}},
	{Gone, func(w prose, s Summary) string {
		var what []string
		for _, c := range s.counts() {
			if c.Removed > 0 {
				what = append(what, plural.Of(c.Removed, strings.TrimSuffix(c.what, "s")))
			}
		}
		return w.strong(strings.Join(what, ", ") + " removed")
	}},
}

// warnings formats the numbers of changes to review, with their packages.
func (w prose) warnings(r *Report) []string {
	var lines []string
	for _, warning := range warnings {
		if r.Count(warning.kind) == 0 {
			continue
		}
		var in []string
		for _, p := range r.Packages {
			if n := p.count(warning.kind); n > 0 {
				in = append(in, fmt.Sprintf("%s (%d)", w.packageName(p, w.name), n))
			}
		}
		lines = append(lines, warning.say(w, r.Summary)+": "+abbreviated(in))
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
