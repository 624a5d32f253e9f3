package resolve

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// WriteText writes at most limit lines of the explanation for people; 0 means all. If the explanation is longer, it
// omits the most deeply indented lines, from the end, and adds a last line with the number of omitted lines and the
// hint, which says where to read them.
func (e *Explanation) WriteText(w io.Writer, limit int, hint string) error {
	t := &textWriter{}
	for _, r := range e.Reasons {
		t.writeReason(0, r.Text, r)
	}
	t.changes(0, "would help", e.Changes)
	for i := range e.Decisions {
		t.decision(&e.Decisions[i])
	}
	if e.Other != nil {
		var names []string
		for _, c := range e.Other {
			names = append(names, c.Bundle)
		}
		t.line(0, "OLM may install %s instead: it takes Subscriptions and operators in a random order.",
			firstNames(names, "and"))
	}
	if e.Incomplete {
		t.line(0, "Not all reasons and changes were looked for, as there are too many.")
	}
	return t.write(w, limit, hint)
}

// Behind returns the part of the explanation about bundles that are not installed: why nothing can be installed or, for
// each decision, why more preferred or newer bundles were not chosen. It is empty if everything is up to date.
func (e *Explanation) Behind() *Explanation {
	behind := &Explanation{Reasons: e.Reasons, Incomplete: e.Incomplete}
	if e.Reasons != nil {
		behind.Changes = e.Changes
	}
	for _, d := range e.Decisions {
		if d.Rejected != nil {
			d.Preferred = nil
			behind.Decisions = append(behind.Decisions, d)
		}
	}
	return behind
}

// IsEmpty reports whether there is nothing to explain.
func (e *Explanation) IsEmpty() bool {
	return len(e.Decisions)+len(e.Reasons)+len(e.Changes)+len(e.Other) == 0 && !e.Incomplete
}

type textWriter struct{ strings.Builder }

func (t *textWriter) line(indent int, format string, args ...any) {
	t.WriteString(strings.Repeat("  ", indent) + legible.Name(fmt.Sprintf(format, args...)) + "\n")
}

// write writes the text as described at [Explanation.WriteText].
func (t *textWriter) write(w io.Writer, limit int, hint string) error {
	text := t.String()
	if all := strings.Count(text, "\n"); limit > 0 && all > limit {
		text = shorten(text, limit-1) + fmt.Sprintf("(%d more lines %s)\n", all-limit+1, hint)
	}
	_, err := io.WriteString(w, text)
	return err
}

