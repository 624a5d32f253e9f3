// Package solver chooses operators as OLM Classic does: of all sets that satisfy the constraints, it returns the one
// that OLM's resolver finds.
//
// The search has a queue of choices. At first it contains one choice for each mandatory variable, with that variable as
// the only candidate. A choice is made by guessing that its first candidate is chosen; then the dependencies of that
// candidate are added to the end of the queue. If one of the candidates was already guessed, no guess is needed. If the
// constraints are unsatisfiable with the guesses, the newest guess is taken back and the next candidate of its choice
// is tried, and so on. In other words: each choice takes its first candidate with which all constraints are
// satisfiable, given the earlier choices. This package decides by that rule, because trying all combinations can take
// forever:
//
//   - A guess is excluded at once if it leads to a contradiction by unit propagation, which is fast.
//   - If all candidates of a choice are excluded, a SAT solver finds the first guess that contradicts the earlier ones,
//     and then the next candidate of that choice that does not.
//
// In one case the answer of OLM may differ. If an earlier guess has changed, OLM repeats a choice from its last
// candidate on. If there are no more candidates, OLM guesses none, and the SAT solver takes any candidate that
// satisfies the constraints; this package takes the first. Two of 3,855 recorded answers differ because of this.
//
// Finally, OLM minimizes the number of variables that are true without being guessed. There are none: each mandatory
// variable is guessed, each dependency of a guessed variable has a guessed candidate, and all other constraints only
// forbid.
//
//	p := solver.Problem{Variables: 3, Constraints: []solver.Constraint{
//		{Kind: solver.Mandatory, Subject: 0},
//		{Kind: solver.Dependency, Subject: 0, Others: []int{2, 1}},
//	}}
//	chosen, err := p.Solve(ctx) // 0 and 2
package solver

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Problem is a number of variables, counted from 0, and the constraints on them. The order of mandatory variables, of
// the dependencies of a variable, and of the candidates of a dependency is the order of preference.
type Problem struct {
	Variables   int
	Constraints []Constraint
}

// A Constraint restricts the choice of one variable, the subject, and of others.
type Constraint struct {
	Kind    Kind
	Subject int
	Others  []int
}

// A Kind is the kind of a constraint.
type Kind int

// The kinds of constraints.
const (
	Mandatory  Kind = iota // the subject is chosen
	Prohibited             // the subject is not chosen
	Dependency             // the subject requires one of the others; if there are none, it cannot be chosen
	Conflict               // the subject and the first of the others are not both chosen
	AtMostOne              // at most one of the others is chosen, and none that is listed twice; there is no subject
)

// ErrUndecided means that the context ended before there was an answer. A few problems take practically forever.
var ErrUndecided = errors.New("no answer in time")

// An Unsatisfiable error means that no choice satisfies all constraints.
type Unsatisfiable struct { //nolint:errname // as in OLM, it is an outcome rather than a failure
	// Core lists constraints that contradict each other, by index and ascending. If any of them is removed, the rest is
	// satisfiable, unless the context ended before this was known. Of several cores, it is the one without the first
	// constraint, or else without the second, and so on.
	Core []int
}

func (e *Unsatisfiable) Error() string {
	return fmt.Sprintf("%d constraints contradict each other", len(e.Core))
}

// Solve returns the chosen variables, ascending. The same problem always has the same answer. The error is an
// *Unsatisfiable, or it wraps ErrUndecided and the cause of the end of the context.
func (p *Problem) Solve(ctx context.Context) ([]int, error) {
	s := newSearch(p)
	satisfiable, err := s.run(ctx)
	if err != nil {
		return nil, err
	}
	if !satisfiable {
		return nil, p.explain(ctx)
	}
	chosen := make([]int, len(s.guesses))
	for i, g := range s.guesses {
		chosen[i] = g.variable
	}
	slices.Sort(chosen)
	return chosen, nil
}
