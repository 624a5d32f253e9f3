// Package validate reports every problem in a catalog, with its rule, severity and position.
//
// A catalog that upstream rejects has an error. A catalog that upstream accepts, but that causes trouble on clusters or
// for users, has a warning. [Rules] is the table of rules.
//
//	report, err := validate.Catalog(ctx, validate.Options{}, declcfg.Source{Name: "catalog", FS: os.DirFS("catalog")})
//	for _, p := range report.Problems {
//		fmt.Fprintln(os.Stderr, p)
//	}
//
// # Checks
//
// Decoding rejects wrong types, the CUE of package schemas checks the shape of one object, and the Go of this package
// the relations between objects. Each rule is a variable beside its check, with its severity and reason, and a file
// with its examples; help, reference and SARIF are printed from the rules. What both CUE and Go check is reported by
// Go: the definition of the value has the attribute @rule with the name of the rule.
//
// # Unreadable text
//
// An unreadable document is a problem, and the check continues without it. Checks that would fail only because of it
// are skipped: checks for missing objects in the packages that the text mentions or, if it has no text, in the packages
// of its directory. [Report.Withheld] has the packages to leave out for a valid catalog.
package validate

import (
	"context"
	"runtime"

	"github.com/opm-toolchain/opm/internal/memo"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/pool"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/schemas"
)

// Options select the checks. The zero value checks everything.
type Options struct {
	// Levels are the levels of rules. A rule that is off in every package is not checked, and an update rule that is an
	// error in one is reported even if another problem is the cause. The problems still have the severity of their rule:
	// Levels.Apply sets it.
	Levels problem.Levels

	ErrorsOnly bool       // check only rules of severity error, which is faster
	WhiteSpace bool       // with ErrorsOnly, also report white space in names, also of entries
	Info       InfoDetail // of problems at level info
	Policy     Policy     // additional requirements of the catalog maintainers

	Transport bool // accept docker:// before the references of images, for a caller that removes it

	// Target is the platform that the catalog is for, the zero value if it is not known. Its Kubernetes must be known.
	Target platform.Platform

	// Schemas are the user's CUE files with definitions for objects and properties; see package schemas.
	Schemas []schemas.File

	// Other, if not nil, is called for each valid object of a custom schema, in the order read. The index of the report
	// does not contain these objects.
	Other func(*declcfg.Meta)
}

// An InfoDetail is the detail of the problems of rules at level info in every package.
type InfoDetail int

// The details.
const (
	InfoPlaced   InfoDetail = iota // that of all problems
	InfoUnplaced                   // they have the position of their object, which is faster
	InfoCounted                    // they are only counted, which also takes less memory; see [Report]
)

// ErrSchemas is wrapped by the error about Options.Schemas that take too much time or memory. The process should end
// soon, because CUE cannot be stopped.
var ErrSchemas = schemas.ErrLimit

// A Report has the problems of a catalog, and an index of its readable objects. The check stops at 100,000 errors; of
// each other severity, at most 100,000 problems are listed.
type Report struct {
	// Problems are sorted by position. With InfoCounted, the problems at level info are behind all others, where the
	// first problem of a rule about a package in a file represents the others.
	Problems []*problem.Problem
	Index    *declcfg.Index

	unreadable unreadableParts
	several    bool // the sources look like several catalogs; see [Checker.several]
}

// Catalog checks the catalog that consists of the sources. The report lists its problems, and is the same on every run.
// An error means that the catalog could not be checked, for example because a schema does not compile; it may wrap
// [ErrSchemas].
func Catalog(ctx context.Context, opts Options, sources ...declcfg.Source) (*Report, error) {
	c, err := NewChecker(opts, sources...)
	if err != nil {
		return nil, err
	}
	object := func(o *declcfg.Object) (any, error) {
		value, err := o.Decode()
		return c.Object(o, value, err), nil
	}
	sources = c.v.portable(sources, c.keep)
	for r, err := range declcfg.Convert(memo.For(ctx, c.v.memoKey()), object, sources...) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := c.v.extra.Err(); err != nil {
			return nil, err
		}
		if c.cut {
			break
		}
		c.Add(r.Meta, r.Value, err)
	}
	return c.Report(ctx)
}

// A Checker checks a catalog while its caller reads it, so that one read can serve several purposes. Only [Catalog]
// reports the problems of files that the rule portable covers.
type Checker struct {
	v         *validator
	relations relations
	sources   []declcfg.Source
	objects   int

	found   []*problem.Problem
	counted []*problem.Problem       // see InfoCounted
	counts  map[problem.Severity]int // problems in found and counted
	more    int                      // number of warnings and hints that are in neither
	cut     bool                     // the check stopped: too many errors, or too many problems in one object
}

