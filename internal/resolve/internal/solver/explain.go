package solver

import (
	"context"
	"slices"
)

// explain returns the *Unsatisfiable of contradicting constraints. Starting with the first constraint, it drops a
// constraint if the later ones and those known to be needed still contradict each other. All constraints before the
// first one in gini's explanation are dropped at once.
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
			break // the remaining constraints are still a core
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
