package diff

import (
	"bufio"
	"fmt"
	"html"
	"io"
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
