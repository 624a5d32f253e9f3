package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/diagnose"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/testing/golden"
)

// secrets is a state whose names of namespaces, hosts and users are in messages of all kinds.
const secrets = `
apiVersion: v1
kind: Namespace
metadata: {name: acme-payments}
---
apiVersion: v1
kind: Namespace
metadata: {name: acme}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: crafts, namespace: olm}
spec: {sourceType: grpc, image: "registry.acme.internal:5000/acme/crafts:v1"}
status: {connectionState: {address: "crafts.olm.svc:50051", lastObservedState: TRANSIENT_FAILURE}}
---
apiVersion: v1
kind: Pod
metadata: {name: crafts-x, namespace: olm, labels: {olm.catalogSource: crafts}}
status:
  phase: Pending
  containerStatuses:
  - name: registry-server
    image: x
    state: {waiting: {reason: ErrImagePull, message: 'pinging https://bob@registry.acme.internal:5000/v2/: dial tcp 10.1.2.3:5000: lookup node7.acme.internal'}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: admins}
subjects: [{kind: User, name: alice}]
roleRef: {kind: ClusterRole, name: admin, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: loom, namespace: acme-payments}
spec: {name: loom, source: crafts, sourceNamespace: olm}
status:
  conditions:
  - type: ResolutionFailed
    status: "True"
    message: 'loom.v1.0.0 of acme-payments: alice may not; User "carol" cannot list in namespace acme; mail dave@acme.com; see acme2'
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: acme-payments-group, namespace: acme-payments}
`

// TestRedact checks that no format has a name, and that a name is always replaced by the same one.
func TestRedact(t *testing.T) {
	state := load(t, []byte(secrets))
	r := run(t, state)
	r.Redact(state, nil)
	golden.Compare(t, "testdata/redacted.golden", text(t, r))
	var markdown strings.Builder
	if err := r.Report().Markdown(&markdown); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text(t, r), markdown.String(), string(raw)} {
		for _, name := range []string{"payments", "acme.", "acme-", "registry.", "10.1.2.3", "node7", "alice", "bob", "carol", "dave"} {
			if strings.Contains(out, name) {
				t.Errorf("%q is in\n%s", name, out)
			}
		}
		if !strings.Contains(out, "acme2") || !strings.Contains(out, "loom.v1.0.0") {
			t.Errorf("more than the names is replaced in\n%s", out)
		}
	}
}

// TestRedactContexts checks that no name of a context remains in the text about a cluster that was not read, and that
// the hosts of images have other names, too.
func TestRedactContexts(t *testing.T) {
	r := &diagnose.Result{Contents: []install.Origin{
		{Image: "registry:5000/team/crafts"}, {Image: "registry.acme.corp/crafts"}, {Image: "team/crafts"},
	}}
	text := `connect to "kube:prod-acme": no context "prod-acme" in the kubeconfig (did you mean "prod-acne"?)`
	r.Redact(&cluster.State{}, []string{"kube:prod-acme", "kube:default", "kube:", "state.yaml"}, &text)
	want := `connect to "kube:context-2": no context "context-2" in the kubeconfig (did you mean "context-3"?)`
	if text != want {
		t.Errorf("got %s, want %s", text, want)
	}
	var images []string
	for _, c := range r.Contents {
		images = append(images, c.Image)
	}
	if want := []string{"host-1:5000/team/crafts", "host-2/crafts", "team/crafts"}; !slices.Equal(images, want) {
		t.Errorf("got images %q, want %q", images, want)
	}
}

// TestRedactFiles checks that positions in files lose their directories.
func TestRedactFiles(t *testing.T) {
	state := load(t, []byte(secrets))
	r := &diagnose.Result{Findings: []*diagnose.Finding{{Why: []string{"Subscription loom (/home/bob/state.yaml:3:4)"}}}}
	r.Redact(state, nil)
	if want := []string{"Subscription loom (state.yaml:3:4)"}; !slices.Equal(r.Findings[0].Why, want) {
		t.Errorf("got %q, want %q", r.Findings[0].Why, want)
	}
}
