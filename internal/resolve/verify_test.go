package resolve

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/resolve/internal/solver"
)

// patient are options for answers that a busy machine needs long for.
var patient = Options{Timeout: time.Hour}

// verify answers a question and checks the answer without the solver: the choice against the constraints and against a
// brute-force search, and a core by removing each of its constraints.
func verify(t *testing.T, ns *ClassicRequest) *ClassicResult {
	t.Helper()
	answer, err := ns.Resolve(t.Context(), patient)
	if err != nil {
		t.Fatal(err)
	}
	q := ns.question()
	if q.addVariables(t.Context()) != nil {
		return answer
	}
	p := q.problem()
	chosen, err := p.Solve(t.Context())
	brute := bruteForce{Problem: p.Problem}
	if want := brute.run(); !slices.Equal(chosen, want) {
		t.Errorf("chosen are %v, brute force finds %v", chosen, want)
	}
	if unsatisfiable, ok := errors.AsType[*solver.Unsatisfiable](err); ok {
		verifyCore(t, p, unsatisfiable.Core)
		return answer
	}
	if err != nil {
		t.Fatal(err)
	}
	verifySolution(t, q, answer)
	return answer
}

func verifyCore(t *testing.T, p *problem, core []int) {
	t.Helper()
	satisfiable := func(without int) bool {
		b := bruteForce{Problem: solver.Problem{Variables: p.Variables}}
		for _, i := range core {
			if i != without {
				b.Constraints = append(b.Constraints, p.Constraints[i])
			}
		}
		return b.run() != nil
	}
	if satisfiable(-1) {
		t.Errorf("the core %v is satisfiable", core)
	}
	for _, i := range core {
		if !satisfiable(i) {
			t.Errorf("the core does not need %q", p.fact(i).Message)
		}
	}
}

// verifySolution checks that the resulting installed operators satisfy all of OLM's constraints.
func verifySolution(t *testing.T, q *question, answer *ClassicResult) {
	t.Helper()
	var after []*entry
	updated := map[*entry]bool{}
	for _, c := range slices.Concat(answer.Install, answer.Unchanged) {
		for _, v := range q.variables {
			if v.bundle.meta == c.Meta && v.channel.name == c.Channel && v.catalog.Name == c.Catalog && c.Meta != nil {
				after = append(after, v.entry)
				for _, e := range v.updates {
					updated[e] = true
				}
			}
		}
	}
	for _, e := range q.installed.list().entries {
		if !updated[e] {
			after = append(after, e)
		}
	}
	unique := map[any]string{}
	claim := func(what any, e *entry) {
		if other, ok := unique[what]; ok {
			t.Errorf("%s and %s share %v", e.id(), other, what)
		}
		unique[what] = e.id()
	}
	for _, e := range after {
		if e.deprecated {
			t.Errorf("%s is deprecated", e.id())
		}
		for _, gvk := range e.gvks {
			claim(gvk, e)
		}
		for _, p := range e.packages {
			claim(p.name, e)
		}
		verifyRequirements(t, q, e, after)
	}
	for _, r := range q.subscriptions {
		if !slices.ContainsFunc(r.candidates, func(e *entry) bool { return slices.Contains(after, e) }) {
			t.Errorf("nothing satisfies the Subscription %s", r.Name)
		}
	}
}

func verifyRequirements(t *testing.T, q *question, e *entry, after []*entry) {
	t.Helper()
	required, err := q.read(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range required {
		if !slices.ContainsFunc(after, func(e *entry) bool {
			ok, err := r.satisfiedBy(t.Context(), e)
			return ok && err == nil
		}) {
			t.Errorf("nothing satisfies %s of %s", r, e.id())
		}
	}
}
