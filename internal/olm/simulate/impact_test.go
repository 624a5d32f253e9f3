package simulate_test

import (
	"testing"

	"github.com/opm-toolchain/opm/internal/olm/impact"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func init() { simulate.Impact = refusals }

// refusals returns the errors that diff --impact has about updates to new bundles.
func refusals(t *testing.T, before, after declcfg.Source) (found []string) {
	t.Helper()
	report, err := impact.Compare(t.Context(), []declcfg.Source{before}, []declcfg.Source{after}, impact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range report.Bundles {
		for _, r := range b.Refusals {
			if r.Severity == problem.Error {
				found = append(found, r.Message)
			}
		}
	}
	return found
}
