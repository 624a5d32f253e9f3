package problem

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/opm-toolchain/opm/internal/nearest"
)

// A Rule is a requirement on checked objects. Problems, the flags that mute them, the reference and tests all use it. A
// package has a variable for each of its rules, so that checks cannot misspell a name.
type Rule struct {
	Name     string
	Severity Severity
	Summary  string // the requirement, as a sentence without a full stop
	Reason   string // the consequence of breaking it
	Fix      string // how to fix a problem; "" if its message says that

	files fs.FS // has the file of Example; set by NewRules
}

// A Group is a list of rules about one part of the checked objects.
type Group struct {
	Title string
	Rules []*Rule // in the order of the reference
}

// Rules are all rules about one kind of object, such as catalogs. They must not be changed.
type Rules struct {
	Example string   // a file that keeps every rule; "" for none
	Groups  []*Group // in the order of the reference

	all    []*Rule
	byName map[string]*Rule
}

// NewRules returns the rules of the groups, whose names must differ. The files have their examples, except those of
// rules that an earlier call gave files; see [Rule.Example].
func NewRules(example string, files fs.FS, groups ...*Group) *Rules {
	r := &Rules{Example: example, Groups: groups, byName: map[string]*Rule{}}
	for _, g := range groups {
		r.all = append(r.all, g.Rules...)
	}
	for _, rule := range r.all {
		if rule.files == nil {
			rule.files = files
		}
		r.byName[rule.Name] = rule
	}
	return r
}

// All returns all rules, grouped by subject, in the order of the reference.
func (r *Rules) All() []*Rule { return slices.Clone(r.all) }

// Names returns the names of all rules.
func (r *Rules) Names() []string {
	names := make([]string, len(r.all))
	for i, rule := range r.all {
		names[i] = rule.Name
	}
	return names
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
	for _, rule := range r.all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", rule.Name, rule.Severity, rule.Summary)
	}
	return table.Flush()
}

func (r *Rule) write(out *bufio.Writer) {
	fmt.Fprintf(out, "%s (%s)\n", r.Name, r.Severity)
	writeParagraph(out, sentence(r.Summary)+" "+r.Reason)
	if r.Fix != "" {
		writeParagraph(out, "To do: "+r.Fix+".")
	}
	e := r.Example()
	for _, part := range []struct{ title, text string }{
		{"Given with --schema", e.Schema}, {"With opm.yaml", e.Config}, {e.badTitle(), e.Bad}, {"Good", e.Good},
	} {
		if part.text != "" {
			fmt.Fprintf(out, "\n  %s:\n\n", part.title)
			writeLines(out, part.text)
		}
	}
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

const width = 100

// writeParagraph writes an indented paragraph.
func writeParagraph(out *bufio.Writer, text string) {
	const indent = "  "
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

// writeLines writes a file. It shows intentionally invalid UTF-8 as a terminal would.
func writeLines(out *bufio.Writer, text string) {
	for line := range strings.Lines(strings.ToValidUTF8(text, "\ufffd")) {
		out.WriteString("    " + line)
	}
}

// Off is the level of a rule that is not reported.
const Off Severity = "off"

// Levels are the severities that a user sets for rules, by name. The zero value changes nothing.
type Levels struct {
	Rules    map[string]Severity            // for all packages
	Packages map[string]map[string]Severity // by package name; they override Rules
	Strict   bool                           // turns warnings into errors, after the other levels apply
}

// Disabled returns levels at which the rules with these names are off.
func Disabled(names ...string) Levels {
	rules := map[string]Severity{}
	for _, name := range names {
		rules[name] = Off
	}
	return Levels{Rules: rules}
}

// of returns the severity of a problem at these levels.
func (l Levels) of(p *Problem) Severity {
	level, ok := l.Packages[p.Package][p.Rule]
	if !ok {
		level, ok = l.Rules[p.Rule]
	}
	if !ok {
		level = p.Severity
	}
	switch {
	case p.Known && level != Off:
		return Info
	case l.Strict && level == Warning:
		return Error
	}
	return level
}

// Apply sets the severities of problems and removes the problems that are [Off].
func (l Levels) Apply(problems []*Problem) []*Problem {
	for _, p := range problems {
		p.Severity = l.of(p)
	}
	return slices.DeleteFunc(problems, func(p *Problem) bool { return p.Severity == Off })
}

// Errors returns the rules that the user made errors in some package, in alphabetical order.
func (l Levels) Errors() []string {
	var names []string
	for _, rules := range append(slices.Collect(maps.Values(l.Packages)), l.Rules) {
		for name, level := range rules {
			if level == Error {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Always returns the names of the rules that have the severity in every package.
func (l Levels) Always(s Severity, rules *Rules) []string {
	var names []string
	for _, rule := range rules.all {
		p := Problem{Rule: rule.Name, Severity: rule.Severity}
		always := l.of(&p) == s
		for p.Package = range l.Packages {
			always = always && l.of(&p) == s
		}
		if always {
			names = append(names, p.Rule)
		}
	}
	return names
}
