package problem

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/opm-toolchain/opm/internal/nearest"
)

// A Rule is a requirement on checked objects. Problems, the flags that mute them, the reference and tests all use it.
type Rule struct {
	Name     string
	Severity Severity
	Summary  string // the requirement, as a sentence without a full stop
	Reason   string // the consequence of breaking it
	Fix      string // how to fix a problem; "" if its message says that

	// Bad and Good are files that, added to [Rules.Example], break or keep the rule. They contain YAML documents, each
	// of which replaces the object with the same schema, package and name; an unreadable document replaces nothing.
	Bad, Good string

	// Abridged explains why Bad only shows the mistake but does not break the rule itself; "" if it does break it.
	Abridged string

	// Schema is a CUE file of the user for the examples, and Config an opm.yaml; "" for none.
	Schema, Config string
}

// Rules are all rules about one kind of object, such as catalogs. They are immutable.
type Rules struct {
	Example string // a file that keeps every rule; "" for none

	groups []group
	all    []Rule
	byName map[string]*Rule
}

// A group is a range of rules about one part of the object: from the first up to the first of the next group.
type group struct {
	title string
	first int
}

// ParseRules reads a table of rules. It panics on mistakes, because tables are part of the program. A line is one of
//
//	@NAME                        starts a part of examples, followed by its lines; the part example is [Rules.Example]
//	# TITLE                      starts a group
//	## NAME: SEVERITY: SUMMARY   starts a rule
//	> FIX
//	! ABRIDGED
//	| a line of Schema
//	= a line of Config
//	- a line of Bad
//	+ a line of Good
//	  a line of both, after one space
//
// and all other lines are words: after a rule its reason, and before the first rule a comment on the table. The first
// character of an example line is followed by @NAME, which stands for the lines of that part, or by text, in which \t
// and \xef have the same meaning as in Go.
func ParseRules(text string) *Rules {
	p := parser{parts: map[string]string{}}
	for line := range strings.Lines(text) {
		p.line(strings.TrimSuffix(line, "\n"))
	}
	r := &p.rules
	r.Example = p.parts["example"]
	r.byName = make(map[string]*Rule, len(r.all))
	for i := range r.all {
		r.byName[r.all[i].Name] = &r.all[i]
	}
	return r
}

// Join returns the rules of both tables, whose names must differ, with the example of the first.
func Join(a, b *Rules) *Rules {
	joined := &Rules{Example: a.Example, all: slices.Concat(a.all, b.all), byName: map[string]*Rule{}}
	joined.groups = slices.Clone(a.groups)
	for _, g := range b.groups {
		joined.groups = append(joined.groups, group{g.title, g.first + len(a.all)})
	}
	for i := range joined.all {
		joined.byName[joined.all[i].Name] = &joined.all[i]
	}
	return joined
}

// A parser reads a table of rules.
type parser struct {
	rules Rules
	parts map[string]string // of examples
	part  string            // the current one
}

func (p *parser) line(line string) {
	if head, ok := strings.CutPrefix(line, "## "); ok {
		part := strings.SplitN(head, ": ", 3)
		p.rules.all = append(p.rules.all, Rule{Name: part[0], Severity: Severity(part[1]), Summary: part[2]})
		return
	}
	if title, ok := strings.CutPrefix(line, "# "); ok {
		p.rules.groups = append(p.rules.groups, group{title, len(p.rules.all)})
		return
	}
	if name, ok := strings.CutPrefix(line, "@"); ok {
		p.part = name
		return
	}
	if len(p.rules.all) == 0 {
		p.before(line)
		return
	}
	p.rule(&p.rules.all[len(p.rules.all)-1], line)
}

// before reads a line before the first rule.
func (p *parser) before(line string) {
	if text, ok := strings.CutPrefix(line, " "); ok {
		p.parts[p.part] += p.example(text)
		return
	}
}

