package diagnose

import (
	"fmt"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// Report returns a block for each Finding, and the numbers of healthy objects.
func (r *Result) Report() *report.Report {
	out := simulate.AssumedReport(r.Contents, r.Assumed)
	for _, f := range r.Findings {
		f.add(out)
	}
	out.Heading(3, r.summary())
	if len(r.Findings) == 0 {
		out.InText(r.summary())
	}
	return out
}

// summary describes the healthy objects in one line.
func (r *Result) summary() string {
	var healthy []string
	for _, c := range r.Healthy {
		healthy = append(healthy, fmt.Sprintf("%s of %s", plural.Number(c.Healthy), plural.Of(c.Total, c.Kind)))
	}
	if len(healthy) == 0 {
		return "no Subscriptions, operators or catalogs"
	}
	return "healthy: " + strings.Join(healthy, ", ")
}

// add adds the block of a Finding.
func (f *Finding) add(out *report.Report) {
	severity := string(f.Severity)
	if f.Severity == problem.Info {
		severity = "note"
	}
	out.Heading(3, severity+": "+report.Name(f.Object.String()))
	out.Item(1, "%s [%s]", legible.Message(f.Message), report.Name(f.Rule))
	if f.Since != "" {
		out.Item(1, "since %s", f.Since)
	}
	for _, e := range f.Evidence {
		text := report.Name(e.Object.String()) + ": " + legible.Message(e.Message)
		if e.Since != "" {
			text += " (" + e.Since + ")"
		}
		out.Item(1, "%s", text)
	}
	for _, line := range f.Why {
		words := strings.TrimLeft(line, " ")
		out.Item(1+(len(line)-len(words))/2, "%s", legible.Message(words))
	}
	if len(f.Affected) > 0 {
		out.Item(1, "affects %s", plural.Some(names(f.Affected)))
	}
	for _, h := range f.Help {
		out.Item(1, "would help: %s", legible.Message(h.Text))
		if h.Command != "" {
			out.Item(2, "%s", report.Name(h.Command))
		}
	}
	if f.Place.File != "" {
		out.Item(1, "at %s", report.Name(f.Place.String()))
	}
}

// names returns the names of objects for people.
func names(refs []simulate.Ref) []string {
	all := make([]string, len(refs))
	for i, ref := range refs {
		all[i] = report.Name(ref.String())
	}
	return all
}
