package problems

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A baselineGroup has the problems of the catalogs with the same baseline.
type baselineGroup struct {
	name     string // "" for none
	catalogs []problem.CatalogReport
	problems []*problem.Problem
}

// byBaseline sets the levels of problems, and groups them by baseline, in the order of the catalogs.
func byBaseline(all []Checked) []*baselineGroup {
	var groups []*baselineGroup
	for _, one := range all {
		i := slices.IndexFunc(groups, func(g *baselineGroup) bool { return g.name == one.Config.Baseline })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &baselineGroup{name: one.Config.Baseline})
		}
		problems := one.Config.Levels.Apply(one.Report.Problems)
		groups[i].catalogs = append(groups[i].catalogs, problem.CatalogReport{Catalog: one.Name, Problems: problems})
	}
	for _, g := range groups {
		g.problems = g.catalogs[0].Problems
		if g.catalogs[0].Catalog != "" {
			g.problems = problem.Merge(g.catalogs)
		}
	}
	return groups
}

// Unknown returns the problems that are not in the named baseline, and the stale entries of the baseline; all problems
// for "".
func Unknown(baseline string, problems []*problem.Problem) ([]*problem.Problem, []problem.Known, error) {
	if baseline == "" {
		return problems, nil, nil
	}
	b, err := readBaseline(baseline, regular.ReadNamed)
	if err != nil {
		return nil, nil, err
	}
	problems, stale := b.Filter(problems)
	return problems, stale, nil
}

func readBaseline(name string, read func(path string) ([]byte, error)) (*problem.Baseline, error) {
	text, err := read(name)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	b, err := problem.ReadBaseline(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", name, err)
	}
	return b, nil
}

// staleNotes returns lines about problems in a baseline that no longer exist.
func (p *Printer) staleNotes(baseline string, stale []problem.Known) string {
	stale = slices.DeleteFunc(stale, p.isOther)
	if len(stale) == 0 || p.Partial {
		return ""
	}
	what := plural.Of(len(stale), "problem") + " that no longer exist; --write-baseline removes them"
	if len(stale) == 1 {
		what = "1 problem that no longer exists; --write-baseline removes it"
	}
	var notes strings.Builder
	fmt.Fprintf(&notes, "opm: %s lists %s:\n", baseline, what)
	for _, k := range stale[:min(len(stale), failure.MaxErrors)] {
		fmt.Fprintf(&notes, "  %s\n", legible.Lines(k.String()))
	}
	if more := len(stale) - failure.MaxErrors; more > 0 {
		fmt.Fprintf(&notes, "  and %s\n", plural.Of(more, "more problem"))
	}
	return notes.String()
}

// isOther reports whether a known problem is found by another command, which may use the same baseline.
func (p *Printer) isOther(k problem.Known) bool { return !p.Rules().Has(k.Rule) }

// writeBaselines replaces the problems of this command in baselines, and keeps the problems of other commands. It
// writes none if incomplete says why catalogs are missing.
func (p *Printer) writeBaselines(groups []*baselineGroup, incomplete string) error {
	if incomplete != "" {
		return fmt.Errorf("the baseline is not written: %s", incomplete)
	}
	for _, g := range groups {
		b := problem.NewBaseline(g.problems)
		switch old, err := readBaseline(g.name, regular.ReadPath); { // it must be a file: it is read again
		case err == nil:
			b.Add(slices.DeleteFunc(old.Problems, func(k problem.Known) bool { return !p.isOther(k) }))
		case !errors.Is(err, os.ErrNotExist):
			return err
		}
		if err := atomicfile.Write(g.name, atomicfile.Options{Replace: true}, b.Write); err != nil {
			return fmt.Errorf("write baseline: %w", err)
		}
		if _, err := fmt.Fprintf(p.Err, "opm: wrote %s to %s\n", problem.Summary(g.problems), g.name); err != nil {
			return err
		}
	}
	return nil
}
