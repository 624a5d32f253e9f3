package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
)

// A resolution is the output of resolve.
type resolution struct {
	Classic *classicResolution `json:"classic,omitempty"`
	V1      *v1Resolution      `json:"v1,omitempty"`
	Assumed []string           `json:"assumed,omitempty"` // facts that neither the command line nor the catalogs state
}

// A classicResolution is the answer of OLM Classic and, with --path, its later answers.
type classicResolution struct {
	resolve.ClassicResult
	Explanation *resolve.Explanation `json:"explanation"`
	Path        []resolveStep        `json:"path,omitempty"`
	Loop        bool                 `json:"loop,omitzero"` // the last step leads back to bundles installed before
}

// A v1Resolution is the answer of OLM v1 and, with --path, its later answers.
type v1Resolution struct {
	resolveStep
	Catalogs []resolve.V1Catalog `json:"catalogs,omitempty"` // each with its candidates, and why none is chosen
	Path     []resolveStep       `json:"path,omitempty"`
	Loop     bool                `json:"loop,omitzero"` // the last step leads back to a bundle installed before

	first *resolve.V1Result // nil if the ClusterExtension is not accepted
}

// A resolveStep is one answer of OLM.
type resolveStep struct {
	Outcome resolve.Outcome  `json:"outcome"`
	Install []resolve.Choice `json:"install"`
	Message string           `json:"message"` // OLM's message unless the outcome is Resolved
}

// resolved reports whether the outcome of every step is Resolved.
func (r *resolution) resolved() bool {
	steps := r.classicSteps()
	if r.V1 != nil {
		steps = append(steps, r.v1Steps()...)
	}
	for _, s := range steps {
		if s.Outcome != resolve.Resolved {
			return false
		}
	}
	return true
}

func (r *resolution) classicSteps() []resolveStep {
	if r.Classic == nil {
		return nil
	}
	return append([]resolveStep{{r.Classic.Outcome, r.Classic.Install, r.Classic.Message}}, r.Classic.Path...)
}

func (r *resolution) v1Steps() []resolveStep {
	return append([]resolveStep{r.V1.resolveStep}, r.V1.Path...)
}

// result returns the answer to print. Text has at most limit lines of each explanation; 0 means no limit.
func (r *resolution) result(limit int) *output.Result {
	text := inText(r, func(w io.Writer) error { return r.writeText(w, limit) })
	text.Other["dot"] = r.writeDOT
	return text
}

func (r *resolution) writeText(w io.Writer, limit int) error {
	var text strings.Builder
	writeAssumed(&text, r.Assumed)
	if r.Classic != nil {
		writeSteps(&text, "OLM Classic", r.classicSteps(), r.Classic.Loop)
		_ = r.Classic.Explanation.WriteText(&text, limit, hintExplanation) // which takes any text
	}
	if r.V1 != nil {
		if text.Len() > 0 {
			text.WriteString("\n")
		}
		writeSteps(&text, "OLM v1", r.v1Steps(), r.V1.Loop)
		if r.V1.first != nil {
			_ = r.V1.first.WriteText(&text, limit, hintExplanation)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func writeAssumed(w io.Writer, assumed []string) {
	for _, a := range assumed {
		fmt.Fprintf(w, "assumed: %s\n", legible.Text(legible.Message(a)))
	}
}

// writeSteps writes what OLM installs, step by step.
func writeSteps(w io.Writer, olm string, steps []resolveStep, loop bool) {
	for _, s := range steps {
		switch {
		case s.Outcome != resolve.Resolved:
			fmt.Fprintf(w, "%s: %s: %s\n", olm, s.Outcome, legible.Message(s.Message))
		case len(s.Install) == 0:
			fmt.Fprintf(w, "%s: nothing to install\n", olm)
		default:
			fmt.Fprintf(w, "%s installs\n", olm)
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "  BUNDLE\tPACKAGE\tCHANNEL\tCATALOG\tREPLACES")
			for _, c := range s.Install {
				fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", legible.Name(c.Bundle), legible.Name(c.Package),
					legible.Name(cmp.Or(c.Channel, "-")), c.Catalog, legible.Name(cmp.Or(c.Replaces, "-")))
			}
			t.Flush()
		}
	}
	if loop {
		fmt.Fprintf(w, "%s: the last step leads back to what was installed before\n", olm)
	}
}

// writeDOT draws the chosen bundles: an arrow leads from a request or a bundle to each bundle it requires.
func (r *resolution) writeDOT(w io.Writer) error {
	var text strings.Builder
	text.WriteString("digraph resolution {\n  rankdir=LR\n  node [shape=box]\n")
	if r.Classic != nil {
		for _, d := range r.Classic.Explanation.Decisions {
			from := d.Bundle
			if d.Subscription != "" {
				from = "Subscription " + d.Subscription
			}
			dotArrow(&text, from, d.Chosen, d.Requires)
		}
		dotFailure(&text, "OLM Classic", r.Classic.Outcome, r.Classic.Message)
	}
	if r.V1 != nil {
		for _, c := range r.V1.Install {
			dotArrow(&text, "ClusterExtension "+c.Package, c.Catalog+"/"+c.Bundle, "")
		}
		dotFailure(&text, "OLM v1", r.V1.Outcome, r.V1.Message)
	}
	text.WriteString("}\n")
	_, err := io.WriteString(w, text.String())
	return err
}

func dotArrow(w io.Writer, from, to, label string) {
	fmt.Fprintf(w, "  %s -> %s", draw.Quote(from), draw.Quote(to))
	if label != "" {
		fmt.Fprintf(w, " [label=%s]", draw.Quote(label))
	}
	fmt.Fprintln(w)
}

func dotFailure(w io.Writer, olm string, outcome resolve.Outcome, message string) {
	if outcome != resolve.Resolved {
		fmt.Fprintf(w, "  %s [style=dashed]\n", draw.Quote(fmt.Sprintf("%s: %s", olm, cmp.Or(message, string(outcome)))))
	}
}
