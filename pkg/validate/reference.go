package validate

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

const referenceIntro = `Upstream is the opm of Operator Framework. An error is what it rejects: no registry serves
such a catalog. A warning is what it accepts, and what a cluster, a registry or a user trips over. The examples are
changes of the catalog at the end: each object takes the place of the one with the same schema, package and name.`

// WriteRules writes the reference of all rules: name, severity, what is asked for and why, what to do, and an example
// of each kind.
func WriteRules(w io.Writer) error {
	out := bufio.NewWriter(w)
	writeParagraph(out, "", referenceIntro)
	for _, g := range groups {
		fmt.Fprintf(out, "\n%s\n%s\n", strings.ToUpper(g.title), strings.Repeat("=", len(g.title)))
		for i := range g.rules {
			g.rules[i].write(out)
		}
	}
	fmt.Fprintf(out, "\nTHE CATALOG OF THE EXAMPLES\n%s\n\n", strings.Repeat("=", 27))
	writeExample(out, Example)
	return out.Flush()
}

func (r *Rule) write(out *bufio.Writer) {
	fmt.Fprintf(out, "\n%s (%s)\n", r.Name, r.Severity)
	writeParagraph(out, "  ", sentence(r.Summary)+" "+r.Reason)
	if r.Fix != "" {
		writeParagraph(out, "  ", "To do: "+r.Fix+".")
	}
	if r.Schema != "" {
		fmt.Fprintf(out, "\n  Given with --schema:\n\n")
		writeExample(out, r.Schema)
	}
	bad := "Bad"
	if r.Abridged != "" {
		bad += " (" + r.Abridged + ")"
	}
	fmt.Fprintf(out, "\n  %s:\n\n", bad)
	writeExample(out, r.Bad)
	fmt.Fprintf(out, "\n  Good:\n\n")
	writeExample(out, r.Good)
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// width is that of a paragraph, in bytes.
const width = 100

// writeParagraph writes words, with indent before every line.
func writeParagraph(out *bufio.Writer, indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == indent:
			line += word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			fmt.Fprintln(out, line)
			line = indent + word
		}
	}
	fmt.Fprintln(out, line)
}

// writeExample writes a file. What is not UTF-8 in it on purpose is shown as terminals do.
func writeExample(out *bufio.Writer, text string) {
	for line := range strings.Lines(strings.ToValidUTF8(text, "\ufffd")) {
		out.WriteString("    " + line)
	}
}
