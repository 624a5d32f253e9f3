package operatorgroup_test

import (
	"slices"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/olm/operatorgroup"
)

// read decodes YAML as a cluster does: unknown fields are ignored.
func read[T any](t *testing.T, text string) *T {
	t.Helper()
	v := new(T)
	if err := yaml.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The namespaces of the tests, with their labels.
func namespaces() []*corev1.Namespace {
	var all []*corev1.Namespace
	for _, ns := range []struct {
		name   string
		labels map[string]string
	}{
		{"my-namespace", nil},
		{"b", map[string]string{"cool.io/prod": "true"}},
		{"a", map[string]string{"cool.io/prod": "true", "tier": "gold"}},
		{"monitored", map[string]string{"something.cool.io/cluster-monitoring": "true"}},
	} {
		all = append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns.name, Labels: ns.labels}})
	}
	return all
}

func TestTargets(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"named", "{targetNamespaces: [my-namespace]}", "my-namespace"},
		{"named, but not there", "{targetNamespaces: [nowhere, b]}", "b,nowhere"},
		{"named twice", "{targetNamespaces: [b, a, b]}", "a,b"},
		{"all among them", `{targetNamespaces: [a, ""]}`, "error: TargetNamespaces cannot contain NamespaceAll: [a ]"},
		{"neither names nor a selector", "{}", "<all>"},
		{"no names", "{targetNamespaces: []}", "<all>"},
		{"an empty selector", "{selector: {}}", "<all>"},
		{"empty parts of a selector", "{selector: {matchLabels: {}, matchExpressions: []}}", "<all>"},
		{"labels", `{selector: {matchLabels: {cool.io/prod: "true"}}}`, "a,b"},
		{"expressions", "{selector: {matchExpressions: [{key: tier, operator: Exists}]}}", "a"},
		{"labels and expressions", `{selector: {matchLabels: {cool.io/prod: "true"}, matchExpressions: [{key: tier, operator: DoesNotExist}]}}`, "b"},
		{"not in", "{selector: {matchExpressions: [{key: tier, operator: NotIn, values: [gold]}]}}", "b,monitored,my-namespace"},
		{"nothing matches", `{selector: {matchLabels: {cool.io/prod: "false"}}}`, ""},
		{"a bare map, as some documentation has it", `{selector: {cool.io/prod: "true"}}`, "<all>"},
		{"names win over a selector", `{targetNamespaces: [my-namespace], selector: {matchLabels: {cool.io/prod: "true"}}}`, "my-namespace"},
		{"an unknown operator", "{selector: {matchExpressions: [{key: tier, operator: Like}]}}", `error: "Like" is not a valid label selector operator`},
		{"no values", "{selector: {matchExpressions: [{key: tier, operator: In}]}}",
			"error: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"},
		{"a selector with an error matters even with names", "{targetNamespaces: [a], selector: {matchExpressions: [{key: tier, operator: Like}]}}",
			`error: "Like" is not a valid label selector operator`},
		{"the example of olm-operators", "{selector: {}, serviceAccount: {metadata: {creationTimestamp: null}}, targetNamespaces: [local]}", "local"},
		{"the example of cluster-monitoring",
			`{staticProvidedAPIs: true, selector: {matchLabels: {something.cool.io/cluster-monitoring: "true"}}}`, "monitored"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			targets, err := operatorgroup.Targets(read[operatorsv1.OperatorGroup](t, "spec: "+tt.spec), slices.Values(namespaces()))
			got := strings.Join(targets, ",")
			if slices.Equal(targets, []string{""}) {
				got = "<all>"
			}
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// group returns a group with this status.namespaces.
func group(targets ...string) *operatorsv1.OperatorGroup {
	return &operatorsv1.OperatorGroup{Status: operatorsv1.OperatorGroupStatus{Namespaces: targets}}
}

func TestMembership(t *testing.T) {
	const all, own, single, multi = "AllNamespaces", "OwnNamespace", "SingleNamespace", "MultiNamespace"
	type groups = []*operatorsv1.OperatorGroup
	for _, tt := range []struct {
		name   string
		modes  []string
		groups groups
		want   string // reason: message
	}{
		{"no group", []string{all}, nil, "NoOperatorGroup: csv in namespace with no operatorgroups"},
		{"two groups", []string{all}, groups{group(""), group("")},
			"TooManyOperatorGroups: csv created in namespace with multiple operatorgroups, can't pick one automatically"},
		{"no targets", []string{all}, groups{group()},
			"NoTargetNamespaces: no targetNamespaces are matched operatorgroups namespace selection"},
		{"a mode twice", []string{all, all}, groups{group("")},
			"InvalidInstallModes: InstallMode list contains duplicates, cannot make set: [{AllNamespaces true} {AllNamespaces true}]"},
		{"all", []string{all}, groups{group("")}, ""},
		{"all, unsupported", []string{own, single, multi}, groups{group("")},
			"UnsupportedOperatorGroup: AllNamespaces InstallModeType not supported, cannot configure to watch all namespaces"},
		{"own", []string{own}, groups{group("n")}, ""},
		{"own, unsupported", []string{all, single, multi}, groups{group("n")},
			"UnsupportedOperatorGroup: OwnNamespace InstallModeType not supported, cannot configure to watch own namespace"},
		{"another", []string{single}, groups{group("m")}, ""},
		{"another, unsupported", []string{all, own, multi}, groups{group("m")},
			"UnsupportedOperatorGroup: SingleNamespace InstallModeType not supported, cannot configure to watch one namespace"},
		{"two others", []string{multi}, groups{group("m", "o")}, ""},
		{"two others, unsupported", []string{all, own, single}, groups{group("m", "o")},
			"UnsupportedOperatorGroup: MultiNamespace InstallModeType not supported, cannot configure to watch 2 namespaces"},
		{"own and another", []string{multi, own}, groups{group("o", "n")}, ""},
		{"own and another, without own", []string{multi, single}, groups{group("m", "n")},
			"UnsupportedOperatorGroup: OwnNamespace InstallModeType not supported, cannot configure to watch own namespace"},
		{"all and another", []string{all, multi}, groups{group("m", "")},
			"UnsupportedOperatorGroup: operatorgroup has invalid selected namespaces, NamespaceAll found when |selected namespaces| > 1"},
		{"no modes", nil, groups{group("m")},
			"UnsupportedOperatorGroup: SingleNamespace InstallModeType not supported, cannot configure to watch one namespace"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "op.v1", Namespace: "n"}}
			for _, mode := range tt.modes {
				csv.Spec.InstallModes = append(csv.Spec.InstallModes, v1alpha1.InstallMode{Type: v1alpha1.InstallModeType(mode), Supported: true})
			}
			got := ""
			if f := operatorgroup.Membership(csv, tt.groups...); f != nil {
				got = string(f.Reason) + ": " + f.Message
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestUnsupportedMode checks that a mode listed as unsupported equals a missing mode.
func TestUnsupportedMode(t *testing.T) {
	csv := read[v1alpha1.ClusterServiceVersion](t, "spec: {installModes: [{type: AllNamespaces, supported: false}]}")
	if f := operatorgroup.Membership(csv, group("")); f == nil || f.Reason != v1alpha1.CSVReasonUnsupportedOperatorGroup {
		t.Errorf("got %v", f)
	}
}

// TestRecovered checks the message at the end of each failure.
func TestRecovered(t *testing.T) {
	for reason, want := range map[v1alpha1.ConditionReason]string{
		"NoOperatorGroup":                             "InstallModes now support target namespaces",
		"TooManyOperatorGroups":                       "InstallModes now support target namespaces",
		"NoTargetNamespaces":                          "InstallModes now support target namespaces",
		"UnsupportedOperatorGroup":                    "InstallModes now support target namespaces",
		"InterOperatorGroupOwnerConflict":             "OperatorGroup no longer intersecting with conflicting owner",
		"CannotModifyStaticOperatorGroupProvidedAPIs": "static OperatorGroup and intersecting groups now support providedAPIs",
		"InvalidInstallModes":                         "InstallModes now support target namespaces",
		v1alpha1.CSVReasonRequirementsNotMet:          "",
	} {
		if got, ok := operatorgroup.Recovered(reason); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %t", reason, got, ok)
		}
	}
}
