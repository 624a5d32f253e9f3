package imagecheck_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/internal/testing/ruletest"
)

// TestExamplesOfRules checks that the bad example of each rule breaks only this rule, and the good one breaks none.
func TestExamplesOfRules(t *testing.T) {
	registry := newRegistry(t)
	registry.push(t, "pottery/kiln-bundle:v1.0.0")
	registry.answer("/v2/private/", http.StatusUnauthorized)
	rulesOf := func(example string) (names []string) {
		references := mustRead(t, source(strings.ReplaceAll(example, "registry.example", registry.host)))
		for _, p := range mustCheck(t, references, newOpener(t, nil), 1).Problems {
			names = append(names, p.Rule)
		}
		return names
	}
	ruletest.Explained(t, imagecheck.Rules().All())
	for _, r := range imagecheck.Rules().All() {
		if got := rulesOf(r.Example().Bad); !slices.Equal(got, []string{r.Name}) {
			t.Errorf("the bad example of %s breaks %q", r.Name, got)
		}
		if got := rulesOf(r.Example().Good); got != nil {
			t.Errorf("the good example of %s breaks %q", r.Name, got)
		}
	}
}
