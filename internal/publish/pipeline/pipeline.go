// Package pipeline publishes a catalog in steps, some of which need others, and summarizes their results.
//
//	summaries, err := pipeline.Run(ctx, pipeline.Options{Sources: []string{"catalog"}, Tags: tags, ...})
//	if err != nil {
//		return err
//	}
//	err = summaries[0].Report().Markdown(os.Stdout)
//
// A step runs unless a step it needs did not pass, so that one run reports as many problems as possible. Several
// catalogs are published together or not at all, as far as registries allow it.
//
// The catalog is opened once for all steps, and the build does not validate again a catalog that the step before it
// found valid. The base image and the permission to push are checked before anything is read. All repositories store
// the image by digest before it is signed, and tags come last. A registry is not trusted: its digests are compared, and
// a manifest that was pushed is requested once by digest. A [Summary] distinguishes problems of the catalog (exit
// status 1) from failures of registries and credentials (exit status 2).
package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Step is a part of a run, named after the command that does the same.
type Step string

// The steps, in order.
const (
	Compose     Step = "compose"         // make the catalog from references to other catalogs
	Template    Step = "render-template" // make the catalog from templates
	Validate    Step = "validate"
	Resolve     Step = "resolve"
	CheckImages Step = "check-images"
	Diff        Step = "diff" // against the published catalog
	Build       Step = "build"
	Push        Step = "push" // by digest
	Sign        Step = "sign"
	Tag         Step = "tag"
)

// Optional returns the steps that can be skipped.
func Optional() []Step { return []Step{Validate, Resolve, CheckImages, Diff, Build, Push} }

// ParseSteps returns the named steps to skip, with the steps that cannot run without them.
func ParseSteps(names []string) ([]Step, error) {
	var known []string
	for _, s := range Optional() {
		known = append(known, string(s))
	}
	var steps []Step
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown step %q%s", name, nearest.Hint(name, known))
		}
		steps = append(steps, Step(name))
	}
	if slices.Contains(steps, Build) {
		steps = append(steps, Push)
	}
	if slices.Contains(steps, Push) {
		steps = append(steps, Sign, Tag)
	}
	return steps, nil
}

// A Status is the result of a step.
type Status string

// The statuses.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped" // by the user
	Blocked Status = "blocked" // a step it needs did not pass
)

// A Result is the result of a step.
type Result struct {
	Step   Step   `json:"step"`
	Status Status `json:"status"`
	Note   string `json:"note,omitzero"` // one line: the result, or the reason the step did not run

	Found    *problem.Result  `json:"found,omitzero"`    // the output of validate, resolve or check-images
	Changes  *diff.Report     `json:"changes,omitzero"`  // the output of diff
	Image    *publish.Summary `json:"image,omitzero"`    // the output of build
	Commands []string         `json:"commands,omitzero"` // run by sign
	Live     []string         `json:"-"`                 // the tags set by tag, see Summary

	problems []*problem.Problem
	rejected bool // because of problems of the catalog
}

// Report adds the problems of a report; the step fails if there are errors among them. An image whose registry could
// not be asked does not count against the catalog.
func (r *Result) Report(report *problem.Report) {
	r.problems, r.Found = report.Problems, report.Result()
	r.Note = problem.Summary(report.Problems)
	if problem.HasErrors(r.problems) {
		r.Status = Failed
	}
	r.rejected = slices.ContainsFunc(r.problems, func(p *problem.Problem) bool {
		return p.Severity == problem.Error && (r.Step != CheckImages || p.Rule != imagecheck.Unknown)
	})
}

// Reject makes the step fail because of the catalog, for a reason that is not an error at a position.
func (r *Result) Reject(why string) {
	r.Status, r.Note, r.rejected = Failed, why, true
}

// fail sets the status to Failed, and keeps the problems of the step. Errors with positions are more problems of the
// catalog, unless all of them are about unavailable registries.
func (r *Result) fail(err error) {
	problems := problem.FromError("", err)
	if slices.ContainsFunc(problems, func(p *problem.Problem) bool { return p.Pos.File == "" }) {
		r.Status, r.Note = Failed, err.Error()
		return
	}
	rejected := r.rejected || !unavailable(err)
	r.Report(&problem.Report{Subject: "catalog", Problems: slices.Concat(r.problems, problems)})
	r.rejected = rejected
}

// unavailable reports whether every error joined in err is about an unavailable registry.
func unavailable(err error) bool {
	isOther := func(err error) bool { return !errors.Is(err, image.ErrUnavailable) }
	return !slices.ContainsFunc(problem.Flatten(err), isOther)
}

// A run is a run of the steps. It must be used by one goroutine only.
type run struct {
	catalog   string
	tags      []string
	results   []*Result
	unchanged bool // the image to push already exists
}

// newRun returns a run of steps without the skipped ones. It publishes the named catalog to the tags.
func newRun(catalog string, tags []string, steps, skipped []Step) *run {
	r := &run{catalog: catalog, tags: tags}
	for _, s := range steps {
		result := &Result{Step: s}
		if slices.Contains(skipped, s) {
			result.Status = Skipped
		}
		r.results = append(r.results, result)
	}
	return r
}

// result returns the result of a step, or nil if the run does not have it.
func (r *run) result(step Step) *Result { return resultOf(r.results, step) }

func resultOf(results []*Result, step Step) *Result {
	for _, r := range results {
		if r.Step == step {
			return r
		}
	}
	return nil
}

// runs reports whether a step is in the run and not skipped.
func (r *run) runs(step Step) bool {
	result := r.result(step)
	return result != nil && result.Status != Skipped
}

// fail sets a step to Failed before it runs, even if it is skipped. A nil err is ignored.
func (r *run) fail(step Step, err error) {
	if result := r.result(step); result != nil && err != nil {
		result.fail(err)
	}
}

// failed reports whether a step has failed.
func (r *run) failed() bool {
	return slices.ContainsFunc(r.results, func(result *Result) bool { return result.Status == Failed })
}

// block blocks a step that has no result yet, because of another catalog.
func (r *run) block(step Step, catalog string) {
	if result := r.result(step); result != nil && result.Status == "" {
		result.Status, result.Note = Blocked, "needs the catalog "+catalog
	}
}

// do runs a step. The step fails if fn returns an error or reports one. It does nothing if the run does not have the
// step, or the step is skipped or has failed already. If a step it needs has failed or is blocked, it is blocked.
func (r *run) do(step Step, fn func(*Result) error, needs ...Step) {
	result := r.result(step)
	if result == nil || result.Status != "" {
		return
	}
	for _, need := range needs {
		if other := r.result(need); other != nil && (other.Status == Failed || other.Status == Blocked) {
			result.Status, result.Note = Blocked, "needs "+string(need)
			return
		}
	}
	result.Status = Passed
	if err := fn(result); err != nil {
		result.fail(err)
	}
}
