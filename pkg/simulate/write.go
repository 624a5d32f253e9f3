package simulate

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/markdown"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/cluster"
)

// maxExplanation is the maximum number of lines of an explanation in a summary.
const maxExplanation = 10

// WriteText writes the Outcomes, the other objects that wait, and the numbers of changed objects of each kind.
func (r *Result) WriteText(out io.Writer) error {
	w := new(strings.Builder)
	r.writeAssumed(w)
	fmt.Fprintln(w, ending(r))
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		fmt.Fprintf(w, "%s: %s\n", legible.Name(o.Object.String()), legible.Name(o.versions()))
		for _, line := range o.lines() {
			text := strings.TrimLeft(line, " ")
			fmt.Fprintf(w, "  %s%s\n", line[:len(line)-len(text)], sentence(text))
		}
	}
	for _, o := range r.otherWaiting() {
		fmt.Fprintln(w, sentence(o.String()))
	}
	if counts := r.counts(); counts != nil {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "KIND\tCREATED\tUPDATED\tDELETED")
		for _, c := range counts {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", legible.Name(c.kind), number(c.created), number(c.updated), number(c.deleted))
		}
		t.Flush()
	}
	return r.writeEnd(out, w)
}

// WriteMarkdown writes the same content as WriteText, as lists and a table.
func (r *Result) WriteMarkdown(out io.Writer) error {
	w := new(strings.Builder)
	fmt.Fprintf(w, "%s.\n\n", ending(r))
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		fmt.Fprintf(w, "- %s: %s\n", markdown.Code(o.Object.String()), markdown.Escape(o.versions()))
		for _, line := range o.lines() {
			text := strings.TrimLeft(line, " ")
			fmt.Fprintf(w, "  %s- %s\n", line[:len(line)-len(text)], markdown.Escape(strings.TrimPrefix(text, "- ")))
		}
	}
	writeWaiting(w, r.otherWaiting())
	if counts := r.counts(); counts != nil {
		fmt.Fprint(w, "\n| kind | created | updated | deleted |\n| --- | ---: | ---: | ---: |\n")
		for _, c := range counts {
			fmt.Fprintf(w, "| %s | %s | %s | %s |\n", markdown.Escape(c.kind), number(c.created), number(c.updated),
				number(c.deleted))
		}
	}
	return r.writeMarkdownEnd(out, w)
}

// versions describes the bundles that were installed before, are installed after, and are next.
func (o *Outcome) versions() string {
	text := o.Before + " -> " + cmp.Or(o.After, "nothing")
	switch {
	case o.Before == o.After && o.After == "":
		text = "nothing is installed"
	case o.Before == o.After:
		text = o.After + " stays"
	case o.Before == "":
		text = o.After + " is installed"
	}
	switch o.Phase {
	case "", string(v1alpha1.CSVPhaseSucceeded):
	case phaseMissing:
		text += " by its status, but there is no such ClusterServiceVersion"
	default:
		text += ", in phase " + o.Phase
	}
	if o.Next != "" {
		text += ", " + o.Next + " is next"
	}
	return text
}

