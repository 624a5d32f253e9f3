// Package solver chooses operators as OLM Classic does: a set that satisfies all constraints and, among those sets, the
// one that the order of the constraints and of their alternatives prefers.
package solver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-air/gini"
	"github.com/go-air/gini/z"
)

// A Kind is what a constraint demands.
type Kind int

// The kinds of constraints.
const (
	Mandatory  Kind = iota // Subject is chosen
	Prohibited             // Subject is not chosen
	Dependency             // if Subject is chosen, so is one of Others, the first if possible; none: Subject cannot be chosen
	Conflict               // Subject and Others[0] are not both chosen
	AtMostOne              // at most one of Others is chosen; what is listed twice cannot be chosen; Subject is -1
)

// A Constraint limits what can be chosen. Variables are numbers from 0.
type Constraint struct {
	Kind    Kind
	Subject int
	Others  []int
}

// A Problem is a number of variables and the constraints on them. Their order matters: of two sets that satisfy all
// constraints, the search prefers one by the order of the mandatory constraints and then of the dependencies.
type Problem struct {
	Variables   int
	Constraints []Constraint
}

// ErrUndecided says that the context ended before there was an answer: a few problems take practically forever.
var ErrUndecided = errors.New("no answer in time")

// An Unsatisfiable error says that nothing satisfies all constraints.
type Unsatisfiable struct {
	// Core lists constraints, by index and ascending, that contradict each other. All of them are needed for that,
	// unless the context ended before this was known.
	Core []int
}

func (e *Unsatisfiable) Error() string {
	return fmt.Sprintf("%d constraints contradict each other", len(e.Core))
}

// slice is how long the solver runs before it looks at the context.
const slice = 20 * time.Millisecond

// Solve returns the chosen variables, ascending.
// The error is an *Unsatisfiable, or wraps ErrUndecided and the context's error.
func (p *Problem) Solve(ctx context.Context) ([]int, error) {
	s := &search{problem: p, chosen: make([]bool, p.Variables), dependencies: make([][][]int, p.Variables)}
	for _, c := range p.Constraints {
		switch c.Kind {
		case Mandatory:
			s.queue = append(s.queue, []int{c.Subject})
		case Dependency:
			s.dependencies[c.Subject] = append(s.dependencies[c.Subject], c.Others)
		}
	}
	satisfiable, err := s.run(ctx)
	if err != nil {
		return nil, err
	}
	if !satisfiable {
		core, err := p.core(ctx)
		if err != nil {
			return nil, err
		}
		return nil, &Unsatisfiable{core}
	}
	var chosen []int
	for _, g := range s.guesses {
		chosen = append(chosen, s.queue[g.choice][g.candidate])
	}
	slices.Sort(chosen)
	return chosen, nil
}

type search struct {
	problem      *Problem
	dependencies [][][]int // by variable: the alternatives of each of its dependencies
	queue        [][]int   // choices: lists of candidates
	next         int       // the choice to make next
	guesses      []guess
	chosen       []bool
	trial        *gini.Gini // has a test scope for each guess
	full         *gini.Gini
}

type guess struct{ choice, candidate, queued int }

func (s *search) run(ctx context.Context) (bool, error) {
	s.full = s.problem.load(nil)
	s.trial = s.full.Copy()
	from := 0
	for s.next < len(s.queue) {
		if err := ctx.Err(); err != nil {
			return false, undecided(ctx)
		}
		if s.guess(from) {
			from = 0
			continue
		}
		possible, err := s.backtrack(ctx)
		if !possible || err != nil {
			return false, err
		}
		from = s.undo()
	}
	return true, nil
}

// guess makes the next choice: it takes the first candidate, from the given one on, that propagation does not exclude.
func (s *search) guess(from int) bool {
	candidates := s.queue[s.next]
	if slices.ContainsFunc(candidates, func(v int) bool { return s.chosen[v] }) {
		s.next++
		return true
	}
	for i := from; i < len(candidates); i++ {
		s.trial.Assume(literal(candidates[i]))
		if result, _ := s.trial.Test(nil); result >= 0 {
			s.push(guess{s.next, i, len(s.queue)})
			return true
		}
		if s.trial.Untest() < 0 {
			return false
		}
	}
	return false
}

func (s *search) push(g guess) {
	v := s.queue[g.choice][g.candidate]
	s.guesses = append(s.guesses, g)
	s.queue = append(s.queue, s.dependencies[v]...)
	s.chosen[v] = true
	s.next = g.choice + 1
}

