package resolve

import (
	"slices"

	"github.com/opm-toolchain/opm/internal/resolve/internal/solver"
)

// A bruteForce is OLM's search without a SAT solver: it tries one candidate after the other. If a constraint is broken,
// it returns to the newest choice and takes its next candidate.
type bruteForce struct {
	solver.Problem
	chosen []bool
}

// run returns the chosen variables, or nil if nothing satisfies the constraints.
func (b *bruteForce) run() []int {
	b.chosen = make([]bool, b.Variables)
	var queue [][]int
	for _, c := range b.Constraints {
		if c.Kind == solver.Mandatory {
			queue = append(queue, []int{c.Subject})
		}
	}
	if !b.search(queue) {
		return nil
	}
	chosen := []int{}
	for v, yes := range b.chosen {
		if yes {
			chosen = append(chosen, v)
		}
	}
	return chosen
}

func (b *bruteForce) search(queue [][]int) bool {
	if len(queue) == 0 {
		return true
	}
	if slices.ContainsFunc(queue[0], func(v int) bool { return b.chosen[v] }) {
		return b.search(queue[1:])
	}
	for _, v := range queue[0] {
		b.chosen[v] = true
		if !b.broken() && b.search(append(slices.Clone(queue[1:]), b.dependencies(v)...)) {
			return true
		}
		b.chosen[v] = false
	}
	return false
}

func (b *bruteForce) dependencies(v int) [][]int {
	var all [][]int
	for _, c := range b.Constraints {
		if c.Kind == solver.Dependency && c.Subject == v {
			all = append(all, c.Others)
		}
	}
	return all
}

// broken reports whether a constraint forbids the chosen variables.
func (b *bruteForce) broken() bool {
	return slices.ContainsFunc(b.Constraints, func(c solver.Constraint) bool {
		switch c.Kind {
		case solver.Prohibited:
			return b.chosen[c.Subject]
		case solver.Conflict:
			return b.chosen[c.Subject] && b.chosen[c.Others[0]]
		case solver.AtMostOne:
			return len(slices.DeleteFunc(slices.Clone(c.Others), func(v int) bool { return !b.chosen[v] })) > 1
		}
		return false
	})
}
