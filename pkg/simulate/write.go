package simulate

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/markdown"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/cluster"
)

// actionSigns are how the timeline shows what happens to an object.
var actionSigns = map[Action]string{Created: "+", Updated: "~", Deleted: "-"}

// WriteText writes what happens by step. Events that differ only in their objects share a line. A reason is not
// repeated for the next event, nor in a step for objects of the same kind.
func (r *Result) WriteText(out io.Writer) error {
	w := new(strings.Builder)
	for _, a := range r.Assumed {
		fmt.Fprintf(w, "assumed: %s\n", legible.Text(legible.Message(a)))
	}
	type subject struct {
		kind   string
		action Action
	}
	step, last, reasons := 0, "", map[subject]string{}
	for e := range r.lines() {
		if e.Step != step {
			step, last = e.Step, ""
			clear(reasons)
			fmt.Fprintf(w, "step %d\n", step)
		}
		fmt.Fprintf(w, "  %s %s: %s\n", actionSigns[e.Action], legible.Name(e.objects), sentence(e.Text))
		of, reason := subject{e.Object.Kind, e.Action}, e.Why+mark(e.Verdict)
		if reason != last && reason != reasons[of] {
			last = reason
			fmt.Fprintf(w, "      %s\n", sentence(reason))
		}
		reasons[of] = reason
	}
	fmt.Fprintln(w, ending(r))
	for _, o := range r.Waiting {
		fmt.Fprintf(w, "  %s waits for %s%s\n", legible.Name(o.Object.String()), sentence(o.For), mark(o.Verdict))
	}
	for _, line := range r.OpenShift.lines() {
		fmt.Fprintln(w, sentence(line))
	}
	if len(r.Changes) > 0 {
		fmt.Fprintln(w)
		_ = cluster.WriteDiff(w, r.Changes) // which takes any text
	}
	_, err := io.WriteString(out, w.String())
	return err
}

// A line shows events that follow each other and differ only in the names of their objects.
type line struct {
	Event          // the first
	objects string // all
}

// lines yields the events.
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
			if rest = rest[len(names):]; !yield(line{first, some(names)}) {
				return
			}
		}
	}
}

// lines are the verdict in words.
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

// mark says how certain something is that is not computed.
func mark(v Verdict) string {
	if v == Computed {
		return ""
	}
	return " (" + string(v) + ")"
}

// ending says how a simulation ended.
func ending(r *Result) string {
	steps := plural.Of(r.Steps, "step")
	if !r.Idle {
		return "stopped after " + steps
	}
	if r.Steps == 0 {
		return "nothing changes"
	}
	return "nothing changes any more after " + steps
}

// WriteMarkdown writes what happens as a table, what waits and what is assumed as lists.
func (r *Result) WriteMarkdown(out io.Writer) error {
	w := new(strings.Builder)
	if len(r.Events) > 0 {
		fmt.Fprint(w, "| step | object | | what | why |\n| ---: | --- | --- | --- | --- |\n")
	}
	for e := range r.lines() {
		fmt.Fprintf(w, "| %d | %s | %s | %s | %s |\n", e.Step, markdown.Code(e.objects), e.Action,
			markdown.Escape(e.Text), markdown.Escape(e.Why+mark(e.Verdict)))
	}
	if len(r.Events) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s.\n", ending(r))
	writeList(w, "Waiting", r.Waiting, func(o Wait) string {
		return markdown.Code(o.Object.String()) + " for " + markdown.Escape(o.For+mark(o.Verdict))
	})
	writeList(w, "Assumed", r.Assumed, markdown.Escape)
	if lines := r.OpenShift.lines(); lines != nil {
		fmt.Fprintf(w, "\n%s\n", markdown.Escape(lines[0]))
		writeList(w, "Blocked", lines[1:], markdown.Escape)
	}
	if len(r.Changes) > 0 {
		fmt.Fprint(w, "\nChanges:\n\n")
		r.writeChanges(w)
	}
	_, err := io.WriteString(out, w.String())
	return err
}

// writeList writes a list in Markdown, if there is something in it.
func writeList[T any](w io.Writer, title string, all []T, text func(T) string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n\n", title)
	for _, v := range all {
		fmt.Fprintf(w, "- %s\n", text(v))
	}
}

// writeChanges writes the changes as code, in a block that none of them ends.
func (r *Result) writeChanges(w io.Writer) {
	var text strings.Builder
	_ = cluster.WriteDiff(&text, r.Changes)
	for line := range strings.Lines(text.String()) {
		fmt.Fprintf(w, "    %s", line)
	}
}
