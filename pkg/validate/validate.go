// Package validate finds every problem in a catalog, each with a rule, a severity and a place.
//
// What upstream rejects is an error; what it accepts but causes trouble on clusters or for users is a warning. [Rules]
// is the table of rules.
//
//	report, err := validate.Catalog(ctx, validate.Options{}, declcfg.Source{Name: "catalog", FS: os.DirFS("catalog")})
//	for _, p := range report.Problems {
//		fmt.Fprintln(os.Stderr, p)
//	}
package validate

import (
	"context"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/schemas"
)

// Options say what is checked. The zero value checks everything.
type Options struct {
	Disable    []string // rules that are not checked, by name
	Alone      []string // rules about updates that are also reported where another problem is the cause, by name
	ErrorsOnly bool     // checks only rules that are errors, which is faster
	Unplaced   []string // rules whose problems get the place of their object, which is faster, by name
	Policy     Policy   // of the maintainers of the catalog

	// Schemas are CUE files of the user with definitions for objects and properties; see package schemas.
	Schemas []schemas.File

	// Other is called for each valid object of a schema that the format does not define, in the order in which they are
	// read; nil for no one. The index of the report does not have them.
	Other func(*declcfg.Meta)
}

// A Report is what is wrong with a catalog, and the catalog as far as it could be read.
type Report struct {
	Problems []*problem.Problem // by place; after 100,000 an error that says so ends them, and the check
	Index    *declcfg.Index
}

// Catalog checks the catalog that the sources make up. Problems of the catalog are in the report, which is the same on
// every run; an error means that it could not be checked, for example because a schema does not compile.
func Catalog(ctx context.Context, opts Options, sources ...declcfg.Source) (*Report, error) {
	v, err := newValidator(opts)
	if err != nil {
		return nil, err
	}
	c := relations{
		validator: v, scopes: map[*declcfg.Meta]*scope{}, wrong: map[string]bool{}, room: maxProblems, cel: newCELRules(),
	}
	var problems []*problem.Problem
	sources = v.portable(sources, &problems)
	objects := 0
	for r, err := range declcfg.Map(ctx, v.object, sources...) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(problems) >= maxProblems {
			return &Report{Problems: stopped(problems), Index: &c.index}, nil
		}
		if err != nil {
			problems = append(problems, v.unreadable(err)...)
			c.lost.add(err)
			continue
		}
		objects++
		problems = append(problems, r.problems...)
		c.wrong[r.meta.Owner()] = c.wrong[r.meta.Owner()] || r.wrong
		c.celRules(r.meta, r.rules)
		c.index.Add(r.meta, r.value)
		if opts.Other != nil && r.value == nil && !r.wrong {
			opts.Other(r.meta)
		}
	}
	if objects == 0 {
		problems = append(problems, v.noObjects(sources, len(problems) > 0)...)
	}
	c.check(ctx)
	problems = append(problems, c.problems(ctx)...)
	if len(problems) >= maxProblems {
		return &Report{Problems: stopped(problems), Index: &c.index}, ctx.Err()
	}
	return &Report{Problems: problem.Sort(problems), Index: &c.index}, ctx.Err()
}

// maxProblems is how many problems are reported. Nobody reads more, and they take more memory than the catalog. It is a
// variable for tests.
var maxProblems = 100_000

// stopped returns the first problems that were found, and the error that there may be more.
func stopped(problems []*problem.Problem) []*problem.Problem {
	return append(problem.Sort(problems[:maxProblems]), &problem.Problem{
		Severity: problem.Error,
		Message:  "stopped after " + plural.Number(maxProblems) + " problems",
		Fix:      "fix these first, or disable their rules",
	})
}
