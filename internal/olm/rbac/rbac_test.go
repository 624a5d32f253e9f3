package rbac

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// read returns the ClusterServiceVersion in a file.
func read(t testing.TB, path string) *v1alpha1.ClusterServiceVersion {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	csv := new(v1alpha1.ClusterServiceVersion)
	if err := yaml.Unmarshal(text, csv); err != nil {
		t.Fatal(err)
	}
	return csv
}

func objects(t testing.TB, csv *v1alpha1.ClusterServiceVersion) []*Account {
	t.Helper()
	accounts, err := ForOperator(csv)
	if err != nil {
		t.Fatal(err)
	}
	return accounts
}

// The names are the same as in clusters in which OLM installed this version of the Grafana operator.
func TestNamesOfPermissions(t *testing.T) {
	csv := read(t, "testdata/grafana.yaml")
	accounts := objects(t, csv)
	if len(accounts) != 1 {
		t.Fatalf("%d accounts, want 1", len(accounts))
	}
	a := accounts[0]
	const role, clusterRole = "grafana-operator.v5.22.2-18RSiNrUPIeZNIOmklX3MhGhzKnzYxZKI5t336",
		"grafana-operator.v5.22.2-3k1DK2tuoM0xuU8kcNcqCh5hSHBjFAc3pPK047"
	got := []string{a.Roles[0].Name, a.RoleBindings[0].Name, a.Lift().ClusterRoles[0].Name}
	if want := []string{role, role, role}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := a.ClusterRoles[0].Name; got != clusterRole || got != a.ClusterRoleBindings[0].Name {
		t.Errorf("got %q, want %q", got, clusterRole)
	}
}

// The names are those in clusters with these groups.
func TestNamesOfGroups(t *testing.T) {
	for _, tt := range []struct{ namespace, name, level, want string }{
		{"operators", "global-operators", "admin", "olm.og.global-operators.admin-5UD4U2IfBGbw51Qy2Jaefk1uawvkj2OJILlc3w"},
		{"olm", "olm-operators", "admin", "olm.og.olm-operators.admin-4ZLCGAP5QcGCG77n5nsv27O9w2VWNfAzuGGQ43"},
		{"grafana-operator", "grafana-operator", "edit", "olm.og.grafana-operator.edit-c1VBngs10rZz3MnjUcLXnblIWjNOe3q81rsqV4"},
		{"grafana-operator", "grafana-operator", "view", "olm.og.grafana-operator.view-T9N00Lq04zxvfSSKETulGN0wOSIXi5sZdd8ML"},
	} {
		group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: tt.name, Namespace: tt.namespace}}
		if got := groupRoleName(group, tt.level); got != tt.want {
			t.Errorf("%s/%s: got %s, want %s", tt.namespace, tt.name, got, tt.want)
		}
	}
	long := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("g", 253), Namespace: "a"}}
	if got := groupRoleName(long, "view"); len(got) != 253 || !strings.Contains(got, "gg.view-") {
		t.Errorf("got %q", got)
	}
}

// The hashes are the same as in a recorded cluster (the play og_sa_perm).
func TestLabelContent(t *testing.T) {
	c := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Name: "kiln.v1.0.0", Namespace: "work"}}
	c.Spec.ServiceAccounts = []string{"kiln"}
	role, binding := ForCondition(c)
	for o, want := range map[metav1.Object]string{
		role: "7Wiplx8iF3gv8lcCvrkVZaV5jGzIpKAtfGkEu7", binding: "bSLSSnTojTsbbB26SMfbD07vyRzuYccohEwyXQ",
	} {
		LabelContent(o)
		if got := o.GetLabels()[labelContent]; got != want {
			t.Errorf("%s: got %s, want %s", o.GetName(), got, want)
		}
	}
}

func TestLabelOfAPI(t *testing.T) {
	api := schema.GroupVersionKind{Group: "operator.knative.dev", Version: "v1alpha1", Kind: "KnativeEventing"}
	if got, want := aggregate(api, "edit"), "olm.opgroup.permissions/aggregate-to-4fa8c5d8e33af72a-edit"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The objects that OLM creates for the service accounts of an operator, by name: in its namespace, in the cluster, and
// in other namespaces.
func TestForOperator(t *testing.T) {
	csv := read(t, "testdata/accounts.yaml")
	copied := csv.DeepCopy()
	copied.Namespace, copied.UID = "other", "2"
	var b strings.Builder
	for _, a := range objects(t, csv) {
		for i, of := range []*Account{a, a.Lift(), a.CopyTo(copied)} {
			fmt.Fprintf(&b, "%s %s\n", a.Name, []string{"created", "lifted", "copied"}[i])
			for o := range of.All() {
				text, err := yaml.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				b.WriteString("---\n" + string(text))
			}
		}
	}
	golden.Compare(t, "testdata/accounts.golden", b.String())
	csv.Spec.InstallStrategy.StrategyName = "script"
	if _, err := ForOperator(csv); err == nil || err.Error() != "unrecognized install strategy" {
		t.Errorf("got error %v", err)
	}
}

func TestForAPIs(t *testing.T) {
	csv := read(t, "testdata/accounts.yaml")
	roles, err := ForAPIs(csv)
	if err != nil {
		t.Fatal(err)
	}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: "group", Namespace: "operators"}}
	kiln := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Kiln"}
	roles = append(roles, ForGroup(group, []schema.GroupVersionKind{kiln, kiln})...)
	roles = append(roles, ForGroup(group, nil)[0])
	var b strings.Builder
	for _, r := range roles {
		text, err := yaml.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n" + string(text))
	}
	golden.Compare(t, "testdata/apis.golden", b.String())

	csv.Spec.CustomResourceDefinitions.Owned[0].Name = "kilns"
	if _, err := ForAPIs(csv); err == nil || err.Error() != "invalid parsing of name 'kilns', got [kilns]" {
		t.Errorf("got error %v", err)
	}
}

