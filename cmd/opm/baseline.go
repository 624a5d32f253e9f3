package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
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
func (f *reportFlags) byBaseline(all []checkedCatalog) []*baselineGroup {
	var groups []*baselineGroup
	for _, one := range all {
		i := slices.IndexFunc(groups, func(g *baselineGroup) bool { return g.name == one.config.Baseline })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &baselineGroup{name: one.config.Baseline})
		}
		problems := one.config.Levels.Apply(one.report.Problems)
		groups[i].catalogs = append(groups[i].catalogs, problem.CatalogReport{Catalog: one.name, Problems: problems})
	}
	for _, g := range groups {
		g.problems = g.catalogs[0].Problems
		if f.each.given() {
			g.problems = problem.Merge(g.catalogs)
		}
	}
	return groups
}

// staleNotes returns lines about problems in a baseline that no longer exist.
func (f *reportFlags) staleNotes(baseline string, stale []problem.Known) string {
	stale = slices.DeleteFunc(stale, f.isOther)
	if len(stale) == 0 || f.partial {
		return ""
	}
	var notes strings.Builder
	fmt.Fprintf(&notes, "opm: %s lists %s that no longer exist; --write-baseline removes them:\n", baseline,
		plural.Of(len(stale), "problem"))
	for _, k := range stale[:min(len(stale), maxErrors)] {
		fmt.Fprintf(&notes, "  %s\n", legibleLines(k.String()))
	}
	if more := len(stale) - maxErrors; more > 0 {
		fmt.Fprintf(&notes, "  and %s\n", plural.Of(more, "more problem"))
	}
	return notes.String()
}

// unknown returns the problems that are not in the named baseline, and the stale entries of the baseline.
func unknown(baseline string, problems []*problem.Problem) ([]*problem.Problem, []problem.Known, error) {
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

// isOther reports whether a known problem is found by another command, which may use the same baseline.
func (f *reportFlags) isOther(k problem.Known) bool { return !f.rules().Has(k.Rule) }

// replaceBaseline replaces the problems of this command in a baseline, keeps the problems of other commands, and
// reports the total.
func (f *reportFlags) replaceBaseline(w io.Writer, name string, problems []*problem.Problem) error {
	b := problem.NewBaseline(problems)
	switch old, err := readBaseline(name, regular.ReadPath); { // it must be a file: it is read again
	case err == nil:
		b.Add(slices.DeleteFunc(old.Problems, func(k problem.Known) bool { return !f.isOther(k) }))
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := atomicfile.Write(name, atomicfile.Options{Replace: true}, b.Write); err != nil {
		return fmt.Errorf("write baseline: %w", err)
	}
	_, err := fmt.Fprintf(w, "opm: wrote %s to %s\n", problem.Summary(problems), name)
	return err
}
