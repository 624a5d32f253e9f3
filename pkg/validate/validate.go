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
	Problems []*problem.Problem // by place; 100,000 errors end the check, and of others 100,000 are listed
	Index    *declcfg.Index

	lost lost
}

// Catalog checks the catalog that the sources make up. Problems of the catalog are in the report, which is the same on
// every run; an error means that it could not be checked, for example because a schema does not compile.
func Catalog(ctx context.Context, opts Options, sources ...declcfg.Source) (*Report, error) {
	c, err := NewChecker(opts, sources...)
	if err != nil {
		return nil, err
	}
	for r, err := range declcfg.Map(ctx, c.v.object, c.v.portable(sources, c.keep)...) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if c.cut {
			break
		}
		c.add(r, err)
	}
	return c.Report(ctx)
}

// A Checker checks a catalog while its caller reads it, so that it is read once for several purposes. What the rule
// portable says of files, only [Catalog] reports.
type Checker struct {
	v         *validator
	relations relations
	sources   []declcfg.Source
	objects   int

	found  []*problem.Problem
	counts map[problem.Severity]int // of found
	more   int                      // problems that are no errors and not in found
	cut    bool                     // too many errors, or problems of one object: nothing more is checked
}

// NewChecker returns a checker of the catalog that the sources make up. The error is that of [Catalog].
func NewChecker(opts Options, sources ...declcfg.Source) (*Checker, error) {
	v, err := newValidator(opts)
	if err != nil {
		return nil, err
	}
	return &Checker{v: v, sources: sources, counts: map[problem.Severity]int{}, relations: relations{
		validator: v, scopes: map[*declcfg.Meta]*scope{}, wrong: map[string]bool{}, room: maxProblems, cel: newCELRules(),
	}}, nil
}

// Object checks one object by itself, of which Decode returned the value or the error. It may be called from several
// goroutines; what it returns is for Add.
func (c *Checker) Object(o *declcfg.Object, value any, err error) any {
	return c.v.decoded(o, value, err)
}

// Add adds what [declcfg.Map] yields, in that order: what Object returned, or the error.
func (c *Checker) Add(object any, err error) {
	if !c.cut {
		r, _ := object.(checked)
		c.add(r, err)
	}
}

func (c *Checker) add(r checked, err error) {
	if err != nil {
		c.keep(c.v.unreadable(err)...)
		c.relations.lost.add(err)
		return
	}
	c.objects++
	c.keep(r.problems...)
	c.relations.wrong[r.meta.Owner()] = c.relations.wrong[r.meta.Owner()] || r.wrong
	c.relations.celRules(r.meta, r.rules)
	c.relations.index.Add(r.meta, r.value)
	if c.v.opts.Other != nil && r.value == nil && !r.wrong {
		c.v.opts.Other(r.meta)
	}
}

// keep adds problems of one object, or of the relations between all. A catalog with many warnings is still a valid one,
// so only errors end the check.
func (c *Checker) keep(problems ...*problem.Problem) {
	c.cut = c.cut || len(problems) >= maxProblems
	for _, p := range problems {
		isError := p.Severity == problem.Error || c.v.alone[p.Rule]
		if c.counts[p.Severity] >= maxProblems && !isError {
			c.more++
			continue
		}
		c.counts[p.Severity]++
		c.found = append(c.found, p)
		c.cut = c.cut || isError && c.counts[p.Severity] >= maxProblems
	}
}

// Report checks the relations between the objects that were added, and returns all problems. The error is that of ctx.
func (c *Checker) Report(ctx context.Context) (*Report, error) {
	index := &c.relations.index
	if c.cut {
		return &Report{Problems: stopped(c.found), Index: index, lost: c.relations.lost}, nil
	}
	if c.objects == 0 {
		c.keep(c.v.noObjects(c.sources, len(c.found) > 0)...)
	}
	c.relations.check(ctx)
	c.keep(c.relations.problems(ctx)...)
	if c.cut {
		return &Report{Problems: stopped(c.found), Index: index, lost: c.relations.lost}, ctx.Err()
	}
	problems := problem.Sort(c.found)
	if c.more > 0 {
		rest := &problem.Problem{Severity: problem.Info, Message: plural.Number(c.more) + " more, which are not listed"}
		if c.counts[problem.Warning] >= maxProblems {
			rest.Severity = problem.Warning
		}
		problems = append(problems, rest)
	}
	return &Report{Problems: problems, Index: index, lost: c.relations.lost}, ctx.Err()
}

// maxProblems is how many problems of a severity are reported. Nobody reads more, and they take more memory than the
// catalog. It is a variable for tests.
var maxProblems = 100_000

// stopped returns the first problems that were found, and the error that there may be more.
func stopped(problems []*problem.Problem) []*problem.Problem {
	problems = problem.Sort(problems)
	return append(problems[:min(len(problems), maxProblems)], &problem.Problem{
		Severity: problem.Error,
		Message:  "stopped after " + plural.Number(maxProblems) + " problems",
		Fix:      "fix these first, or disable their rules",
	})
}
