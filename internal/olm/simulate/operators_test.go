package simulate

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/testing/golden"
)

// runTable runs each file in a table as a state. The first line of the file may have options, and the next file has the
// expected output of show.
func runTable(t *testing.T, table string, show func(*Result) string, all ...controller) {
	archive, err := txtar.ParseFile(table)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		state, want := archive.Files[i], &archive.Files[i+1]
		t.Run(strings.TrimSuffix(state.Name, ".yaml"), func(t *testing.T) {
			first, _, _ := strings.Cut(string(state.Data), "\n")
			opts := optionsIn(t, first)
			result := simulated(t, loaded(t, string(state.Data)), opts, all)
			got := show(result)
			golden.Equal(t, table+"/"+want.Name, string(want.Data), got)
			want.Data = []byte(got)
			checkAgain(t, result, opts, all)
		})
	}
	if *golden.Update {
		if err := os.WriteFile(table, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// optionsIn returns the options in a comment, such as # {fail: [kiln.v1]}.
func optionsIn(t *testing.T, line string) (opts Options) {
	t.Helper()
	text, ok := strings.CutPrefix(line, "# {")
	if !ok {
		return opts
	}
	if err := yaml.Unmarshal([]byte("{"+text), &opts); err != nil {
		t.Fatal(err)
	}
	return opts
}

// outcome returns the events, the waits and the assumptions.
func outcome(r *Result) string {
	var b strings.Builder
	for _, e := range r.Events {
		fmt.Fprintf(&b, "%d %s %s: %s", e.Step, e.Change, e.Object, e.Text)
		if e.Verdict != Computed {
			fmt.Fprintf(&b, " (%s)", e.Verdict)
		}
		if e.Minutes > 0 {
			fmt.Fprintf(&b, ", after %d minutes", e.Minutes)
		}
		b.WriteString("\n")
	}
	for _, w := range r.Waiting {
		fmt.Fprintf(&b, "%s waits for %s", w.Object, w.For)
		if w.Verdict != Computed {
			fmt.Fprintf(&b, " (%s)", w.Verdict)
		}
		b.WriteString("\n")
	}
	for _, a := range r.Assumed {
		fmt.Fprintf(&b, "assumed: %s\n", a)
	}
	if !r.Idle {
		b.WriteString("still changing\n")
	}
	return b.String()
}

// simulated returns the result of a simulation with some controllers.
func simulated(t *testing.T, state *cluster.State, opts Options, all []controller) *Result {
	t.Helper()
	r := newRun(state, opts)
	if err := r.setRequest(); err != nil {
		t.Fatal(err)
	}
	result, err := r.loop(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// checkAgain checks that a second simulation of the final state changes nothing.
func checkAgain(t *testing.T, r *Result, opts Options, all []controller) {
	t.Helper()
	again := simulated(t, r.State, opts, all)
	if len(again.Events) > 0 {
		t.Errorf("from the result it goes on:\n%s", timeline(again))
	}
}

// TestOperators covers the phases of operators, with every reason and message that OLM has for them.
func TestOperators(t *testing.T) { runTable(t, "testdata/operators.txtar", outcome, operators) }

// TestCopies covers copies of operators and the permissions in their namespaces.
func TestCopies(t *testing.T) { runTable(t, "testdata/copies.txtar", outcome, copies, groupRoles) }

// TestCopyOf checks that a copy has neither the labels and annotations that only apply to the original, nor the rest of
// its metadata.
func TestCopyOf(t *testing.T) {
	state := loaded(t, `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: kiln.v1
  namespace: ns
  uid: "1"
  finalizers: [x]
  labels: {operators.coreos.com/kiln.ns: "", olm.managed: "true"}
  annotations: {olm.operatorGroup: g, olm.operatorNamespace: ns, olm.targetNamespaces: "",
    kubectl.kubernetes.io/last-applied-configuration: "{}", kept: "1"}
spec: {displayName: Kiln, install: {strategy: deployment}}
status: {phase: Succeeded, reason: InstallSucceeded, message: done, certsRotateAt: "2024-01-01T00:00:00Z"}
`)
	o, _ := state.ClusterServiceVersions.Get("ns", "kiln.v1")
	text, err := yaml.Marshal(copyOf(o.Value))
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  annotations:
    kept: "1"
    olm.operatorGroup: g
    olm.operatorNamespace: ns
  labels:
    olm.copiedFrom: ns
    olm.managed: "true"
  name: kiln.v1
spec:
  apiservicedefinitions: {}
  cleanup:
    enabled: false
  customresourcedefinitions: {}
  displayName: Kiln
  install:
    spec:
      deployments: null
    strategy: deployment
  provider: {}
  version: 0.0.0
status:
  certsRotateAt: "2024-01-01T00:00:00Z"
  cleanup: {}
  message: The operator is running in ns but is managing this namespace
  phase: Succeeded
  reason: Copied
`
	if string(text) != want {
		t.Errorf("got:\n%s", text)
	}
}

// TestRequirementRows compares the requirement status with OLM's.
func TestRequirementRows(t *testing.T) {
	state, err := os.ReadFile("testdata/requirements.yaml")
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{KubeVersion: "1.31.0"}
	result, err := newRun(loaded(t, string(state)), opts).loop(t.Context(), []controller{operators})
	if err != nil {
		t.Fatal(err)
	}
	o, _ := result.State.ClusterServiceVersions.Get("ns", "kiln.v1")
	rows, err := yaml.Marshal(o.Value.Status.RequirementStatus)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/requirements.golden", rows)
}
