package diff

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/markdown"
	"github.com/opm-toolchain/opm/internal/plural"
)

// WriteText writes a report as text: the summary, each changed package with its changes, then removed and added
// packages. Long lists of names are cut; the number of omitted names is written.
func WriteText(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	p := prose{name: legible.Name, text: legible.Text, heading: legible.Name, strong: strings.Clone, arrow: "->"}
	if len(r.Packages) == 0 {
		out.WriteString("no changes\n")
	}
	for _, c := range r.Summary.counts() {
		if words := c.words(); len(words) > 0 {
			fmt.Fprintln(out, strings.Join(words, ", "))
		}
	}
	for _, line := range append(p.warnings(r), r.Summary.notes()...) {
		fmt.Fprintf(out, "%s\n", line)
	}
	for _, s := range p.sections(r) {
		fmt.Fprintf(out, "\n%s\n", s.title)
		for _, line := range s.lines {
			fmt.Fprintf(out, "  %s\n", line)
		}
	}
	return out.Flush()
}

// MaxComment is the maximum length of a comment on GitHub, in characters; other forges allow more.
const MaxComment = 65_536

// WriteMarkdown writes a report as a comment on a pull request: a short summary, and collapsed details. Details beyond
// the limit of GitHub are omitted, with a note.
func WriteMarkdown(w io.Writer, r *Report) error { return WriteMarkdownWithin(w, r, MaxComment) }

// WriteMarkdownWithin is like WriteMarkdown with another limit, in characters.
func WriteMarkdownWithin(w io.Writer, r *Report, limit int) error {
	p := prose{name: markdown.Code, text: markdown.Escape, heading: codeTag, strong: strong, arrow: "→"}
	var text strings.Builder
	p.writeSummary(&text, r)
	left := limit - utf8.RuneCountInString(text.String()) - maxNotice
	leftOut := 0
	for _, s := range p.sections(r) {
		folded, more := s.folded(left)
		text.WriteString(folded)
		left -= utf8.RuneCountInString(folded)
		leftOut += more
	}
	if leftOut > 0 {
		fmt.Fprintf(&text, notice, plural.Of(leftOut, "line"))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

const (
	notice    = "\n%s left out, since a comment cannot be longer; `opm diff -o text` has everything.\n"
	maxNotice = len(notice) + len("1000000000 lines")
)

func (w prose) writeSummary(out *strings.Builder, r *Report) {
	if len(r.Packages) == 0 {
		out.WriteString("### Catalog: no changes\n")
		return
	}
	out.WriteString("### Changes of the catalog\n\n")
	for _, line := range w.warnings(r) {
		fmt.Fprintf(out, "- %s\n", line)
	}
	for _, line := range r.Summary.notes() {
		fmt.Fprintf(out, "- %s\n", line)
	}
	out.WriteString("\n| | added | removed | changed |\n|---|---:|---:|---:|\n")
	for _, c := range r.Summary.counts() {
		fmt.Fprintf(out, "| %s | %d | %d | %d |\n", c.what, c.Added, c.Removed, c.Changed)
	}
	out.WriteByte('\n')
}

// folded formats a section as collapsed Markdown, with as many lines as fit into most characters. It returns the number
// of omitted lines; if no line fits, the text is empty.
func (s section) folded(most int) (text string, leftOut int) {
	const end = "\n</details>\n"
	var out strings.Builder
	fmt.Fprintf(&out, "<details><summary>%s</summary>\n\n", s.title)
	most -= utf8.RuneCountInString(out.String() + end)
	for i, line := range s.lines {
		line = "- " + line + "\n"
		most -= utf8.RuneCountInString(line)
		if most < 0 && i == 0 {
			return "", len(s.lines)
		}
		if most < 0 {
			leftOut = len(s.lines) - i
			break
		}
		out.WriteString(line)
	}
	return out.String() + end, leftOut
}

func strong(s string) string { return "**" + s + "**" }

// codeTag formats a name inside HTML.
func codeTag(s string) string { return "<code>" + html.EscapeString(legible.Name(s)) + "</code>" }

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
			of := Report{Summary: p.summary()}
			if n := of.Count(warning.kind); n > 0 {
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
