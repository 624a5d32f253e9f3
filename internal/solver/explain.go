package solver

import (
	"context"
	"slices"
)

// explain returns the *Unsatisfiable of constraints that cannot hold together. It begins with those for which gini
// found that, and removes, the last first, what is not needed.
func (p *Problem) explain(ctx context.Context) error {
	g, guards := p.load(true)
	if _, err := solve(ctx, g, guards); err != nil {
		return err
	}
	core := slices.Sorted(slices.Values(g.Why(nil)))
	for needed := 0; needed < len(core); {
		i := len(core) - 1 - needed
		satisfiable, err := solve(ctx, g, slices.Concat(core[:i], core[i+1:]))
		if err != nil {
			break // what is left is still a core
		}
		if satisfiable {
			needed++
		} else {
			core = slices.Sorted(slices.Values(g.Why(nil)))
		}
	}
	unsatisfiable := &Unsatisfiable{make([]int, len(core))}
	for i, m := range core {
		unsatisfiable.Core[i], _ = slices.BinarySearch(guards, m)
	}
	return unsatisfiable
}
