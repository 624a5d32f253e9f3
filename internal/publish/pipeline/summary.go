package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// An Outcome is the result of a run.
type Outcome string

// The outcomes.
const (
	Published Outcome = "published"
	Unchanged Outcome = "unchanged" // the image already exists
	Checked   Outcome = "checked"   // no problems, and nothing to push
	Rejected  Outcome = "rejected"  // the catalog has problems
	Broken    Outcome = "failed"    // a failure without problems in the catalog, such as of a registry or another catalog
)

// A Summary summarizes a run.
type Summary struct {
	Outcome Outcome   `json:"outcome"`
	Catalog string    `json:"catalog"` // its name or, without one, its sources as given
	Tags    []string  `json:"tags"`
	Digest  string    `json:"digest,omitzero"` // of the image, if it was built
	Live    []string  `json:"live,omitzero"`   // the tags that now refer to the image, as TAG@DIGEST
	Steps   []*Result `json:"steps"`
}

// summary returns the summary of the run.
func (r *run) summary() *Summary {
	s := &Summary{Outcome: Published, Catalog: r.catalog, Tags: r.tags, Steps: r.results}
	if built := r.result(Build); built != nil && built.Image != nil {
		s.Digest = built.Image.Digest
	}
	tag := r.result(Tag)
	if tag != nil {
		s.Live = tag.Live
	}
	switch {
	case slices.ContainsFunc(r.results, func(result *Result) bool { return result.rejected }):
		s.Outcome = Rejected
	case slices.ContainsFunc(r.results, (*Result).isBad):
		s.Outcome = Broken
	case tag == nil || tag.Status != Passed:
		s.Outcome = Checked
	case r.unchanged:
		s.Outcome = Unchanged
	}
	return s
}

// isBad reports whether a step failed, or could not run because another one did.
func (r *Result) isBad() bool { return r.Status == Failed || r.Status == Blocked }

// Problems returns the problems found by all steps, in their order. What several steps could not read is listed once. A
// step that failed without a problem is an error without a position, whose rule is the name of the step.
func (s *Summary) Problems() (all []*problem.Problem) {
	for _, r := range s.Steps {
		for _, p := range r.problems {
			if !slices.ContainsFunc(all, func(q *problem.Problem) bool { return p.Rule == "" && q.Pos == p.Pos }) {
				all = append(all, p)
			}
		}
		if r.Status == Failed && !problem.HasErrors(r.problems) {
			all = append(all, &problem.Problem{Rule: string(r.Step), Severity: problem.Error, Message: r.Note})
		}
	}
	return all
}

// Err returns an error that joins the errors of the failed steps, or nil.
func (s *Summary) Err() error {
	var errs []error
	for _, r := range s.Steps {
		if r.Status == Failed {
			errs = append(errs, fmt.Errorf("%s: %s", r.Step, r.Note))
		}
	}
	return errors.Join(errs...)
}

// Failure reports whether a catalog is rejected, and returns an error that joins the errors of the failed steps of all
// runs, or nil. Each error has the name of its catalog if named is set.
func Failure(all []*Summary, named bool) (isRejected bool, err error) {
	var errs []error
	for _, s := range all {
		for _, err := range problem.Flatten(s.Err()) {
			if err != nil && named {
				err = fmt.Errorf("%s: %w", s.Catalog, err)
			}
			errs = append(errs, err)
		}
		isRejected = isRejected || s.Outcome == Rejected
	}
	return isRejected, errors.Join(errs...)
}

// MergedProblems merges equal problems of several catalogs with [problem.Merge], but only those at one position. The
// result is in the order of the positions' first problems.
func MergedProblems(all []*Summary) (merged []*problem.Problem) {
	var places []declcfg.Pos
	reports := map[declcfg.Pos][]problem.CatalogReport{}
	for _, s := range all {
		own := map[declcfg.Pos][]*problem.Problem{}
		for _, p := range s.Problems() {
			if own[p.Pos] == nil && reports[p.Pos] == nil {
				places = append(places, p.Pos)
			}
			own[p.Pos] = append(own[p.Pos], p)
		}
		for pos, problems := range own {
			reports[pos] = append(reports[pos], problem.CatalogReport{Catalog: s.Catalog, Problems: problems})
		}
	}
	for _, pos := range places {
		merged = append(merged, problem.Merge(reports[pos])...)
	}
	return merged
}
