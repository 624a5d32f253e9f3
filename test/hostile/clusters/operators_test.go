package clusters

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/test/program"
)

const namedOperator = `---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: %s, namespace: %s}
spec: {replaces: %q, installModes: [{type: AllNamespaces, supported: true}], install: {strategy: deployment, spec: {deployments: []%s}}}
`

// simulateState simulates a state and returns the output.
func simulateState(t *testing.T, text string, rss int64, args ...string) program.Result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state.yaml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	call := program.Call{Args: append([]string{"simulate", file}, args...), Limit: 2 * time.Minute}
	return call.Bounded(t, rss)
}

// TestReplacements checks the time for thousands of operators that replace each other in a row, and for others in a
// loop.
func TestReplacements(t *testing.T) {
	var state strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&state, namedOperator, fmt.Sprintf("row.v%d", i+1), "row", fmt.Sprintf("row.v%d", i), "")
		fmt.Fprintf(&state, namedOperator, fmt.Sprintf("circle.v%d", i), "circle", fmt.Sprintf("circle.v%d", (i+1)%3000), "")
	}
	r := simulateState(t, state.String(), 500<<20)
	if r.Code > 1 || !strings.Contains(r.Stdout, "no changes after ") {
		t.Errorf("exit status %d, %s", r.Code, r.Stderr)
	}
}

// TestLargeRules checks a rule that would be 10^12 single permissions.
func TestLargeRules(t *testing.T) {
	names := func(prefix string) string {
		var all []string
		for i := range 1000 {
			all = append(all, fmt.Sprintf("%s%d", prefix, i))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	rule := func(verbs string) string {
		return fmt.Sprintf("{verbs: %s, apiGroups: %s, resources: %s, resourceNames: %s}", verbs, names("g"), names("r"), names("n"))
	}
	permissions := ", permissions: [{serviceAccountName: default, rules: [" + rule(names("v")) + "]}]"
	state := fmt.Sprintf(namedOperator, "kiln.v1", "ns", "", permissions) + `---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: ns}
rules: [` + rule("[get]") + `]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b, namespace: ns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{kind: ServiceAccount, name: default, namespace: ns}]
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: group, namespace: ns}
`
	r := simulateState(t, state, 300<<20)
	if !strings.Contains(r.Stdout, "too many combinations to compare") {
		t.Errorf("exit status %d, %s\n%.2000s", r.Code, r.Stderr, r.Stdout)
	}
	r = simulateState(t, state, 300<<20, "--who-can-what")
	if r.Code != 0 || !strings.Contains(r.Stdout, "n999") {
		t.Errorf("exit status %d, %s\n%.2000s", r.Code, r.Stderr, r.Stdout)
	}
}

// TestCopiesEverywhere checks the time and memory for copies of every operator in every namespace, which would be three
// million objects.
func TestCopiesEverywhere(t *testing.T) {
	var state strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&state, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: n%d}\n", i)
	}
	state.WriteString("---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: group, namespace: n0}\n")
	for i := range 300 {
		fmt.Fprintf(&state, namedOperator, fmt.Sprintf("kiln%d.v1", i), "n0", "", "")
	}
	r := simulateState(t, state.String(), 500<<20)
	if r.Code != 0 || !strings.Contains(r.Stdout, "copies that would make ClusterServiceVersions more than 50,000") {
		t.Errorf("exit status %d, %s\n%.2000s", r.Code, r.Stderr, r.Stdout)
	}
}
