package clusters

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// stateFile returns a file with the manifests that write writes.
func stateFile(t *testing.T, write func(w *bufio.Writer)) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "state.yaml")
	attack.Write(t, name, write)
	return name
}

// manyTenants writes n namespaces, for each twenty of them an OperatorGroup that selects them, and operators with five
// APIs in three of five groups, of fifty kinds.
func manyTenants(w *bufio.Writer, n int) {
	for i := range n {
		fmt.Fprintf(w, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ns%d\n  labels:\n    tenant: t%d\n---\n", i, i/20)
	}
	for i := range n / 20 {
		fmt.Fprintf(w, "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata:\n  name: g\n  namespace: ns%d\n  uid: u%d\n"+
			"spec:\n  selector:\n    matchLabels:\n      tenant: t%[2]d\n---\n", i*20, i)
		if i%5 > 2 {
			continue
		}
		fmt.Fprintf(w, "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: op%d\n  namespace: ns%d\n"+
			"spec:\n  displayName: Operator\n  description: %s\n  version: 1.0.0\n  installModes:\n  - type: OwnNamespace\n    supported: true\n"+
			"  - type: MultiNamespace\n    supported: true\n  customresourcedefinitions:\n    owned:\n",
			i%50, i*20, strings.Repeat("words ", 2000))
		for j := range 5 {
			fmt.Fprintf(w, "    - name: as%d.op%d.io\n      kind: A%[1]d\n      version: v1\n", j, i%50)
		}
		fmt.Fprint(w, "status:\n  phase: Succeeded\n  reason: InstallSuccessful\n---\n")
	}
}

// TestStateOfManyTenants checks the time and memory to simulate 10,000 namespaces, 500 OperatorGroups and 300
// operators.
func TestStateOfManyTenants(t *testing.T) {
	state := stateFile(t, func(w *bufio.Writer) { manyTenants(w, 10_000) })
	group := stateFile(t, func(w *bufio.Writer) {
		fmt.Fprintln(w, "{kind: OperatorGroup, apiVersion: operators.coreos.com/v1, metadata: {name: new, namespace: new}}")
	})
	for _, args := range [][]string{{"simulate", state}, {"simulate", state, "--check-operatorgroup", group}} {
		r := program.Call{Args: args, Limit: 30 * time.Second}.Bounded(t, 500*attack.MB)
		if r.Stdout == "" || strings.Contains(r.Stderr, "error") {
			t.Errorf("opm %q: exit status %d, stdout %.300s, stderr %.300s", args, r.Code, r.Stdout, r.Stderr)
		}
		t.Logf("%v, %d MB, %.400s", r.Time.Round(10*time.Millisecond), r.RSS/attack.MB, r.Stdout)
	}
}

// TestStateOfManyObjects checks the time and memory to simulate a cluster of 100,000 objects that OLM ignores.
func TestStateOfManyObjects(t *testing.T) {
	const n = 100_000
	state := stateFile(t, func(w *bufio.Writer) {
		for i := range n {
			kind := []string{"v1\nkind: ConfigMap", "v1\nkind: ServiceAccount", "rbac.authorization.k8s.io/v1\nkind: Role", "x.io/v1\nkind: A"}[i%4]
			fmt.Fprintf(w, "apiVersion: %s\nmetadata:\n  name: o%d\n  namespace: ns%d\ndata:\n  a: %0400d\n---\n", kind, i, i/100, i)
		}
	})
	r := program.Call{Args: []string{"simulate", state}, Limit: 60 * time.Second}.Bounded(t, 400*attack.MB)
	if r.Code != 0 || r.Stdout != "nothing changes\n" {
		t.Errorf("exit status %d, stdout %.300s, stderr %.300s", r.Code, r.Stdout, r.Stderr)
	}
}

// TestHostileDefinitions checks definitions and custom resources whose validation could take forever.
func TestHostileDefinitions(t *testing.T) {
	const head = "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: as.x.io}\nspec:\n" +
		"  group: x.io\n  names: {plural: as, singular: a, kind: A, listKind: AList}\n  scope: Namespaced\n  versions:\n" +
		"  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: "
	const resource = "}}}}\n---\n{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}, a: "
	const depth, width = 2000, 50_000
	for _, tt := range []struct{ name, schema, value string }{
		{"deep schemas", strings.Repeat("{type: object, properties: {a: ", depth) + "{type: string}" + strings.Repeat("}}", depth), "1"},
		{"deep values", "{type: string}", strings.Repeat("[", depth) + strings.Repeat("]", depth)},
		{"many values", "{type: array, x-kubernetes-list-type: set, items: {type: string}}", "[" + strings.Repeat("a, ", width) + "a]"},
		{"a pattern", `{type: string, pattern: "(a*)*(a*)*(a*)*b"}`, strings.Repeat("a", width)},
		{"rules", `{type: array, items: {type: string}, x-kubernetes-validations: [{rule: "self.all(x, self.all(y, self.all(z, x == y || y == z)))"}]}`, "[a]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state := stateFile(t, func(w *bufio.Writer) { fmt.Fprint(w, head, tt.schema, resource, tt.value, "}\n") })
			r := program.Call{Args: []string{"simulate", state}, Limit: attack.TooLong}.Bounded(t, 500*attack.MB)
			t.Logf("%v, %d MB, exit status %d, stderr %.300s", r.Time.Round(10*time.Millisecond), r.RSS/attack.MB, r.Code, r.Stderr)
			if r.Code != 0 && !strings.Contains(r.Stderr, "state.yaml:") {
				t.Errorf("exit status %d, stderr %.500s", r.Code, r.Stderr)
			}
		})
	}
}
