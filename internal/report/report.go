// Package report writes one report in two formats: as text for a terminal and as Markdown.
//
//	r := &report.Report{}
//	r.Line("%s has problems", report.Name(catalog))
//	for _, p := range problems {
//		r.Item(1, "%s: %s", report.Name(p.Package), p.Message)
//	}
//	return r.Markdown(os.Stdout)
//
// All texts may hold anything. They are escaped when they are added, so that they can neither control a terminal nor
// act as Markdown or HTML. White space in them is written as one space. In the names, which [Name] marks, all
// characters are kept.
//
// A report is made once, of lines, nested lists and tables, for both formats. As it escapes everything, no caller can
// forget to.
package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
)

// A Report is a sequence of headings, lines, lists, tables and code. The zero value is empty.
type Report struct {
	blocks []block
	depths []int // of the list items that enclose the next one
}

// A block is a part of a report in both formats, without the last line break. An empty block is not written.
type block struct {
	text, markdown string
	apart          bool     // whether a blank line precedes the block in text
	item           bool     // a list item, which no blank line separates from the item before in Markdown
	folded         []string // items of a folded list in Markdown, as far as they fit into a comment
}

// Heading adds a heading for the next blocks; level 1 is the largest in Markdown.
func (r *Report) Heading(level int, title string) {
	marks := strings.Repeat("#", level) + " "
	r.add(block{text: terminal.line(title), markdown: marks + marked.line(title), apart: true})
}

// Line adds a line, which is a paragraph in Markdown.
func (r *Report) Line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	r.add(block{text: terminal.line(s), markdown: start(s)})
}

// Item adds an item to a list. It is below the last item with a lower depth. Text has the item as a line with twice as
// many spaces before it.
func (r *Report) Item(depth int, format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	above := r.depths
	for len(above) > 0 && above[len(above)-1] >= depth {
		above = above[:len(above)-1]
	}
	r.add(block{
		text:     strings.Repeat("  ", depth) + terminal.line(s),
		markdown: strings.Repeat("  ", len(above)) + "- " + start(strings.TrimPrefix(s, "- ")),
		item:     true,
	})
	r.depths = append(above, depth)
}

// List adds a list. If most is not 0 and the list in Markdown has more characters, it ends with the number of the items
// that do not fit.
func (r *Report) List(most int, items []string) {
	left := most
	for i, item := range items {
		r.Item(0, "%s", item)
		last := len(r.blocks) - 1
		if left -= utf8.RuneCountInString(r.blocks[last].markdown) + 1; most > 0 && left < 0 {
			r.blocks = r.blocks[:last]
			r.Item(0, "and %s more", plural.Number(len(items)-i))
			return
		}
	}
}

// Fold adds a list below a title, which is folded in Markdown.
func (r *Report) Fold(title string, items []string) {
	lines, folded := []string{terminal.line(title)}, []string{}
	for _, item := range items {
		lines = append(lines, "  "+terminal.line(item))
		folded = append(folded, "- "+start(item))
	}
	summary := "<details><summary>" + tags.line(title) + "</summary>\n"
	r.add(block{text: strings.Join(lines, "\n"), markdown: summary, apart: true, folded: folded})
}

// Table adds a table. In text, column titles are in capitals, except for names. A title that ends in a colon is for a
// column of numbers, which Markdown aligns on the right.
func (r *Report) Table(columns []string, rows [][]string) {
	var titles, rules []string
	for _, c := range columns {
		title, isNumber := strings.CutSuffix(c, ":")
		titles, rules = append(titles, title), append(rules, "---")
		if isNumber {
			rules[len(rules)-1] = "---:"
		}
	}
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, capitals.row(titles, "\t"))
	lines := []string{inTable.row(titles, " | "), strings.Join(rules, " | ")}
	for _, cells := range rows {
		fmt.Fprintln(t, terminal.cells(cells, "\t"))
		lines = append(lines, inTable.cells(cells, " | "))
	}
	_ = t.Flush() // writing to a Builder does not fail
	r.add(block{text: strings.TrimSuffix(text.String(), "\n"), markdown: "| " + strings.Join(lines, " |\n| ") + " |"})
}

// Code adds lines of code.
func (r *Report) Code(code string) {
	lines := strings.Split(strings.TrimSuffix(code, "\n"), "\n")
	for i := range lines {
		lines[i] = legible.Name(lines[i])
	}
	text, around := strings.Join(lines, "\n"), fence(code, 3)
	r.add(block{text: text, markdown: around + "\n" + text + "\n" + around, apart: true})
}

// InText replaces the last block in text by lines, such as a heading whose words are clear on a terminal.
func (r *Report) InText(lines ...string) {
	r.blocks[len(r.blocks)-1].text = terminal.row(lines, "\n")
}

// Add adds the blocks of another report.
func (r *Report) Add(other *Report) { r.add(other.blocks...) }

func (r *Report) add(blocks ...block) { r.blocks, r.depths = append(r.blocks, blocks...), nil }

// Text writes the report for a terminal.
func (r *Report) Text(w io.Writer) error {
	var out strings.Builder
	for _, b := range r.blocks {
		if b.text == "" {
			continue
		}
		if b.apart && out.Len() > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(b.text + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// MaxComment is the maximum length of a comment on GitHub, in characters; other forges allow more.
const MaxComment = 65_536

// Markdown writes the report as Markdown. Of folded lists, it writes the items that fit into a comment on GitHub, and
// then the number of the others.
func (r *Report) Markdown(w io.Writer) error {
	const notice = "\n%s left out, since a comment cannot be longer; -o json has everything.\n"
	left := MaxComment - len(notice) - len("1000000000 lines")
	for _, b := range r.blocks {
		if b.folded == nil {
			left -= utf8.RuneCountInString(b.markdown) + len("\n\n")
		}
	}
	var out strings.Builder
	leftOut := 0
	for i, b := range r.blocks {
		text := b.markdown
		if b.folded != nil {
			list, n := b.fold(left)
			text = list
			left -= utf8.RuneCountInString(text) + len("\n\n")
			leftOut += len(b.folded) - n
		}
		if text == "" {
			continue
		}
		if i > 0 && !(b.item && r.blocks[i-1].item) {
			out.WriteByte('\n')
		}
		out.WriteString(text + "\n")
	}
	if leftOut > 0 {
		fmt.Fprintf(&out, notice, plural.Of(leftOut, "line"))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// fold returns a folded list with as many items as fit into most characters, and their number. If no item fits, the
// list is empty.
func (b block) fold(most int) (list string, n int) {
	const end = "\n\n</details>"
	most -= utf8.RuneCountInString(b.markdown + end)
	for n < len(b.folded) {
		if most -= utf8.RuneCountInString(b.folded[n]) + 1; most < 0 {
			break
		}
		n++
	}
	if n == 0 {
		return "", 0
	}
	return b.markdown + "\n" + strings.Join(b.folded[:n], "\n") + end, n
}
