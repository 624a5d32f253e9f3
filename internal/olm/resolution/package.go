package resolution

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/resolve"
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

// Resolved reports whether the outcome of every step is Resolved.
func (r *resolution) Resolved() bool {
	steps := r.classicSteps()
	if r.V1 != nil {
		steps = append(steps, r.v1Steps()...)
	}
	return !slices.ContainsFunc(steps, func(s resolveStep) bool { return s.Outcome != resolve.Resolved })
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

// Result implements Answer.
func (r *resolution) Result(limit int, hint string) *output.Result {
	text := output.InText(r, func(w io.Writer) error { return r.writeText(w, limit, hint) })
	text.Other["dot"] = r.writeDOT
	return text
}

func (r *resolution) writeText(w io.Writer, limit int, hint string) error {
	var text strings.Builder
	writeAssumed(&text, r.Assumed)
	if r.Classic != nil {
		writeSteps(&text, "OLM Classic", r.classicSteps(), r.Classic.Loop)
		_ = r.Classic.Explanation.WriteText(&text, limit, hint) // which takes any text
	}
	if r.V1 != nil {
		if text.Len() > 0 {
			text.WriteString("\n")
		}
		writeSteps(&text, "OLM v1", r.v1Steps(), r.V1.Loop)
		if r.V1.first != nil {
			_ = r.V1.first.WriteText(&text, limit, hint)
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