// NewChecker returns a checker for the catalog that consists of the sources. It fails as [Catalog] does.
func NewChecker(opts Options, sources ...declcfg.Source) (*Checker, error) {
	v := &validator{
		opts: opts, off: set(opts.Levels.Always(problem.Off, Rules())), alone: set(opts.Levels.Errors()),
		extra: schemas.NewExtra(opts.Schemas...),
	}
	if opts.Info != InfoPlaced {
		v.unplaced = set(opts.Levels.Always(problem.Info, Rules()))
	}
	for _, r := range Rules().All() {
		if opts.ErrorsOnly && r.Severity != problem.Error && (!opts.WhiteSpace || r != ruleWhiteSpace) {
			v.off[r.Name] = true
		}
	}
	v.fitTarget()
	first, err := v.newChecker()
	if err != nil {
		return nil, err
	}
	v.checkers = pool.New(runtime.GOMAXPROCS(0), func() *objectChecker {
		switch c, err := v.newChecker(); {
		case err == nil:
			return c
		case v.extra.Err() != nil: // the check fails
			return &objectChecker{Checker: new(schemas.Checker)}
		default: // cannot happen: the same files compiled before
			panic(err)
		}
	}, func(c *objectChecker) (*objectChecker, bool) { return c, true })
	v.checkers.Put(first)
	return &Checker{v: v, sources: sources, counts: map[problem.Severity]int{}, relations: relations{
		validator: v, scopes: map[declcfg.Key]*scope{}, needs: map[declcfg.Key]*needs{},
		noCSV: map[declcfg.Key]bool{}, wrong: map[string]bool{}, room: maxProblems, cel: newCELRules(),
	}}, nil
}

// Add adds the result of Object for m, or a read error. Calls must be in the order in which [declcfg.Map] yields them.
func (c *Checker) Add(m *declcfg.Meta, object any, err error) {
	if c.cut {
		return
	}
	if err != nil {
		c.keep(c.v.located(ruleRead, nil, err)...)
		c.relations.unreadable.add(err)
		return
	}
	r := object.(*objectResult)
	c.objects++
	c.keep(r.of(m)...)
	c.relations.wrong[m.Owner()] = c.relations.wrong[m.Owner()] || r.wrong
	for _, rule := range r.rules {
		if err := c.relations.cel.check(rule.rule); err != nil {
			c.relations.of(m).add(ruleConstraint, rule.at, "%v", err)
		}
	}
	if r.noCSV {
		c.relations.noCSV[m.Key()] = true
	}
	if r.needs != nil {
		c.relations.needs[m.Key()] = r.needs
	}
	c.relations.index.Add(m, r.value)
	if c.v.opts.Other != nil && r.value == nil && !r.wrong {
		c.v.opts.Other(m)
	}
}

// keep adds the problems of one object, or of the relations between objects. Only errors stop the check, because a
// catalog with many warnings is still valid.
func (c *Checker) keep(problems ...*problem.Problem) {
	c.cut = c.cut || len(problems) >= maxProblems
	if c.v.opts.Info == InfoCounted {
		problems = problem.Sort(problems) // drops repetitions
	}
	for _, p := range problems {
		isError := p.Severity == problem.Error || c.v.alone[p.Rule]
		if c.counts[p.Severity] >= maxProblems && !isError {
			c.more++
			continue
		}
		c.counts[p.Severity]++
		if c.v.opts.Info == InfoCounted && c.v.unplaced[p.Rule] {
			c.count(p)
		} else {
			c.found = append(c.found, p)
		}
		c.cut = c.cut || isError && c.counts[p.Severity] >= maxProblems
	}
}

// count adds p, or the problem that represents it, to the counted problems.
func (c *Checker) count(p *problem.Problem) {
	if n := len(c.counted); n > 0 {
		last := c.counted[n-1]
		if last.Rule == p.Rule && last.Package == p.Package && last.Pos.File == p.Pos.File {
			p = last
		}
	}
	c.counted = append(c.counted, p)
}

// Report checks the relations between the added objects, and returns all problems. Its error is the error of ctx, or
// wraps [ErrSchemas].
func (c *Checker) Report(ctx context.Context) (*Report, error) {
	if err := c.v.extra.Err(); err != nil {
		return nil, err
	}
	index := &c.relations.index
	if c.cut {
		return &Report{Problems: stopped(c.found), Index: index, unreadable: c.relations.unreadable}, nil
	}
	if c.objects == 0 {
		c.keep(c.v.noObjects(c.sources, len(c.found) > 0)...)
	}
	several := c.several()
	if !several {
		c.relations.check(ctx)
	}
	c.keep(c.relations.problems(ctx)...)
	if c.cut {
		return &Report{Problems: stopped(c.found), Index: index, unreadable: c.relations.unreadable}, ctx.Err()
	}
	problems := append(problem.Sort(c.found), c.counted...)
	if c.more > 0 {
		rest := &problem.Problem{Severity: problem.Info, Message: plural.Number(c.more) + " more, which are not listed"}
		if c.counts[problem.Warning] >= maxProblems {
			rest.Severity = problem.Warning
		}
		problems = append(problems, rest)
	}
	return &Report{problems, index, c.relations.unreadable, several}, ctx.Err()
}

// maxProblems is the maximum number of reported problems per severity. Nobody reads more, and they would take more
// memory than the catalog. It is a variable so that tests can lower it.
var maxProblems = 100_000

// stopped returns the first maxProblems problems, followed by an error that there may be more.
func stopped(problems []*problem.Problem) []*problem.Problem {
	problems = problem.Sort(problems)
	return append(problems[:min(len(problems), maxProblems)], &problem.Problem{
		Severity: problem.Error,
		Message:  "stopped after " + plural.Number(maxProblems) + " problems",
		Fix:      "fix these first, or disable their rules",
	})
}
