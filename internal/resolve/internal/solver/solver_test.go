package solver

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

func need(v int, others ...int) Constraint { return Constraint{Dependency, v, others} }
func must(v int) Constraint                { return Constraint{Kind: Mandatory, Subject: v} }
func never(v int) Constraint               { return Constraint{Kind: Prohibited, Subject: v} }
func not(v, other int) Constraint          { return Constraint{Conflict, v, []int{other}} }
func one(others ...int) Constraint         { return Constraint{AtMostOne, -1, others} }

func TestSolve(t *testing.T) {
	for _, test := range []struct {
		name        string
		constraints []Constraint
		want        []int
		core        []int
	}{
		{"nothing is asked for", []Constraint{need(0, 1)}, nil, nil},
		{"the first candidate", []Constraint{must(0), need(0, 2, 1)}, []int{0, 2}, nil},
		{"the next, if the first is prohibited", []Constraint{must(0), need(0, 2, 1), never(2)}, []int{0, 1}, nil},
		{"the next, if the first needs what nobody has", []Constraint{must(0), need(0, 2, 1), need(2)}, []int{0, 1}, nil},
		{
			"a candidate that is already chosen, though another is preferred",
			[]Constraint{must(0), need(0, 2), need(0, 1, 2)},
			[]int{0, 2},
			nil,
		},
		{
			"breadth first: the second anchor chooses before the needs of the first one's choice",
			[]Constraint{must(0), must(1), need(0, 2), need(1, 3, 4), need(2, 4, 3), one(3, 4)},
			[]int{0, 1, 2, 3},
			nil,
		},
		{
			"the newest guess moves on first",
			[]Constraint{must(0), must(1), need(0, 2, 3), need(1, 4, 5), not(2, 4)},
			[]int{0, 1, 2, 5},
			nil,
		},
		{
			"an exhausted choice makes the guess before it move on",
			[]Constraint{must(0), must(1), need(0, 2, 3), need(1, 4, 5), not(2, 4), not(2, 5)},
			[]int{0, 1, 3, 4},
			nil,
		},
		{"a circle", []Constraint{must(0), need(0, 1), need(1, 2), need(2, 1)}, []int{0, 1, 2}, nil},
		{"what needs itself", []Constraint{must(0), need(0, 0, 1)}, []int{0}, nil},
		{"listed twice among at most one", []Constraint{must(0), need(0, 1), one(1, 2, 1)}, nil, []int{0, 1, 2}},
		{
			"of several cores, the one without the first constraint",
			[]Constraint{must(0), must(1), must(2), one(0, 1, 2)},
			nil,
			[]int{1, 2, 3},
		},
		{"prohibited and mandatory", []Constraint{must(0), must(1), never(1)}, nil, []int{1, 2}},
		{"no candidate", []Constraint{must(1), need(0, 1), must(0), need(0)}, nil, []int{2, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &Problem{6, test.constraints}
			got, err := p.Solve(t.Context())
			if core := check(t, p, got, err); !slices.Equal(got, test.want) || !slices.Equal(core, test.core) {
				t.Errorf("got %v, core %v; want %v, core %v", got, core, test.want, test.core)
			}
		})
	}
}

// check verifies an answer without the solver, by the meaning of the constraints, and returns the core of an error.
func check(t *testing.T, p *Problem, got []int, err error) []int {
	t.Helper()
	all := models(p.Variables, p.Constraints)
	want, ok := prefer(p, all, 0, anchors(p))
	if !ok {
		var unsatisfiable *Unsatisfiable
		if !errors.As(err, &unsatisfiable) {
			t.Fatalf("%v: got %v, %v; want that nothing satisfies it", p, got, err)
		}
		checkCore(t, p, unsatisfiable.Core)
		return unsatisfiable.Core
	}
	if err != nil {
		t.Fatalf("%v: %v; want %b", p, err, want)
	}
	var set uint
	for _, v := range got {
		set |= 1 << v
	}
	if set != want || !slices.IsSorted(got) || !slices.Contains(all, set) {
		t.Fatalf("%v: got %v; want %b", p, got, want)
	}
	return nil
}

