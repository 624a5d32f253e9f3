// Package pipeline is a run of opm publish: steps of which some need others, and a summary of what they did.
//
//	run := pipeline.New("catalog", tags, steps, skipped)
//	run.Do(pipeline.Validate, validate)
//	run.Do(pipeline.Resolve, resolve)
//	run.Do(pipeline.Build, build, pipeline.Validate)
//	run.Do(pipeline.Push, push, steps...)
//	run.Do(pipeline.Tag, tag, pipeline.Push)
//	err := run.Summary().WriteMarkdown(os.Stdout)
//
// A step runs unless one that it needs did not pass, so that one run reports as many problems as it can find.
package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/diff"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/imagecheck"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/publish"
)

// A Step is a part of a run, called as the command that does the same.
type Step string

// The steps, in their order.
const (
	Compose     Step = "compose"         // the catalog of references to others
	Template    Step = "render-template" // the catalog of templates
	Validate    Step = "validate"
	Resolve     Step = "resolve"
	CheckImages Step = "check-images"
	Diff        Step = "diff" // with what is published
	Build       Step = "build"
	Push        Step = "push" // by digest
	Sign        Step = "sign"
	Tag         Step = "tag"
)

// Optional returns the steps that can be skipped.
func Optional() []Step { return []Step{Validate, Resolve, CheckImages, Diff, Build, Push} }

// ParseSteps returns the steps to skip that are named, and those that have nothing to do without them.
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

// A Status says what became of a step.
type Status string

// The statuses.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped" // as the user asked for
	Blocked Status = "blocked" // by a step that it needs and that did not pass
)

// A Result is what a step did.
type Result struct {
	Step   Step   `json:"step"`
	Status Status `json:"status"`
	Note   string `json:"note,omitzero"` // what it found or did in a line, or why it did not

	Found    *problem.Result  `json:"found,omitzero"`    // what validate, resolve and check-images print
	Changes  *diff.Report     `json:"changes,omitzero"`  // what diff prints
	Image    *publish.Summary `json:"image,omitzero"`    // what build prints
	Commands []string         `json:"commands,omitzero"` // that sign ran
	Live     []string         `json:"-"`                 // the tags that tag has set, see Summary

	problems []*problem.Problem
	rejected bool // something is wrong with the catalog
}

// Report adds what was found, and makes the step fail if there are errors among it. That a registry could not be asked
// for an image is not the fault of the catalog.
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

// Reject makes the step fail because of the catalog, though no problem with a place is an error.
func (r *Result) Reject(why string) {
	r.Status, r.Note, r.rejected = Failed, why, true
}

// fail makes the step one that failed. Errors with places are problems of the catalog, unless all are that registries
// are not available.
func (r *Result) fail(err error) {
	problems := problem.FromError("", err)
	if slices.ContainsFunc(problems, func(p *problem.Problem) bool { return p.Pos.File == "" }) {
		r.Status, r.Note = Failed, err.Error()
		return
	}
	r.Report(&problem.Report{Subject: "catalog", Problems: problems})
	r.rejected = !unavailable(err)
}

// unavailable reports whether every error that err joins is one of a registry that is not available.
func unavailable(err error) bool {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return errors.Is(err, image.ErrUnavailable)
	}
	return !slices.ContainsFunc(many.Unwrap(), func(err error) bool { return !unavailable(err) })
}

// A Run is a run of the steps. It is for one goroutine.
type Run struct {
	catalog   string
	tags      []string
	results   []*Result
	unchanged bool
}

// New returns a run of steps, some of which are to be skipped. What it publishes comes from the named catalog and goes
// to the tags.
func New(catalog string, tags []string, steps, skipped []Step) *Run {
	r := &Run{catalog: catalog, tags: tags}
	for _, s := range steps {
		result := &Result{Step: s}
		if slices.Contains(skipped, s) {
			result.Status = Skipped
		}
		r.results = append(r.results, result)
	}
	return r
}

// result returns the result of a step, nil if the run does not have it.
func (r *Run) result(step Step) *Result { return resultOf(r.results, step) }

func resultOf(results []*Result, step Step) *Result {
	for _, r := range results {
		if r.Step == step {
			return r
		}
	}
	return nil
}

// Runs reports whether a step is in the run, and not to be skipped.
func (r *Run) Runs(step Step) bool {
	result := r.result(step)
	return result != nil && result.Status != Skipped
}

// Fail makes a step one that failed, before it is done or though it is skipped.
func (r *Run) Fail(step Step, err error) {
	if result := r.result(step); result != nil && err != nil {
		result.fail(err)
	}
}

// Do does a step. It fails if do returns an error or reports one. A step is not done if the run does not have it, it is
// skipped or has failed already, or one that it needs has not passed.
func (r *Run) Do(step Step, do func(*Result) error, needs ...Step) {
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
	if err := do(result); err != nil {
		result.fail(err)
	}
}

// Unchanged notes that what the run would push is there already.
func (r *Run) Unchanged() { r.unchanged = true }
