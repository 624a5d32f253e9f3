// Package problems prints the problems that a command finds in one catalog or in several, or keeps them in a baseline.
package problems

import (
	"io"
	"strings"

	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Checked is a catalog or a bundle whose problems are not printed yet.
type Checked struct {
	Name   string          // "" for the only one
	Config *opmyaml.Config // has the levels of rules and the baseline
	Report *problem.Report
}

// A Printer prints the problems of a command.
type Printer struct {
	Out, Err io.Writer     // standard output and standard error
	Format   output.Format // one of [problem.Formats]
	Version  string        // of opm

	OnOut bool // text is on standard output, not on standard error
	Info  bool // hints are in text and annotations, too
	Quiet bool // nothing is on standard error if JSON or YAML has the errors, since callers may read both as one

	Rules   func() *problem.Rules // of the command: problems of other rules in a baseline are kept
	Partial bool                  // the command looks for some problems only, so the others in a baseline are not stale
	Write   bool                  // the problems become the baseline, and are not printed
}

// Print prints the problems of all catalogs as one report, with their levels and without the ones in their baselines,
// and the lines of their summaries to standard error. With Write, it replaces the baselines instead. incomplete says
// why catalogs are missing; "" means that none is. Print returns a [failure.Error] if one of the problems is an error.
func (p *Printer) Print(all []Checked, incomplete string) error {
	if len(all) == 0 {
		return nil
	}
	report := *all[0].Report
	if incomplete != "" {
		report.Incomplete = incomplete
	}
	groups := byBaseline(all)
	if p.Write {
		return p.writeBaselines(groups, report.Incomplete)
	}
	report.Problems, report.Version, report.Counts = nil, p.Version, sumOfCounts(all)
	if err := p.printTables(all); err != nil { // even if a baseline cannot be read
		return err
	}
	var notes strings.Builder
	for _, b := range groups {
		problems, stale, err := Unknown(b.name, b.problems)
		if err != nil {
			return err
		}
		report.Problems = append(report.Problems, problems...)
		notes.WriteString(p.staleNotes(b.name, stale))
	}
	for _, one := range all {
		for _, line := range one.Report.Summary {
			if one.Name != "" {
				line = legible.Name(one.Name) + ": " + line
			}
			notes.WriteString("opm: " + line + "\n")
		}
	}
	return failure.WithNotes(p.Err, p.print(&report), notes.String())
}

func (p *Printer) printTables(all []Checked) error {
	for _, one := range all {
		if err := one.Report.WriteTables(legible.NewWriter(p.Out), problem.Format(p.Format)); err != nil {
			return err
		}
	}
	return nil
}

// sumOfCounts adds the counts of reports.
func sumOfCounts(all []Checked) map[string]int {
	var sum map[string]int
	for _, one := range all {
		for key, n := range one.Report.Counts {
			if sum == nil {
				sum = map[string]int{}
			}
			sum[key] += n
		}
	}
	return sum
}

// print prints a report as text, or in another format to standard output, and fails if it has errors.
func (p *Printer) print(report *problem.Report) error {
	if p.Format == output.Text {
		w := p.Err
		if p.OnOut {
			w = legible.NewWriter(p.Out)
		}
		return PrintText(w, p.Err, report.Problems, p.Info)
	}
	if problem.Format(p.Format) == problem.GitHub { // annotations are for people, too
		report.Problems = Shown(report.Problems, p.Info)
	}
	err := report.Write(p.Format.Writer(p.Out), problem.Format(p.Format))
	if err != nil || !problem.HasErrors(report.Problems) {
		return err
	}
	if p.Quiet && (p.Format == output.JSON || p.Format == output.YAML) {
		return failure.New("") // the output has the reason
	}
	return failure.New(problem.Reason(report.Problems))
}
