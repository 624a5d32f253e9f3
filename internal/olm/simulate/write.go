package simulate

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/report"
)

// maxExplanation is the maximum number of lines of an explanation in a summary.
const maxExplanation = 10

// Report returns the Outcomes, the other objects that wait, and the numbers of changed objects of each kind.
func (r *Result) Report() *report.Report {
	out := AssumedReport(r.Contents, r.Assumed)
	out.Line("%s", endText(r))
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		out.Item(0, "%s: %s", report.Name(o.Object.String()), o.versions())
		o.addReasons(out)
	}
	for _, o := range r.otherWaiting() {
		out.Item(0, "%s", legible.Message(o.String()))
	}
	var rows [][]string
	for _, c := range r.counts() {
		rows = append(rows, []string{c.kind, number(c.created), number(c.updated), number(c.deleted)})
	}
	if rows != nil {
		out.Table([]string{"kind", "created:", "updated:", "deleted:"}, rows)
	}
	return r.end(out)
}

// versions describes the bundles that were installed before, are installed after, and are next.
func (o *Outcome) versions() string {
	before, after := report.Name(o.Before), report.Name(o.After)
	text := before + " -> " + cmp.Or(after, "nothing")
	switch {
	case o.Before == o.After && o.After == "":
		text = "nothing is installed"
	case o.Before == o.After:
		text = after + " stays"
	case o.Before == "":
		text = after + " is installed"
	}
	switch o.Phase {
	case "", string(v1alpha1.CSVPhaseSucceeded):
	case phaseMissing:
		text += " by its status, but there is no such ClusterServiceVersion"
	default:
		text += ", in phase " + o.Phase
	}
	if o.Next != "" {
		text += ", " + report.Name(o.Next) + " is next"
	}
	return text
}

// addReasons adds the reasons why the object is not updated, and actions that would help.
func (o *Outcome) addReasons(out *report.Report) {
	explained := o.Explanation != nil || o.failedPlan != "" || o.inConflict && len(o.BlockedBy) > 0 ||
		slices.ContainsFunc(o.Waiting, o.isAboutOther)
	if o.failedPlan != "" {
		out.Item(1, "%s", legible.Message(o.failedPlan))
	}
	for _, w := range o.Waiting {
		switch {
		case o.isAboutOther(w):
			out.Item(1, "%s", legible.Message(w.String()))
		case !explained: // otherwise it follows from the other lines
			out.Item(1, "waits for %s", legible.Message(w.For+verdictSuffix(w.Verdict)))
		}
	}
	for _, b := range o.BlockedBy {
		by, message := legible.Message(b.Object.named()), legible.Message(b.Message)
		out.Item(1, "blocked by %s in the same namespace: %s", by, message)
	}
	var why strings.Builder
	if o.Explanation != nil {
		_ = o.Explanation.WriteText(&why, maxExplanation, "in JSON") // writing to a Builder does not fail
	} else if o.extension != nil {
		_ = o.extension.WriteText(&why, maxExplanation, "in JSON")
	}
	for line := range strings.Lines(why.String()) {
		text := strings.TrimLeft(line, " ")
		out.Item(1+(len(line)-len(text))/2, "%s", legible.Message(text))
	}
	for _, help := range o.Help {
		out.Item(1, "would help: %s", legible.Message(help))
	}
}

// named returns the kind and name, without the namespace.
func (r Ref) named() string { return r.Kind + " " + r.Name }

// otherWaiting returns the elements of Waiting that are in no Outcome.
func (r *Result) otherWaiting() []Wait {
	inOutcome := map[Ref]bool{}
	for _, o := range r.Outcomes {
		for _, w := range o.Waiting {
			inOutcome[w.Object] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.Waiting), func(w Wait) bool { return inOutcome[w.Object] })
}

// A kindCount is the number of created, updated and deleted objects of a kind. An object that is created and deleted
// counts as both, and updates of a created or deleted object do not count.
type kindCount struct {
	kind                      string
	created, updated, deleted int
}

// number returns a number as text, "-" for zero.
func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// counts returns the number of changed objects of each kind.
func (r *Result) counts() []kindCount {
	type changes struct{ first, last cluster.Change }
	objects := map[Ref]changes{}
	for _, e := range r.Events {
		objects[e.Object] = changes{cmp.Or(objects[e.Object].first, e.Change), e.Change}
	}
	counts := map[string]kindCount{}
	for ref, o := range objects {
		c := counts[ref.Kind]
		c.kind = ref.Kind
		if o.first == cluster.Created {
			c.created++
		}
		if o.last == cluster.Deleted {
			c.deleted++
		}
		if o.first != cluster.Created && o.last != cluster.Deleted {
			c.updated++
		}
		counts[ref.Kind] = c
	}
	return slices.SortedFunc(maps.Values(counts), func(a, b kindCount) int { return strings.Compare(a.kind, b.kind) })
}