// checkCore checks that a core remains if constraints are removed, starting at the first, as long as the rest is
// unsatisfiable.
func checkCore(t *testing.T, p *Problem, core []int) {
	t.Helper()
	var want []int
	rest := slices.Clone(p.Constraints)
	for i := range p.Constraints {
		without := slices.Delete(slices.Clone(rest), len(want), len(want)+1)
		if len(models(p.Variables, without)) == 0 {
			rest = without
		} else {
			want = append(want, i)
		}
	}
	if !slices.Equal(core, want) {
		t.Errorf("%v: core %v, want %v", p, core, want)
	}
}

// models returns all sets of variables that satisfy constraints.
func models(variables int, constraints []Constraint) []uint {
	var sets []uint
	for set := range uint(1) << variables {
		if !slices.ContainsFunc(constraints, func(c Constraint) bool { return !holds(c, set) }) {
			sets = append(sets, set)
		}
	}
	return sets
}

func holds(c Constraint, set uint) bool {
	has := func(v int) bool { return set&(1<<v) != 0 }
	switch c.Kind {
	case Mandatory:
		return has(c.Subject)
	case Prohibited:
		return !has(c.Subject)
	case Dependency:
		return !has(c.Subject) || slices.ContainsFunc(c.Others, has)
	case Conflict:
		return !has(c.Subject) || !has(c.Others[0])
	default:
		n := 0
		for _, v := range c.Others {
			if has(v) {
				n++
			}
		}
		return n <= 1
	}
}

func anchors(p *Problem) [][]int {
	var queue [][]int
	for _, c := range p.Constraints {
		if c.Kind == Mandatory {
			queue = append(queue, []int{c.Subject})
		}
	}
	return queue
}

// prefer tries everything in the order of OLM's search, and in the end adds as few variables as possible.
func prefer(p *Problem, all []uint, assumed uint, queue [][]int) (uint, bool) {
	best, ok := uint(0), false
	for _, set := range all {
		if set&assumed == assumed && (!ok || bits.OnesCount(set) < bits.OnesCount(best)) {
			best, ok = set, true
		}
	}
	if !ok || len(queue) == 0 {
		return best, ok
	}
	candidates, rest := queue[0], queue[1:]
	if slices.ContainsFunc(candidates, func(v int) bool { return assumed&(1<<v) != 0 }) {
		return prefer(p, all, assumed, rest)
	}
	for _, v := range candidates {
		queue := slices.Clone(rest)
		for _, c := range p.Constraints {
			if c.Kind == Dependency && c.Subject == v {
				queue = append(queue, c.Others)
			}
		}
		if set, ok := prefer(p, all, assumed|1<<v, queue); ok {
			return set, true
		}
	}
	return 0, false
}

func FuzzSolve(f *testing.F) {
	for i := range uint64(2000) {
		f.Add(i)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		p := random(rand.New(rand.NewPCG(seed, 0)))
		got, err := p.Solve(t.Context())
		check(t, p, got, err)
	})
}

// random returns a small problem. Some have traps that propagation does not detect: a preferred variable needs one of
// two variables and one of two others, all of which conflict.
func random(r *rand.Rand) *Problem {
	p := &Problem{Variables: 7 + r.IntN(5)}
	add := func(cs ...Constraint) { p.Constraints = append(p.Constraints, cs...) }
	for range 1 + r.IntN(3) {
		add(must(r.IntN(p.Variables)))
	}
	for range r.IntN(15) {
		v := r.Perm(p.Variables)
		switch r.IntN(8) {
		case 0:
			add(never(v[0]))
		case 1:
			add(not(v[0], v[1]))
		case 2:
			add(one(append(v[:2+r.IntN(3)], r.IntN(p.Variables))...))
		default:
			add(need(v[0], v[r.IntN(2):r.IntN(3)+2]...))
		}
	}
	for range r.IntN(3) {
		v := r.Perm(p.Variables)
		add(must(v[6]), need(v[6], v[0], v[5]), need(v[0], v[1], v[2]), need(v[0], v[3], v[4]))
		add(not(v[1], v[3]), not(v[1], v[4]), not(v[2], v[3]), not(v[2], v[4]))
	}
	r.Shuffle(len(p.Constraints), func(i, j int) {
		p.Constraints[i], p.Constraints[j] = p.Constraints[j], p.Constraints[i]
	})
	return p
}
