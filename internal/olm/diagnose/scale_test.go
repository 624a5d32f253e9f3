package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// failedOperators returns a state with failed operators, each with its Subscription, Deployment, pod and event, in as
// many namespaces.
func failedOperators(n, namespaces int) []byte {
	var b strings.Builder
	for i := range n {
		ns := fmt.Sprintf("ns%d", i%namespaces)
		fmt.Fprintf(&b, `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"op%[1]d","namespace":%[2]q},"spec":{"install":{"strategy":"deployment","spec":{"deployments":[{"name":"op%[1]d","spec":{"template":{}}}]}},"customresourcedefinitions":{"owned":[{"name":"x.example","version":"v1","kind":"X"}]}},"status":{"phase":"Failed","reason":"InstallCheckFailed","message":"@existing/%[2]s//op%[1]d"}}
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"op%[1]d","namespace":%[2]q},"spec":{"selector":{"matchLabels":{"all":"same","op":"op%[1]d"}},"template":{}}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"op%[1]d","namespace":%[2]q,"labels":{"all":"same","op":"op%[1]d"}},"status":{"phase":"Pending","message":"x"}}
{"apiVersion":"v1","kind":"Event","metadata":{"name":"e%[1]d","namespace":%[2]q},"type":"Warning","reason":"R","involvedObject":{"kind":"Pod","namespace":%[2]q,"name":"op%[1]d"}}
{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"s%[1]d","namespace":%[2]q},"spec":{"name":"p","source":"c","sourceNamespace":"olm"},"status":{"currentCSV":"op%[1]d","conditions":[{"type":"ResolutionFailed","status":"True","message":"m%[1]d @existing/%[2]s//op%[1]d, clusterserviceversion op%[1]d exists and is not referenced by a subscription"}]}}
`, i, ns)
	}
	for i := range namespaces {
		fmt.Fprintf(&b, `{"apiVersion":"operators.coreos.com/v1","kind":"OperatorGroup","metadata":{"name":"g","namespace":"ns%d"}}`+"\n", i)
	}
	return []byte(b.String())
}

// TestManyOperators checks that each failed operator has one finding, and that the number of allocations is linear in the
// number of operators, in one namespace and in many.
func TestManyOperators(t *testing.T) {
	shared.OneGoroutine(t)
	const few, factor = 100, 4
	for _, namespaces := range []int{1, few} {
		allocations := func(n int) float64 {
			state := load(t, failedOperators(n, namespaces))
			if r := run(t, state); len(r.Findings) != n {
				t.Errorf("%d operators in %d namespaces: %d findings", n, namespaces, len(r.Findings))
			}
			return testing.AllocsPerRun(1, func() { run(t, state) })
		}
		if a, b := allocations(few), allocations(few*factor); b > 1.5*factor*a {
			t.Errorf("%d namespaces: %.0f allocations, and %.0f for %d times as many operators", namespaces, a, b, factor)
		}
	}
}

// TestHostile checks that names and messages with control characters, and of any length, are shown escaped and short.
func TestHostile(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	state := load(t, fmt.Appendf(nil, `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"a\u001b[31m\nb","namespace":"n\u202e"},"spec":{"name":"p","source":"c","sourceNamespace":"olm"},"status":{"conditions":[{"type":"ResolutionFailed","status":"True","message":"\u001b]0;x\u0007%s\n# error"}]}}`, long))
	r := run(t, state)
	r.Redact(state, nil)
	out := text(t, r)
	if len(out) > 20_000 || strings.ContainsAny(out, "\x1b\x07\u202e") || strings.Contains(out, "\n# error") {
		t.Errorf("got %d bytes: %.2000q", len(out), out)
	}
}
