package solver

import (
	"context"
	"fmt"
	"time"

	"github.com/go-air/gini"
	"github.com/go-air/gini/z"
)

// solve reports whether the constraints are satisfiable together with the assumptions. If not, g.Why returns the
// assumptions that contradict each other.
func solve(ctx context.Context, g *gini.Gini, assumed []z.Lit) (bool, error) {
	const slice = 20 * time.Millisecond // the solver keeps what it learned for the next slice
	for ctx.Err() == nil {
		g.Assume(assumed...)
		if result := g.Try(slice); result != 0 {
			return result > 0, nil
		}
	}
	return false, undecided(ctx)
}

func undecided(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrUndecided, context.Cause(ctx))
}

// literal returns the literal that is true if the variable is chosen.
func literal(variable int) z.Lit { return z.Var(variable + 1).Pos() }

// load returns a SAT solver with all constraints. They apply while their guard is true: there is one guard for all or,
// if separate is true, one for each constraint, in ascending order. Without guards, gini v1.0.4 fails if it is called
// again after it found a contradiction.
func (p *Problem) load(separate bool) (g *gini.Gini, guards []z.Lit) {
	l := &loader{g: gini.NewV(p.Variables + len(p.Constraints))}
	for range p.Variables {
		l.g.Lit()
	}
	for i, c := range p.Constraints {
		if i == 0 || separate {
			l.guard = l.g.Lit()
			guards = append(guards, l.guard)
		}
		switch c.Kind {
		case Mandatory:
			l.clause(literal(c.Subject))
		case Prohibited:
			l.clause(literal(c.Subject).Not())
		case Dependency:
			for _, v := range c.Others {
				l.g.Add(literal(v))
			}
			l.clause(literal(c.Subject).Not())
		case Conflict:
			l.clause(literal(c.Subject).Not(), literal(c.Others[0]).Not())
		case AtMostOne:
			l.atMostOne(c.Others)
		}
	}
	return l.g, guards
}

// A loader adds constraints to a SAT solver as clauses. Of each clause, at least one literal must be true.
type loader struct {
	g     *gini.Gini
	guard z.Lit // of the current constraint
}

// atMostOne adds, for each member, a variable that is true if any of the members up to it is chosen.
func (l *loader) atMostOne(members []int) {
	var before z.Lit
	for i, v := range members {
		member, upTo := literal(v), l.g.Lit()
		l.clause(member.Not(), upTo)
		if i > 0 {
			l.clause(before.Not(), upTo)
			l.clause(before.Not(), member.Not())
		}
		before = upTo
	}
}

// clause adds the given literals, and the literals added before it, as one clause.
func (l *loader) clause(ms ...z.Lit) {
	for _, m := range ms {
		l.g.Add(m)
	}
	l.g.Add(l.guard.Not())
	l.g.Add(z.LitNull)
}
