package resolve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/constraint"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// loops is a CEL rule of n nested loops with ten iterations each.
func loops(n int) string {
	rule := "true"
	for range n {
		rule = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(x, " + rule + ")"
	}
	return rule
}

// TestLimitsOfCEL checks that expensive CEL rules are named in the answer. Whether OLM would ever answer is not known.
func TestLimitsOfCEL(t *testing.T) {
	shared.OneGoroutine(t)
	for _, tt := range []struct{ name, rule, want string }{
		{"to evaluate", loops(9), "the evaluation of the rule costs too much"},
		{"to compile", strings.Repeat("[", 100) + strings.Repeat("]", 100) + " == []", "has too much CEL"},
	} {
		ns := parseScenario(t, base+fmt.Sprintf("has a.v2.0.0 {\"cel\":{\"rule\":%q}}\nsub sa a stable", tt.rule))
		answer, err := ns.Resolve(t.Context(), patient)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Outcome != Undecided || !strings.Contains(answer.Message, tt.want) ||
			answer.Core[0].Places[0].String() != "c/catalog.json:8:171" {
			t.Errorf("%s: %+v", tt.name, answer)
		}
	}
}

// TestLimitOfEvaluations checks that the cost of evaluating all rules is limited for all packages of a check together,
// and for the dependencies of all bundles.
func TestLimitOfEvaluations(t *testing.T) {
	shared.OneGoroutine(t)
	defer func(limit uint64) { constraint.MaxTotalCost = limit }(constraint.MaxTotalCost)
	constraint.MaxTotalCost = 1_500_000
	constraintOf := func(i, v int) string {
		return fmt.Sprintf(`{"failureMessage":"m%d.%d","cel":{"rule":%q}}`, i, v, loops(5))
	}
	c := parseScenario(t, packagesOf(20, constraintOf)).Catalogs[0]
	_, err := (&Check{Classic: true, Namespace: ClassicRequest{Name: "n", Catalogs: []*Catalog{c}}}).Run(t.Context())
	if !errors.Is(err, ErrEvaluations) {
		t.Errorf("the error of a check is %v", err)
	}
	d := c.Dependencies()
	for _, p := range c.Index.Packages() {
		for _, b := range p.Bundles {
			_, err = d.Of(t.Context(), b.Meta)
		}
	}
	if !errors.Is(err, ErrEvaluations) {
		t.Errorf("the error of the last dependencies is %v", err)
	}
}

// TestTimeout checks that the time for an answer is limited, and ends with the context.
func TestTimeout(t *testing.T) {
	ns := parseScenario(t, base+"sub sa a stable")
	answer, err := ns.Resolve(t.Context(), Options{Timeout: time.Nanosecond})
	if err != nil || answer.Outcome != Undecided || answer.Message != "no answer within 1ns" {
		t.Errorf("%+v, %v", answer, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ns.Resolve(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that of the context", err)
	}
}

// TestManyCatalogs resolves with a hundred catalogs of the same packages, all of which satisfy the requirement.
func TestManyCatalogs(t *testing.T) {
	shared.OneGoroutine(t)
	text := base + "has a.v2.0.0 requires-gvk=K\nsub sa a stable\n"
	for i := range 100 {
		text += fmt.Sprintf("catalog c%d %d\n", i, i%7) + packagesOf(10, func(int, int) string { return "gvk=K" })
	}
	if got, want := outcome(verifyFast(t, parseScenario(t, text))), "c13/p0/s/p0.v1.9.0(replaces p0.v1.8.0)"; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestManyCandidates checks that a question with millions of candidates is aborted before it takes gigabytes.
func TestManyCandidates(t *testing.T) {
	shared.OneGoroutine(t)
	const anything = `{"failureMessage":"m","not":{"constraints":[{"gvk":{"group":"g","version":"v","kind":"K"}}]}}`
	ns := parseScenario(t, packagesOf(250, func(int, int) string { return anything })+"sub s p0 s\n")
	answer, err := ns.Resolve(t.Context(), patient)
	if err != nil || answer.Outcome != Undecided || answer.Message != errTooLarge.Error() {
		t.Errorf("%.300v, %v", answer, err)
	}
}

// verifyFast answers a question that is too large for a brute-force search, and checks the answer.
func verifyFast(t *testing.T, ns *ClassicRequest) *ClassicResult {
	t.Helper()
	answer, err := ns.Resolve(t.Context(), patient)
	if err != nil {
		t.Fatal(err)
	}
	q := ns.question()
	if err := q.addVariables(t.Context()); err != nil {
		t.Fatal(err)
	}
	verifySolution(t, q, answer)
	return answer
}