// shorten keeps a limited number of lines of a text: all lines above some depth, and the first lines of that depth. A
// list item has the depth of the line above the list.
func shorten(text string, limit int) string {
	var depths []int // of each line
	var count []int  // by depth
	for line := range strings.Lines(text) {
		item := strings.TrimLeft(line, " ")
		depth := (len(line) - len(item)) / 2
		if strings.HasPrefix(item, "- ") {
			depth--
		}
		depths = append(depths, depth)
		for len(count) <= depth {
			count = append(count, 0)
		}
		count[depth]++
	}
	deepest := 0
	for ; count[deepest] <= limit; deepest++ {
		limit -= count[deepest]
	}
	var kept strings.Builder
	i := 0
	for line := range strings.Lines(text) {
		keep := depths[i] < deepest
		if depths[i] == deepest && limit > 0 {
			keep = true
			limit--
		}
		if i++; keep {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// writeReason writes a reason and, indented below it, its own reasons.
func (t *textWriter) writeReason(indent int, text string, r *Reason) {
	t.line(indent, "%s%s", text, places(r.Places))
	for _, because := range r.Because {
		t.writeReason(indent+1, because.Text, because)
	}
}

// places formats the first known places, in parentheses.
func places(all []declcfg.Pos) string {
	var texts []string
	for _, p := range known(slices.Clone(all)...) {
		if text := p.String(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	switch {
	case texts == nil:
		return ""
	case len(texts) > 2:
		texts = append(texts[:2], "…")
	}
	return " (" + strings.Join(texts, ", ") + ")"
}

func (t *textWriter) decision(d *Decision) {
	verb := " gets "
	switch {
	case d.Subscription == "" && d.Reused:
		verb = ", also met by "
	case d.Subscription == "":
		verb = ", met by "
	case d.Installed:
		verb = " keeps "
	}
	t.line(0, "%s%s%s%s", d.who, places([]declcfg.Pos{d.Place}), verb, d.chosen)
	for _, p := range d.Preferred {
		t.line(1, "rather than %s: %s", p.over, p.Rule)
	}
	for _, r := range d.Rejected {
		t.writeReason(1, "not "+firstNames(r.names, "and")+", which "+r.predicate(), r)
	}
	if d.MoreRejected > 0 {
		t.line(1, "nor %s", plural.Of(d.MoreRejected, "other candidate"))
	}
	t.changes(1, "would give "+d.wanted, d.Changes)
}

// changes writes changes with their effect.
func (t *textWriter) changes(indent int, does string, changes []Change) {
	switch len(changes) {
	case 0:
	case 1:
		t.line(indent, "This %s:", does)
	default:
		t.line(indent, "Each of these %s:", does)
	}
	for _, c := range changes {
		t.line(indent+1, "- %s%s", c.Text, places(c.Places))
	}
}

// name returns the name of a variable for people.
func (x *explainer) name(v int) string {
	if r := x.subscription(v); r != nil {
		return "Subscription " + r.Name
	}
	b := x.variables[v]
	switch {
	case b.bundle.installed != nil:
		return "the installed " + b.bundle.name
	case x.names[b.bundle.name] > 1:
		return x.origin(v)
	}
	return b.bundle.name
}

// origin returns the name of a variable with its channel and, if there are several, its catalog.
func (x *explainer) origin(v int) string {
	e := x.variables[v]
	if e.bundle.installed != nil {
		return x.name(v)
	}
	from := e.bundle.name + " from channel " + e.channel.name
	if len(x.q.catalogs) > 2 {
		from += " of catalog " + e.catalog.Name
	}
	return from
}

// namesOf returns the names of variables for people, without duplicates.
func (x *explainer) namesOf(variables []int) []string {
	if len(variables) == 1 {
		return []string{x.name(variables[0])}
	}
	var names []string
	named := map[string]bool{}
	for _, v := range variables {
		name, bundle := x.name(v), x.identifier(v)
		if x.subscription(v) == nil {
			bundle = x.variables[v].bundle.name
			if x.variables[v].bundle.installed == nil {
				name = bundle
			}
		}
		if !named[bundle] {
			named[bundle] = true
			names = append(names, name)
		}
	}
	return names
}

const maxListed = 3

// firstNames lists the first few names, with "and" or "or" before the last.
func firstNames(names []string, word string) string {
	if n := len(names) - maxListed; n > 1 {
		names = append(slices.Clone(names[:maxListed]), fmt.Sprintf("%d others", n))
	}
	if len(names) == 1 {
		return names[0]
	}
	return list(names, word)
}

// requirementText describes a requirement for people.
func requirementText(r requirement) string {
	switch r := r.(type) {
	case requiredGVK:
		return "an operator that provides " + nameGVK(declcfg.GVK(r))
	case *requiredPackage:
		return fmt.Sprintf("package %s %q", r.PackageName, r.VersionRange)
	case requiredAny:
		if len(r) == 0 {
			return "one of several operators, and lists none"
		}
		terms := make([]string, len(r))
		for i, term := range r {
			terms[i] = requirementText(term)
		}
		return strings.Join(terms, " or ")
	}
	return "an operator " + r.String()
}

// missing explains why no bundle satisfies a requirement.
func (q *question) missing(r requirement) string {
	for _, c := range q.catalogs {
		// All results of CEL rules are cached.
		found, err := satisfying(context.Background(), r, r.possibleProviders(c.list()))
		if err == nil && len(found) > 0 {
			const hidden = "; %s satisfies it, but is skipped or not reached from the head of its channel"
			return fmt.Sprintf(hidden, found[0].bundle.name)
		}
	}
	p, ok := r.(*requiredPackage)
	if !ok {
		return "; there is none"
	}
	versions := q.versions(p.PackageName)
	if len(versions) == 0 {
		return "; no catalog has the package"
	}
	return "; there is only " + firstNames(versions, "and")
}