// changeSigns are the signs of changes in the timeline.
var changeSigns = map[cluster.Change]string{cluster.Created: "+", cluster.Updated: "~", cluster.Deleted: "-"}

// Timeline returns the Events by step, and the objects that wait at the end. Events that differ only in their objects
// share a line. A reason is omitted if the previous event has it, or the last event of the step with the same kind and
// change.
func (r *Result) Timeline() *report.Report {
	out := AssumedReport(r.Contents, r.Assumed)
	type subject struct {
		kind   string
		change cluster.Change
	}
	step, last, reasons := 0, "", map[subject]string{}
	for e := range r.lines() {
		if e.Step != step {
			step, last = e.Step, ""
			clear(reasons)
			out.Item(0, "step %d", step)
		}
		sign := report.Name(changeSigns[e.Change])
		out.Item(1, "%s %s: %s", sign, report.Name(e.objects), legible.Message(e.Text))
		of, reason := subject{e.Object.Kind, e.Change}, e.Why+verdictSuffix(e.Verdict)
		if e.Minutes > 0 {
			reason += ", after " + plural.Of(e.Minutes, "minute")
		}
		if reason != last && reason != reasons[of] {
			last = reason
			out.Item(3, "%s", legible.Message(reason))
		}
		reasons[of] = reason
	}
	out.Line("%s", endText(r))
	for _, o := range r.Waiting {
		out.Item(1, "%s", legible.Message(o.String()))
	}
	return r.end(out)
}

// AssumedReport returns a report of the contents and the assumptions.
func AssumedReport(contents []install.Origin, assumed []string) *report.Report {
	out := &report.Report{}
	for _, c := range contents {
		out.Item(0, "contents of %s: %s", report.Name(c.Object()), legible.Message(c.Text()))
	}
	for _, a := range assumed {
		out.Item(0, "assumed: %s", legible.Message(a))
	}
	return out
}

// end adds the verdict about OpenShift and the changes to a report.
func (r *Result) end(out *report.Report) *report.Report {
	for i, line := range r.OpenShift.lines() {
		if i == 0 {
			out.Line("%s", line)
		} else {
			out.Item(0, "%s", legible.Message(line))
		}
	}
	if len(r.Changes) > 0 {
		var text strings.Builder
		_ = cluster.WriteDiff(&text, r.Changes) // writing to a Builder does not fail
		out.Code(text.String())
	}
	return out
}

// A line is a sequence of Events that differ only in the names of their objects.
type line struct {
	Event          // the first Event
	objects string // the names of all objects
}

// lines yields the lines of the Events.
func (r *Result) lines() iter.Seq[line] {
	return func(yield func(line) bool) {
		for rest := r.Events; len(rest) > 0; {
			first := rest[0]
			names := []string{first.Object.String()}
			for _, e := range rest[1:] {
				same := e
				same.Object, same.Place = first.Object, first.Place
				if same != first || e.Object.Kind != first.Object.Kind {
					break
				}
				names = append(names, strings.TrimPrefix(e.Object.String(), e.Object.Kind+" "))
			}
			if rest = rest[len(names):]; !yield(line{first, plural.Some(names)}) {
				return
			}
		}
	}
}

// lines describes the verdict.
func (o *OpenShift) lines() []string {
	if o == nil {
		return nil
	}
	if o.Upgradeable {
		return []string{"OpenShift " + o.Version + " can be updated to the next minor version"}
	}
	lines := []string{"OpenShift " + o.Version + " cannot be updated to the next minor version:"}
	for _, b := range o.Blocked {
		lines = append(lines, b.Message)
	}
	return lines
}

// verdictSuffix returns a verdict in parentheses, "" for Computed.
func verdictSuffix(v Verdict) string {
	if v == Computed {
		return ""
	}
	return " (" + string(v) + ")"
}

// endText describes the end of a simulation.
func endText(r *Result) string {
	steps := plural.Of(r.Steps, "step")
	if !r.Idle {
		return "stopped after " + steps
	}
	if r.Steps == 0 {
		return "nothing changes"
	}
	return "no changes after " + steps
}
