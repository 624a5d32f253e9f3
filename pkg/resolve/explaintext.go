package resolve

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// WriteText writes the explanation for people.
func (e *Explanation) WriteText(w io.Writer) error {
	t := &textWriter{}
	for _, r := range e.Reasons {
		t.reason(0, r.Text, r)
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
		t.line(0, "OLM may install %s instead: it takes Subscriptions and operators in a random order.", some(names, "and"))
	}
	if e.Incomplete {
		t.line(0, "Not all reasons and changes were looked for, as there are too many.")
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// Behind returns the part of the explanation that is about what is not installed: why nothing can be or, for each
// decision with more preferred or newer bundles, why not those. It is empty if everything is up to date.
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

// IsEmpty reports whether there is nothing to say.
func (e *Explanation) IsEmpty() bool {
	return len(e.Decisions)+len(e.Reasons)+len(e.Changes)+len(e.Other) == 0 && !e.Incomplete
}

type textWriter struct{ strings.Builder }

func (t *textWriter) line(indent int, format string, args ...any) {
	t.WriteString(strings.Repeat("  ", indent) + legible.Name(fmt.Sprintf(format, args...)) + "\n")
}

// reason writes a reason and, below it, the reasons of that.
func (t *textWriter) reason(indent int, text string, r *Reason) {
	t.line(indent, "%s%s", text, places(r.Places))
	for _, because := range r.Because {
		t.reason(indent+1, because.Text, because)
	}
}

// places writes the first of the known places in parentheses.
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
		verb = ", met as well by "
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
		t.reason(1, "not "+some(r.names, "and")+", which "+r.says(), r)
	}
	if d.MoreRejected > 0 {
		t.line(1, "nor %s", plural.Of(d.MoreRejected, "other candidate"))
	}
	t.changes(1, "would give "+d.wanted, d.Changes)
}

// changes writes changes and what each of them does.
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