// backtrack drops guesses until the remaining ones can hold together, except the last.
func (s *search) backtrack(ctx context.Context) (bool, error) {
	assumed := make([]z.Lit, len(s.guesses))
	for i, g := range s.guesses {
		assumed[i] = literal(s.queue[g.choice][g.candidate])
	}
	for {
		satisfiable, err := solve(ctx, s.full, assumed)
		if err != nil {
			return false, err
		}
		if satisfiable {
			break
		}
		last := -1
		for _, m := range s.full.Why(nil) {
			last = max(last, slices.Index(assumed, m))
		}
		if last < 0 {
			return false, nil
		}
		assumed = assumed[:last]
	}
	for len(s.guesses) > len(assumed)+1 {
		s.undo()
	}
	return true, nil
}

// undo takes back the last guess and returns the candidate after it.
func (s *search) undo() int {
	last := s.guesses[len(s.guesses)-1]
	s.guesses = s.guesses[:len(s.guesses)-1]
	s.chosen[s.queue[last.choice][last.candidate]] = false
	s.queue, s.next = s.queue[:last.queued], last.choice
	s.trial = s.full.Copy()
	for _, g := range s.guesses {
		s.trial.Assume(literal(s.queue[g.choice][g.candidate]))
		s.trial.Test(nil)
	}
	return last.candidate + 1
}

// solve reports whether the constraints can hold with what is assumed.
func solve(ctx context.Context, g *gini.Gini, assumed []z.Lit) (bool, error) {
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

// core returns constraints that contradict each other. It drops one after the other, the last first, and keeps those
// without which the others can hold.
func (p *Problem) core(ctx context.Context) ([]int, error) {
	guards := make([]z.Lit, len(p.Constraints))
	g := p.load(guards)
	core, err := contradiction(ctx, g, guards)
	if err != nil {
		return nil, err
	}
	for needed := 0; needed < len(core); {
		i := len(core) - 1 - needed
		smaller, err := contradiction(ctx, g, slices.Delete(slices.Clone(core), i, i+1))
		if err != nil {
			break // it is a core, though perhaps not a minimal one
		}
		if smaller == nil {
			needed++
		} else {
			core = smaller
		}
	}
	indices := make([]int, len(core))
	for i, m := range core {
		indices[i], _ = slices.BinarySearch(guards, m)
	}
	return indices, nil
}

// contradiction returns those of the assumed literals, in order, that cannot hold together; nil if all can.
func contradiction(ctx context.Context, g *gini.Gini, assumed []z.Lit) ([]z.Lit, error) {
	satisfiable, err := solve(ctx, g, assumed)
	if satisfiable || err != nil {
		return nil, err
	}
	core := g.Why([]z.Lit{})
	slices.Sort(core)
	return core, nil
}

// load returns a solver with all constraints. Where guards are wanted, each constraint holds only when its guard does.
func (p *Problem) load(guards []z.Lit) *gini.Gini {
	l := &loader{g: gini.NewV(p.Variables + len(guards) + 1)}
	for range p.Variables {
		l.g.Lit()
	}
	for i, c := range p.Constraints {
		if guards != nil {
			guards[i] = l.g.Lit()
			l.guard = guards[i]
		}
		l.constraint(c)
	}
	return l.g
}

type loader struct {
	g     *gini.Gini
	guard z.Lit
}

func (l *loader) constraint(c Constraint) {
	switch c.Kind {
	case Mandatory:
		l.clause(literal(c.Subject))
	case Prohibited:
		l.clause(literal(c.Subject).Not())
	case Dependency:
		ms := []z.Lit{literal(c.Subject).Not()}
		for _, o := range c.Others {
			ms = append(ms, literal(o))
		}
		l.clause(ms...)
	case Conflict:
		l.clause(literal(c.Subject).Not(), literal(c.Others[0]).Not())
	case AtMostOne:
		l.atMostOne(c.Others)
	}
}

// atMostOne adds a chain of variables that say whether one of the first members is chosen: 3 clauses per member.
func (l *loader) atMostOne(members []int) {
	before := z.LitNull
	for _, v := range members {
		m := literal(v)
		upTo := l.g.Lit()
		l.clause(m.Not(), upTo)
		if before != z.LitNull {
			l.clause(before.Not(), m.Not())
			l.clause(before.Not(), upTo)
		}
		before = upTo
	}
}

func (l *loader) clause(ms ...z.Lit) {
	if l.guard != z.LitNull {
		l.g.Add(l.guard.Not())
	}
	for _, m := range ms {
		l.g.Add(m)
	}
	l.g.Add(z.LitNull)
}

func literal(v int) z.Lit { return z.Var(v + 1).Pos() }