// rule reads a line about a rule.
func (p *parser) rule(r *Rule, line string) {
	if line == "" {
		return
	}
	switch rest := line[1:]; line[0] {
	case '>':
		r.Fix = join(r.Fix, rest)
	case '!':
		r.Abridged = join(r.Abridged, rest)
	case '|':
		r.Schema += p.example(strings.TrimPrefix(rest, " "))
	case '=':
		r.Config += p.example(strings.TrimPrefix(rest, " "))
	case '-':
		r.Bad += p.example(rest)
	case '+':
		r.Good += p.example(rest)
	case ' ':
		r.Bad += p.example(rest)
		r.Good += p.example(rest)
	default:
		r.Reason = join(r.Reason, line)
	}
}

// example returns the text for a line of an example.
func (p *parser) example(line string) string {
	if name, ok := strings.CutPrefix(line, "@"); ok {
		part, known := p.parts[name]
		if !known {
			panic("no part " + line)
		}
		return part
	}
	return unescape.Replace(line) + "\n"
}

var unescape = strings.NewReplacer(`\t`, "\t", `\xef`, "\xef")

func join(text, line string) string { return strings.TrimSpace(text + " " + strings.TrimSpace(line)) }

// All returns all rules, grouped by subject, in the order of the reference.
func (r *Rules) All() []Rule { return slices.Clone(r.all) }

// Names returns the names of all rules.
func (r *Rules) Names() []string {
	names := make([]string, len(r.all))
	for i := range r.all {
		names[i] = r.all[i].Name
	}
	return names
}

// Titles returns the titles of all groups.
func (r *Rules) Titles() []string {
	titles := make([]string, len(r.groups))
	for i := range r.groups {
		titles[i] = r.groups[i].title
	}
	return titles
}

// Group returns the rules of a group.
func (r *Rules) Group(title string) []Rule {
	i := slices.IndexFunc(r.groups, func(g group) bool { return g.title == title })
	end := len(r.all)
	if i+1 < len(r.groups) {
		end = r.groups[i+1].first
	}
	return r.all[r.groups[i].first:end]
}

// Of returns the rule with the given name. It panics if there is none.
func (r *Rules) Of(name string) *Rule {
	rule := r.byName[name]
	if rule == nil {
		panic("no rule " + name)
	}
	return rule
}

// Has reports whether a rule has the given name.
func (r *Rules) Has(name string) bool { return r.byName[name] != nil }

// CheckNames returns an error about the first name that is not the name of a rule.
func (r *Rules) CheckNames(names []string) error {
	for _, name := range names {
		if !r.Has(name) {
			return fmt.Errorf("unknown rule %q%s", name, nearest.Hint(name, r.Names()))
		}
	}
	return nil
}

// WriteRule explains a rule, which must exist: its severity, the requirement and its reason, the fix, and a bad and a
// good example.
func (r *Rules) WriteRule(w io.Writer, name string) error {
	out := bufio.NewWriter(w)
	r.Of(name).write(out)
	return out.Flush()
}

// WriteTable writes one line per rule: its name, its severity and its requirement.
func (r *Rules) WriteTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range r.all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.all[i].Name, r.all[i].Severity, r.all[i].Summary)
	}
	return table.Flush()
}

func (r *Rule) write(out *bufio.Writer) {
	fmt.Fprintf(out, "%s (%s)\n", r.Name, r.Severity)
	writeParagraph(out, "  ", sentence(r.Summary)+" "+r.Reason)
	if r.Fix != "" {
		writeParagraph(out, "  ", "To do: "+r.Fix+".")
	}
	if r.Schema != "" {
		fmt.Fprintf(out, "\n  Given with --schema:\n\n")
		writeExample(out, r.Schema)
	}
	if r.Config != "" {
		fmt.Fprintf(out, "\n  With opm.yaml:\n\n")
		writeExample(out, r.Config)
	}
	if r.Bad == "" {
		return
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

// width is the width of a paragraph, in bytes.
const width = 100

// writeParagraph writes a wrapped paragraph, with indent before every line.
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

// writeExample writes a file. It shows intentionally invalid UTF-8 as a terminal would.
func writeExample(out *bufio.Writer, text string) {
	for line := range strings.Lines(strings.ToValidUTF8(text, "\ufffd")) {
		out.WriteString("    " + line)
	}
}
