package solver

import (
	"context"
	"slices"

	"github.com/go-air/gini"
	"github.com/go-air/gini/z"
)

// A search is one run of the search described in the package comment.
type search struct {
	dependencies [][][]int // by variable: the candidates of each of its dependencies
	queue        [][]int   // the candidates of each choice
	next         int       // index of the next choice
	guesses      []guess
	guessed      []bool  // by variable
	assumed      []z.Lit // the guard of the constraints, followed by the guesses

	full  *gini.Gini // only solves
	trial *gini.Gini // only propagates; its assumptions are in test scopes
}

// A guess is a candidate taken by a choice.
type guess struct {
	choice    int // index in the queue
	candidate int // index in the choice
	variable  int
	queued    int // length of the queue before the guess
}

func newSearch(p *Problem) *search {
	s := &search{dependencies: make([][][]int, p.Variables), guessed: make([]bool, p.Variables)}
	for _, c := range p.Constraints {
		switch c.Kind {
		case Mandatory:
			s.queue = append(s.queue, []int{c.Subject})
		case Dependency:
			s.dependencies[c.Subject] = append(s.dependencies[c.Subject], c.Others)
		}
	}
	s.full, s.assumed = p.load(false)
	return s
}

// run makes all choices, and reports whether that is possible.
func (s *search) run(ctx context.Context) (bool, error) {
	if !s.restart() {
		return false, nil
	}
	for s.next < len(s.queue) {
		if ctx.Err() != nil {
			return false, undecided(ctx)
		}
		if s.choose() {
			continue
		}
		if possible, err := s.revise(ctx); !possible {
			return false, err
		}
	}
	return true, nil
}

// choose makes the next choice. It reports false if propagation excludes all candidates.
func (s *search) choose() bool {
	candidates := s.queue[s.next]
	if slices.ContainsFunc(candidates, func(v int) bool { return s.guessed[v] }) {
		s.next++
		return true
	}
	for i, v := range candidates {
		s.trial.Assume(literal(v))
		if result, _ := s.trial.Test(nil); result >= 0 {
			s.guess(i)
			return true
		}
		if s.trial.Untest() < 0 {
			return false
		}
	}
	return false
}

// guess takes a candidate for the next choice.
func (s *search) guess(candidate int) {
	v := s.queue[s.next][candidate]
	s.guesses = append(s.guesses, guess{s.next, candidate, v, len(s.queue)})
	s.guessed[v] = true
	s.assumed = append(s.assumed, literal(v))
	s.queue = append(s.queue, s.dependencies[v]...)
	s.next++
}

// revise finds the first guess that contradicts the earlier ones, replaces it by the next possible candidate, and takes
// back the guesses after it. It reports false if there is no such guess: the constraints contradict each other.
func (s *search) revise(ctx context.Context) (bool, error) {
	n, err := s.consistent(ctx)
	if n < 0 || err != nil {
		return false, err
	}
	wrong := s.guesses[n]
	for _, g := range s.guesses[n:] {
		s.guessed[g.variable] = false
	}
	s.guesses, s.assumed = s.guesses[:n], s.assumed[:n+1]
	s.queue, s.next = s.queue[:wrong.queued], wrong.choice
	candidates := s.queue[s.next]
	for i := wrong.candidate + 1; i < len(candidates); i++ {
		possible, err := solve(ctx, s.full, append(s.assumed, literal(candidates[i])))
		if err != nil {
			return false, err
		}
		if possible {
			s.guess(i)
			return s.restart(), nil
		}
	}
	return false, nil
}

// consistent returns the maximum n such that the first n guesses are satisfiable together, or -1 if the constraints are
// unsatisfiable even without guesses.
func (s *search) consistent(ctx context.Context) (int, error) {
	for n := len(s.guesses); n >= 0; n-- {
		possible, err := solve(ctx, s.full, s.assumed[:n+1])
		if possible || err != nil {
			return n, err
		}
		// The last guess in the explanation contradicts the earlier ones.
		why := s.full.Why(nil)
		for n > 0 && !slices.Contains(why, s.assumed[n]) {
			n--
		}
	}
	return -1, nil
}

// restart propagates the assumptions again, with everything that the solver has learned. It reports false if they lead
// to a contradiction.
func (s *search) restart() bool {
	s.trial = s.full.Copy()
	s.trial.Assume(s.assumed...)
	result, _ := s.trial.Test(nil)
	return result >= 0
}
