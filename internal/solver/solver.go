// Package solver chooses operators as OLM Classic does: of all sets that satisfy the constraints, it returns the one
// that the search of OLM's resolver ends at.
//
// The search has a queue of choices. At first there is one for each mandatory variable, with that variable as the only
// candidate. A choice is made by guessing that its first candidate is chosen; then the dependencies of that candidate
// become choices at the end of the queue. No guess is needed where a candidate was guessed before. When the constraints
// cannot hold together with the guesses, the newest guess is taken back and the next candidate of its choice is tried,
// and so on. In other words: each choice takes its first candidate with which all constraints can hold, given the
// choices before it. That is how this package decides, because trying everything in between can take forever:
//
//   - A guess is excluded at once if it leads to a contradiction by unit propagation, which is fast.
//   - Where all candidates of a choice are excluded, a SAT solver finds the first guess that cannot hold together with
//     those before it, and then the next candidate of that choice that can.
//
// In one case the answer of OLM may be another one. A choice that OLM makes again, because an earlier guess has moved
// on, continues at its last candidate. If it has no more, nothing is guessed, and the SAT solver takes any candidate
// with which the constraints hold; this package takes the first.
//
// OLM finally minimizes the number of variables that are true without being guessed. There are none: each mandatory
// variable is guessed, each dependency of a guessed variable has a guessed candidate, and all else only forbids.
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

// A Problem is a number of variables, counted from 0, and what is demanded of them. The order of mandatory variables,
// of the dependencies of a variable, and of the candidates of a dependency decides what is preferred.
type Problem struct {
	Variables   int
	Constraints []Constraint
}

// A Constraint demands something of a variable, the subject, and of others.
type Constraint struct {
	Kind    Kind
	Subject int
	Others  []int
}

// A Kind is what a constraint demands.
type Kind int

// The kinds of constraints.
const (
	Mandatory  Kind = iota // the subject is chosen
	Prohibited             // the subject is not chosen
	Dependency             // one of the others is chosen if the subject is; without others, the subject cannot be
	Conflict               // the subject and the first of the others are not both chosen
	AtMostOne              // at most one of the others is chosen, and none that is listed twice; there is no subject
)

// ErrUndecided says that the context ended before there was an answer. A few problems take forever in practice.
var ErrUndecided = errors.New("no answer in time")

// An Unsatisfiable error says that no choice satisfies all constraints.
type Unsatisfiable struct { //nolint:errname // as in OLM, it is an outcome rather than a failure
	// Core lists constraints that contradict each other, by index and ascending. Without any of them the rest can be
	// satisfied, unless the context ended before this was known. Of several cores, it is the one that does without the
	// first constraint, or else without the second, and so on.
	Core []int
}

func (e *Unsatisfiable) Error() string {
	return fmt.Sprintf("%d constraints contradict each other", len(e.Core))
}

// Solve returns the chosen variables, ascending. The same problem always has the same answer.
// The error is an *Unsatisfiable, or it wraps ErrUndecided and the cause of the context's end.
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
