package resolve

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/resolve/internal/solver"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestExplainObserved verifies the explanations of the observed answers.
func TestExplainObserved(t *testing.T) {
	observations(t, shared.Step(1, 16), func(t *testing.T, _ string, _ *observation, ns *ClassicRequest) { verifyExplanation(t, ns) })
}

// FuzzExplain verifies explanations for random small catalogs.
func FuzzExplain(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		text := randomScenario(rand.New(rand.NewPCG(seed, 1)))
		verifyExplanation(t, parseScenario(t, text))
		if t.Failed() {
			t.Log(text)
		}
	})
}

// verifyExplanation verifies an explanation without the solver, by brute force: every reason is sufficient, none of its
// constraints can be removed or is missing from the text, and every change helps.
func verifyExplanation(t *testing.T, ns *ClassicRequest) {
	t.Helper()
	answer, explanation := explain(t, ns)
	var text strings.Builder
	if err := explanation.WriteText(&text, 0, ""); err != nil {
		t.Fatal(err)
	}
	if text.Len() == 0 && len(ns.Subscriptions) > 0 {
		t.Error("an empty explanation")
	}
	if answer.OrderSensitive != (explanation.Other != nil) && len(explanation.Other) > 0 {
		t.Errorf("the other answer is %v", explanation.Other)
	}
	q := ns.question()
	if q.addVariables(t.Context()) != nil {
		return
	}
	x := newExplainer(q.problem())
	if answer.Outcome == Unsatisfiable {
		core := x.unsatisfiable(t)
		s := x.conflict(x.Constraints, core)
		s.reasons()
		verifyConflict(t, s)
		verifyChanges(t, x, core, explanation.Changes, nil)
		return
	}
	chosen, _ := x.Solve(t.Context())
	decisions := x.replay(chosen)
	verifyReplay(t, x, chosen, decisions)
	told := explanation.Decisions
	for _, d := range decisions {
		if x.subscription(d.Subject) == nil && x.variables[d.Subject].bundle.installed != nil {
			continue
		}
		verifyDecision(t, x, d, &told[0])
		told = told[1:]
	}
}

func (x *explainer) unsatisfiable(t *testing.T) []int {
	t.Helper()
	_, err := x.Solve(t.Context())
	unsatisfiable, ok := errors.AsType[*solver.Unsatisfiable](err)
	if !ok {
		t.Fatal(err)
	}
	return unsatisfiable.Core
}

// verifyReplay checks that the decisions account for exactly the chosen variables.
func verifyReplay(t *testing.T, x *explainer, chosen []int, decisions []decision) {
	t.Helper()
	var decided []int
	for _, c := range x.Constraints {
		if c.Kind == solver.Mandatory {
			decided = append(decided, c.Subject)
		}
	}
	for _, d := range decisions {
		if !d.reused {
			decided = append(decided, d.Others[d.chosen])
		}
	}
	slices.Sort(decided)
	if !slices.Equal(decided, chosen) {
		t.Errorf("decided are %v, chosen %v", decided, chosen)
	}
}

func verifyDecision(t *testing.T, x *explainer, d decision, told *Decision) {
	t.Helper()
	if told.Chosen != x.identifier(d.Others[d.chosen]) {
		t.Errorf("%s is explained as %s", x.identifier(d.Others[d.chosen]), told.Chosen)
	}
	for _, v := range d.Others[:d.chosen] {
		s, err := x.exclude(t.Context(), v, d.before, []int{})
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			if !d.reused {
				t.Errorf("no reason why %s is rejected", x.identifier(v))
			}
			continue
		}
		s.whyNot([]int{v})
		verifyConflict(t, s, v)
		if told.Wanted == x.identifier(v) {
			verifyChanges(t, x, s.core, told.Changes, x.variables[v].entry)
		}
	}
}

// verifyConflict checks that the core of a conflict, together with some chosen variables, is a core, and is explained in
// full.
func verifyConflict(t *testing.T, s *conflict, chosen ...int) {
	t.Helper()
	satisfiable := func(without int) bool {
		b := bruteForce{Problem: solver.Problem{Variables: s.Variables, Constraints: mandatory(chosen)}}
		for _, i := range s.core {
			if i != without {
				b.Constraints = append(b.Constraints, s.constraints[i])
			}
		}
		return b.run() != nil
	}
	if satisfiable(-1) {
		t.Errorf("%v do not exclude %v", s.core, chosen)
	}
	for _, i := range s.core {
		if !satisfiable(i) {
			t.Errorf("constraint %d is no part of why %v is excluded", i, chosen)
		}
		if c := s.constraints[i]; !s.explained[i] && (c.Kind != solver.Mandatory || s.subscription(c.Subject) == nil) {
			t.Errorf("constraint %d, %v, is not explained", i, c)
		}
	}
}

// verifyChanges checks by brute force that each change helps.
func verifyChanges(t *testing.T, x *explainer, core []int, changes []Change, wanted *entry) {
	t.Helper()
	for _, c := range changes {
		edits := x.find(t, core, c.Text, wanted)
		if edits == nil {
			t.Errorf("no edits %q", c.Text)
			continue
		}
		q := x.q.edited(edits)
		if err := q.addVariables(t.Context()); err != nil {
			t.Fatal(err)
		}
		y := newExplainer(q.problem())
		b := bruteForce{Problem: y.Problem}
		chosen := b.run()
		if chosen == nil {
			t.Errorf("%q does not help", c.Text)
		}
		is := func(v *variable) bool { return wanted == nil || v.bundle == wanted.bundle }
		if wanted != nil && !slices.ContainsFunc(y.bundles(chosen), is) {
			t.Errorf("%q does not give %s", c.Text, wanted.id())
		}
	}
}

// find returns the edits of a change.
func (x *explainer) find(t *testing.T, core []int, text string, wanted *entry) []edit {
	t.Helper()
	edits := x.edits(core)
	for _, e := range edits {
		if e.Text == text {
			return []edit{e}
		}
		rest, ok := strings.CutPrefix(text, e.Text+", and ")
		if !ok {
			continue
		}
		_, next, err := x.try(t.Context(), []edit{e}, wanted)
		if err != nil {
			t.Fatal(err)
		}
		for _, second := range next {
			if second.Text == rest {
				return []edit{e, second}
			}
		}
	}
	return nil
}

// TestExplainCanceled checks that an explanation stops with its context.
func TestExplainCanceled(t *testing.T) {
	ns := parseScenario(t, base+"sub sa a stable")
	q := ns.question()
	if err := q.addVariables(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer, err := q.solve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.explain(ctx, answer, Options{}); err != context.Canceled {
		t.Errorf("%v", err)
	}
	explanation, err := q.explain(t.Context(), answer, Options{Timeout: time.Nanosecond})
	if err != nil || !explanation.Incomplete {
		t.Errorf("%+v, %v", explanation, err)
	}
}