// lines describe the reasons why the object is not updated, and actions that would help.
func (o *Outcome) lines() []string {
	var lines []string
	explained := o.Explanation != nil || o.inConflict && len(o.BlockedBy) > 0 ||
		slices.ContainsFunc(o.Waiting, o.isAboutOther)
	for _, w := range o.Waiting {
		switch {
		case o.isAboutOther(w):
			lines = append(lines, w.String())
		case !explained: // otherwise it follows from the other lines
			lines = append(lines, "waits for "+w.For+mark(w.Verdict))
		}
	}
	for _, b := range o.BlockedBy {
		lines = append(lines, fmt.Sprintf("blocked by %s in the same namespace: %s", b.Object.named(), b.Message))
	}
	var why strings.Builder
	if o.Explanation != nil {
		_ = o.Explanation.WriteShort(&why, maxExplanation, "in JSON") // writing to a Builder does not fail
	} else if o.extension != nil {
		_ = o.extension.WriteShort(&why, maxExplanation, "in JSON")
	}
	lines = append(lines, slices.Collect(strings.SplitSeq(strings.TrimSuffix(why.String(), "\n"), "\n"))...)
	for _, help := range o.Help {
		lines = append(lines, "would help: "+help)
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
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

// WriteTimeline writes the Events by step, and the objects that wait at the end. Events that differ only in their
// objects share a line. A reason is omitted if the previous event has it, or the last event of the step with the
// same kind and change.
func (r *Result) WriteTimeline(out io.Writer) error {
	w := new(strings.Builder)
	r.writeAssumed(w)
	type subject struct {
		kind   string
		change cluster.Change
	}
	step, last, reasons := 0, "", map[subject]string{}
	for e := range r.lines() {
		if e.Step != step {
			step, last = e.Step, ""
			clear(reasons)
			fmt.Fprintf(w, "step %d\n", step)
		}
		fmt.Fprintf(w, "  %s %s: %s\n", changeSigns[e.Change], legible.Name(e.objects), sentence(e.Text))
		of, reason := subject{e.Object.Kind, e.Change}, e.Why+mark(e.Verdict)
		if reason != last && reason != reasons[of] {
			last = reason
			fmt.Fprintf(w, "      %s\n", sentence(reason))
		}
		reasons[of] = reason
	}
	fmt.Fprintln(w, ending(r))
	for _, o := range r.Waiting {
		fmt.Fprintf(w, "  %s\n", sentence(o.String()))
	}
	return r.writeEnd(out, w)
}

func (r *Result) writeAssumed(w io.Writer) {
	for _, a := range r.Assumed {
		fmt.Fprintf(w, "assumed: %s\n", sentence(a))
	}
}

// writeEnd writes the buffered text, followed by the verdict about OpenShift and the changes.
func (r *Result) writeEnd(out io.Writer, w *strings.Builder) error {
	for _, line := range r.OpenShift.lines() {
		fmt.Fprintln(w, sentence(line))
	}
	if len(r.Changes) > 0 {
		fmt.Fprintln(w)
		_ = cluster.WriteDiff(w, r.Changes) // writing to a Builder does not fail
	}
	_, err := io.WriteString(out, w.String())
	return err
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

// lines describe the verdict.
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

func sentence(text string) string { return legible.Text(legible.Message(text)) }

// mark returns a verdict in parentheses, "" for Computed.
func mark(v Verdict) string {
	if v == Computed {
		return ""
	}
	return " (" + string(v) + ")"
}

// ending describes the end of a simulation.
func ending(r *Result) string {
	steps := plural.Of(r.Steps, "step")
	if !r.Idle {
		return "stopped after " + steps
	}
	if r.Steps == 0 {
		return "nothing changes"
	}
	return "no changes after " + steps
}

// WriteMarkdownTimeline writes the Events as a table, and the objects that wait and the assumptions as lists.
func (r *Result) WriteMarkdownTimeline(out io.Writer) error {
	w := new(strings.Builder)
	if len(r.Events) > 0 {
		fmt.Fprint(w, "| step | object | | what | why |\n| ---: | --- | --- | --- | --- |\n")
	}
	for e := range r.lines() {
		fmt.Fprintf(w, "| %d | %s | %s | %s | %s |\n", e.Step, markdown.Code(e.objects), e.Change,
			markdown.Escape(e.Text), markdown.Escape(e.Why+mark(e.Verdict)))
	}
	if len(r.Events) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s.\n", ending(r))
	writeWaiting(w, r.Waiting)
	return r.writeMarkdownEnd(out, w)
}

func writeWaiting(w io.Writer, all []Wait) {
	markdown.List(w, "Waiting", all, func(o Wait) string {
		return markdown.Code(o.Object.String()) + " for " + markdown.Escape(o.For+mark(o.Verdict))
	})
}

// writeMarkdownEnd writes the buffered text, followed by the assumptions, the verdict about OpenShift, and the changes
// as code.
func (r *Result) writeMarkdownEnd(out io.Writer, w *strings.Builder) error {
	markdown.List(w, "Assumed", r.Assumed, markdown.Escape)
	if lines := r.OpenShift.lines(); lines != nil {
		fmt.Fprintf(w, "\n%s\n", markdown.Escape(lines[0]))
		markdown.List(w, "Blocked", lines[1:], markdown.Escape)
	}
	if len(r.Changes) > 0 {
		fmt.Fprint(w, "\nChanges:\n\n")
		var text strings.Builder
		_ = cluster.WriteDiff(&text, r.Changes)
		for line := range strings.Lines(text.String()) {
			fmt.Fprintf(w, "    %s", line) // indented code: no content can close it
		}
	}
	_, err := io.WriteString(out, w.String())
	return err
}