// An operator is granted exactly the permissions of its ClusterServiceVersion.
func TestGrantsOfOperators(t *testing.T) {
	for _, path := range shared.Glob(t, "data/operators/*/*/manifests/*clusterserviceversion.yaml") {
		csv := read(t, path)
		csv.Namespace = "operators"
		if err := checkGrants(csv); err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

func TestGrantsOfRandomOperators(t *testing.T) {
	for seed := range uint64(500) {
		if err := checkGrants(randomOperator(rand.New(rand.NewPCG(seed, 0)))); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

func randomOperator(r *rand.Rand) *v1alpha1.ClusterServiceVersion {
	some := func(words ...string) (picked []string) {
		for range 1 + r.IntN(2) {
			picked = append(picked, words[r.IntN(len(words))])
		}
		return picked
	}
	permissions := func() (all []v1alpha1.StrategyDeploymentPermissions) {
		for range r.IntN(4) {
			p := v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: some("default", "a", "b")[0]}
			for range r.IntN(3) {
				rule := rbacv1.PolicyRule{Verbs: some("get", "list", "create", "*"), APIGroups: some("", "apps", "*")}
				rule.Resources = some("pods", "pods/log", "*", "*/status", "deployments")
				if r.IntN(3) == 0 {
					rule.ResourceNames = some("x", "y")
				}
				if r.IntN(5) == 0 {
					rule = rbacv1.PolicyRule{Verbs: some("get", "*"), NonResourceURLs: some("/metrics", "/healthz*", "*")}
				}
				p.Rules = append(p.Rules, rule)
			}
			all = append(all, p)
		}
		return all
	}
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "kiln.v1", Namespace: "operators"}}
	csv.Spec.InstallStrategy.StrategyName = v1alpha1.InstallStrategyNameDeployment
	csv.Spec.InstallStrategy.StrategySpec.Permissions = permissions()
	csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions = permissions()
	return csv
}

// checkGrants compares the permissions from the objects for an operator with the permissions in its
// ClusterServiceVersion: in its namespace, in another that it watches, in one that it does not, and if it watches all.
func checkGrants(csv *v1alpha1.ClusterServiceVersion) error {
	accounts, err := ForOperator(csv)
	if err != nil {
		return err
	}
	copied := csv.DeepCopy()
	copied.Namespace = "watched"
	some, all := NewAuthorizer(), NewAuthorizer()
	for _, a := range accounts {
		for o := range a.All() {
			some.Add(o)
			all.Add(o)
		}
		for o := range a.CopyTo(copied).All() {
			some.Add(o)
		}
		for o := range a.Lift().All() {
			all.Add(o)
		}
	}
	strategy := csv.Spec.InstallStrategy.StrategySpec
	for _, name := range append([]string{"stranger"}, namesOf(accounts)...) {
		everywhere, there := asked(strategy.ClusterPermissions, name), asked(strategy.Permissions, name)
		here := slices.Concat(everywhere, there)
		lifted := here
		if hasPermissions(strategy.Permissions, name) {
			lifted = operator.Lifted(here)
		}
		for _, tt := range []struct {
			authorizer *Authorizer
			namespace  string
			want       []rbacv1.PolicyRule
		}{
			{some, csv.Namespace, here}, {some, "watched", here}, {some, "elsewhere", everywhere}, {some, "", everywhere},
			{all, "elsewhere", lifted}, {all, "", lifted},
		} {
			got := tt.authorizer.Rules(types.NamespacedName{Namespace: csv.Namespace, Name: name}, tt.namespace)
			if err := sameRules(got, tt.want); err != nil {
				return fmt.Errorf("service account %q in %q: %w", name, tt.namespace, err)
			}
		}
	}
	return nil
}

func namesOf(accounts []*Account) (names []string) {
	for _, a := range accounts {
		names = append(names, a.Name)
	}
	return names
}

func asked(permissions []v1alpha1.StrategyDeploymentPermissions, account string) (rules []rbacv1.PolicyRule) {
	for _, p := range permissions {
		if p.ServiceAccountName == account {
			rules = append(rules, p.Rules...)
		}
	}
	return rules
}

func hasPermissions(permissions []v1alpha1.StrategyDeploymentPermissions, account string) bool {
	return slices.ContainsFunc(permissions, func(p v1alpha1.StrategyDeploymentPermissions) bool {
		return p.ServiceAccountName == account
	})
}

func sameRules(got, want []rbacv1.PolicyRule) error {
	for _, r := range got {
		if ok, err := Covers(want, r); !ok {
			return fmt.Errorf("granted, but not asked for: %v (%w)", r, err)
		}
	}
	for _, r := range want {
		if ok, err := Covers(got, r); !ok {
			return fmt.Errorf("asked for, but not granted: %v (%w)", r, err)
		}
	}
	return nil
}
