package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opm-toolchain/opm/internal/constraint"
	"github.com/opm-toolchain/opm/internal/solver"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const defaultTimeout = 10 * time.Second

// Classic returns what OLM Classic installs and updates. What OLM reports as an error is an outcome; the error is that
// of ctx, or about a Namespace that cannot be.
func (ns *Namespace) Classic(ctx context.Context, opts Options) (*Classic, error) {
	if err := ns.check(); err != nil {
		return nil, err
	}
	return opts.bound(ctx, ns.question().answer)
}

// bound returns the answer, whose error is an outcome unless it is that of ctx.
func (o Options) bound(ctx context.Context, answer func(context.Context) (*Classic, error)) (*Classic, error) {
	timeout := cmp.Or(o.Timeout, defaultTimeout)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	a, err := answer(limited)
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return &Classic{Outcome: Undecided, Install: []Choice{}, Message: fmt.Sprintf("no answer within %v", timeout)}, nil
	case errors.Is(err, constraint.ErrBudget) || errors.Is(err, constraint.ErrCost) ||
		errors.Is(err, ErrEvaluations) || errors.Is(err, errTooLarge):
		// OLM has no limits
		return &Classic{Outcome: Undecided, Install: []Choice{}, Message: err.Error(), Core: broken(err)}, nil
	}
	return &Classic{Outcome: Failed, Install: []Choice{}, Message: err.Error(), Core: broken(err)}, nil
}

// answer returns the answer; the error is what prevents OLM from resolving.
func (q *question) answer(ctx context.Context) (*Classic, error) {
	if err := q.ask(ctx); err != nil {
		return nil, err
	}
	return q.solve(ctx)
}

// solve returns the answer of the solver about the variables.
func (q *question) solve(ctx context.Context) (*Classic, error) {
	p := q.problem()
	answer := &Classic{Outcome: Resolved, Install: []Choice{}}
	chosen, err := p.Solve(ctx)
	if unsatisfiable, ok := errors.AsType[*solver.Unsatisfiable](err); ok {
		answer.Outcome, answer.Core = Unsatisfiable, p.core(unsatisfiable.Core)
		answer.Message = "constraints not satisfiable: " + sentences(answer.Core)
		return answer, nil
	}
	if err != nil {
		return nil, err
	}
	q.steps(answer, p.bundles(chosen))
	answer.OrderSensitive = p.orderSensitive(ctx, chosen)
	return answer, nil
}

// orderSensitive reports whether another order of the anchors may give another answer.
func (p *problem) orderSensitive(ctx context.Context, chosen []int) bool {
	if len(p.Constraints)-p.anchors < 2 {
		return false
	}
	other, err := p.solveReversed(ctx)
	return err != nil || !slices.Equal(chosen, other)
}

// solveReversed returns what is chosen if the anchors are in the reverse order.
func (p *problem) solveReversed(ctx context.Context) ([]int, error) {
	reversed := p.Problem
	reversed.Constraints = slices.Clone(p.Constraints)
	slices.Reverse(reversed.Constraints[p.anchors:])
	return reversed.Solve(ctx)
}

// core returns what constraints say, sorted by that.
func (p *problem) core(constraints []int) []Fact {
	var facts []Fact
	for _, i := range constraints {
		facts = append(facts, p.facts[i]())
	}
	slices.SortFunc(facts, func(a, b Fact) int { return cmp.Compare(a.Message, b.Message) })
	return facts
}

func sentences(facts []Fact) string {
	var texts []string
	for _, f := range facts {
		texts = append(texts, f.Message)
	}
	return strings.Join(texts, ", ")
}

// bundles returns the chosen bundles of catalogs.
func (p *problem) bundles(chosen []int) []*variable {
	var bundles []*variable
	for _, i := range chosen {
		if i < len(p.variables) && p.variables[i].bundle.installed == nil {
			bundles = append(bundles, p.variables[i])
		}
	}
	return bundles
}

// broken returns what prevents OLM from resolving, as far as it has a place.
func broken(err error) []Fact {
	var all aggregateError
	if !errors.As(err, &all) {
		all = aggregateError{err}
	}
	var facts []Fact
	for _, err := range all {
		if b, ok := errors.AsType[*brokenError](err); ok {
			facts = append(facts, Fact{
				Kind: FactBroken, Subject: b.subject, Message: err.Error(), Places: []declcfg.Pos{b.place.find()},
			})
		}
	}
	return facts
}

// check returns what cannot be in a namespace.
func (ns *Namespace) check() error {
	var errs []error
	seen := map[string]declcfg.Pos{}
	add := func(kind, name string, pos declcfg.Pos) {
		key := fmt.Sprintf("%s %q", kind, name)
		before, twice := seen[key]
		switch {
		case twice && pos.File == "":
			errs = append(errs, errors.New(key+" is defined twice"))
		case twice:
			errs = append(errs, &declcfg.Error{Pos: pos, Err: errors.New(key + " is already defined at " + before.String())})
		}
		seen[key] = pos
	}
	for _, in := range ns.Installed {
		add("ClusterServiceVersion", in.Name, in.Pos)
	}
	for _, s := range ns.Subscriptions {
		add("Subscription", s.Name, s.Pos)
	}
	for _, c := range ns.Catalogs {
		add("CatalogSource", c.Namespace+"/"+c.Name, declcfg.Pos{})
	}
	return errors.Join(errs...)
}
