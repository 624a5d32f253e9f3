package resolve

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/resolve/internal/solver"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// An olmSearch makes choices in exactly the order of OLM's search. Our search differs in one case: if an earlier guess
// has changed, OLM repeats a choice from its last candidate on; if there are no more candidates, it guesses none, and
// the SAT solver takes any candidate.
type olmSearch struct {
	p       *problem
	queue   []olmChoice
	guesses []olmGuess
	guessed []int
}

type olmChoice struct {
	index      int
	candidates []int
}

type olmGuess struct {
	olmChoice
	variable int // -1 for none
	children int
}

// run returns the guessed variables, or nil if there is no solution.
func (s *olmSearch) run(t *testing.T) []int {
	for _, c := range s.p.Constraints {
		if c.Kind == solver.Mandatory {
			s.queue = append(s.queue, olmChoice{candidates: []int{c.Subject}})
		}
	}
	for possible := true; ; {
		if possible && len(s.queue) == 0 {
			if possible = s.solve(t); possible {
				return s.guessed
			}
		}
		if !possible {
			if len(s.guesses) == 0 {
				return nil
			}
			possible = s.pop()
			continue
		}
		possible = s.push()
	}
}

// push makes the next choice, and reports false if propagation finds a contradiction.
func (s *olmSearch) push() bool {
	c := s.queue[0]
	s.queue = slices.Clone(s.queue[1:])
	g := olmGuess{olmChoice: c, variable: -1}
	assumed := slices.ContainsFunc(c.candidates, func(v int) bool { return slices.Contains(s.guessed, v) })
	if c.index < len(c.candidates) && !assumed {
		g.variable = c.candidates[c.index]
		for _, d := range s.p.Constraints {
			if d.Kind == solver.Dependency && d.Subject == g.variable && len(d.Others) > 0 {
				g.children++
				s.queue = append(s.queue, olmChoice{candidates: d.Others})
			}
		}
		s.guessed = append(s.guessed, g.variable)
	}
	s.guesses = append(s.guesses, g)
	return g.variable < 0 || s.propagate()
}

// pop takes back the newest guess, and reports whether the others may be possible.
func (s *olmSearch) pop() bool {
	g := s.guesses[len(s.guesses)-1]
	s.guesses = s.guesses[:len(s.guesses)-1]
	s.queue = s.queue[:len(s.queue)-g.children]
	if g.variable >= 0 {
		g.index++
		s.guessed = s.guessed[:len(s.guessed)-1]
	}
	s.queue = append([]olmChoice{g.olmChoice}, s.queue...)
	return g.variable >= 0
}

// solve reports whether the constraints are satisfiable together with the guesses.
func (s *olmSearch) solve(t *testing.T) bool {
	p := s.p.Problem
	p.Constraints = slices.Clone(p.Constraints)
	for _, v := range s.guessed {
		p.Constraints = append(p.Constraints, solver.Constraint{Kind: solver.Mandatory, Subject: v})
	}
	_, err := p.Solve(t.Context())
	return err == nil
}

// propagate reports whether unit propagation finds no contradiction.
func (s *olmSearch) propagate() bool {
	values := make([]int, s.p.Variables) // 1 for true, -1 for false
	possible, changed := true, true
	set := func(v, value int) {
		if values[v] == 0 {
			values[v], changed = value, true
		}
		possible = possible && values[v] == value
	}
	for _, v := range s.guessed {
		set(v, 1)
	}
	for possible && changed {
		changed = false
		for _, c := range s.p.Constraints {
			propagateOne(c, values, set)
		}
	}
	return possible
}

func propagateOne(c solver.Constraint, values []int, set func(v, value int)) {
	switch c.Kind {
	case solver.Mandatory:
		set(c.Subject, 1)
	case solver.Prohibited:
		set(c.Subject, -1)
	case solver.Conflict:
		if values[c.Subject] == 1 {
			set(c.Others[0], -1)
		} else if values[c.Others[0]] == 1 {
			set(c.Subject, -1)
		}
	case solver.AtMostOne:
		if i := slices.IndexFunc(c.Others, func(v int) bool { return values[v] == 1 }); i >= 0 {
			for j, v := range c.Others {
				if j != i {
					set(v, -1)
				}
			}
		}
	case solver.Dependency:
		open := slices.DeleteFunc(slices.Clone(c.Others), func(v int) bool { return values[v] < 0 })
		switch {
		case len(open) == 0:
			set(c.Subject, -1)
		case len(open) == 1 && values[c.Subject] == 1:
			set(open[0], 1)
		}
	}
}

// TestObservedWithoutGuess checks the few answers in which OLM's bundle is not the most preferred one, because its
// search has no guess for it and may take any candidate.
func TestObservedWithoutGuess(t *testing.T) {
	dir := shared.Path(t, "data/resolver/extra")
	text, err := os.ReadFile(filepath.Join(dir, "expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var o observation
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		c := readCatalog(t, filepath.Join(dir, fmt.Sprint(o.Catalog)))
		c.Name, c.Namespace = "cat", "ns"
		ns := o.namespace(c)
		want := "p6.v1.0.0 of channel stable, which OLM takes of channel beta"
		if diff := o.compare(verify(t, ns)); !strings.Contains(diff, `"p6/stable/p6.v1.0.0"], want`) {
			t.Errorf("got %s, want %s", diff, want)
		}
		q := ns.question()
		if err := q.addVariables(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := &olmSearch{p: q.problem()}
		if s.run(t) == nil || !s.isFree("cat/ns/stable/p6.v1.0.0", "cat/ns/beta/p6.v1.0.0") {
			t.Errorf("OLM's search takes none of %v, or guesses one", s.p.variables)
		}
	}
}

// isFree reports whether the choice with the given candidates has no guess.
func (s *olmSearch) isFree(identifiers ...string) bool {
	return slices.ContainsFunc(s.guesses, func(g olmGuess) bool {
		names := map[string]bool{}
		for _, v := range g.candidates {
			if v < len(s.p.variables) {
				names[s.p.variables[v].identifier] = true
			}
		}
		isMissing := func(name string) bool { return !names[name] }
		return g.variable < 0 && g.index == len(g.candidates) && !slices.ContainsFunc(identifiers, isMissing)
	})
}
