package solver

import (
	"context"
	"slices"
)

// explain returns the *Unsatisfiable of constraints that cannot hold together. From the first on, it drops each
// constraint without which the later ones still contradict each other and those that are known to be needed; all at
// once up to the first one of the reason that gini found.
func (p *Problem) explain(ctx context.Context) error {
	g, guards := p.load(true)
	if _, err := solve(ctx, g, guards); err != nil {
		return err
	}
	core := slices.Sorted(slices.Values(g.Why(nil)))
	for needed := 0; needed < len(core); {
		i, _ := slices.BinarySearch(guards, core[needed])
		satisfiable, err := solve(ctx, g, slices.Concat(core[:needed], guards[i+1:]))
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
