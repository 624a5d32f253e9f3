// Package resolution has the answers of opm resolve: what OLM installs of a package or in a whole cluster, and why not
// something else, for programs and as text.
package resolution

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/resolve"
)

// An Answer says what OLM installs.
type Answer interface {
	// Result returns the answer to print. Text has at most limit lines of each explanation, and then the hint how to get
	// all; 0 means no limit.
	Result(limit int, hint string) *output.Result

	// Resolved reports whether OLM resolves everything that it was asked for.
	Resolved() bool
}

// Options are what to ask.
type Options struct {
	Classic, V1 bool          // the versions of OLM
	Path        bool          // also the later answers, until nothing is left to update; only of OfPackage
	Timeout     time.Duration // of each resolution by OLM Classic
}

// OfPackage returns what OLM installs of the package of a setup.
func OfPackage(ctx context.Context, s *resolve.Setup, ask Options) (Answer, error) {
	r := &resolution{Assumed: s.Assumed}
	if ask.Classic {
		opts := resolve.Options{Timeout: ask.Timeout, Explain: true}
		var loop bool
		var err error
		answers := make([]*resolve.ClassicResult, 1)
		if ask.Path {
			answers, loop, err = s.Classic.Path(ctx, opts)
		} else {
			answers[0], err = s.Classic.Resolve(ctx, opts)
		}
		if err != nil {
			return nil, err
		}
		r.Classic = &classicResolution{ClassicResult: *answers[0], Explanation: answers[0].Explanation, Loop: loop}
		for _, a := range answers[1:] {
			r.Classic.Path = append(r.Classic.Path, resolveStep{a.Outcome, a.Install, a.Message})
		}
	}
	if ask.V1 {
		r.V1 = ofV1(s, ask.Path)
	}
	return r, nil
}

// ofV1 returns the answer of OLM v1. A ClusterExtension that the cluster does not accept is an error.
func ofV1(s *resolve.Setup, path bool) *v1Resolution {
	e := &s.V1
	if err := e.Admit().ToAggregate(); err != nil {
		return &v1Resolution{resolveStep: resolveStep{resolve.Failed, []resolve.Choice{}, err.Error()}}
	}
	answers, loop := []*resolve.V1Result{}, false
	if path {
		answers, loop = e.Path(s.Catalogs)
	} else {
		answers = append(answers, e.Resolve(s.Catalogs))
	}
	r := &v1Resolution{Loop: loop, Catalogs: answers[0].Catalogs, first: answers[0]}
	for i, a := range answers {
		step := v1Step(e, a)
		if i == 0 {
			r.resolveStep = step
		} else {
			r.Path = append(r.Path, step)
		}
		if e.Changes(a) {
			e = e.Next(a)
		}
	}
	return r
}

func v1Step(e *resolve.V1Request, a *resolve.V1Result) resolveStep {
	step := resolveStep{a.Outcome, []resolve.Choice{}, a.Message}
	if e.Changes(a) {
		c := resolve.Choice{Catalog: a.Choice.Catalog, Package: a.Choice.Package, Bundle: a.Choice.Bundle}
		c.Channel = cmp.Or(append(slices.Clone(a.Choice.Channels), "")[0])
		if e.Installed != nil {
			c.Replaces = e.Installed.Name
		}
		step.Install = append(step.Install, c)
	}
	return step
}
