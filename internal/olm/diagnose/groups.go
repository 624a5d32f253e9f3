package diagnose

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/shell"
)

type group = cluster.Object[*operatorsv1.OperatorGroup]

// operatorGroups finds the namespaces in which OLM Classic does nothing because of their OperatorGroups.
func (d *diagnosis) operatorGroups() {
	for _, namespace := range d.Subscriptions.Namespaces() {
		d.groupsOf(namespace)
	}
	for _, namespace := range d.ClusterServiceVersions.Namespaces() {
		if d.Subscriptions.LenIn(namespace) == 0 && len(d.operatorsIn(namespace)) > 0 {
			d.groupsOf(namespace)
		}
	}
}

// groupsOf checks the OperatorGroups of a namespace with operators or Subscriptions.
func (d *diagnosis) groupsOf(namespace string) {
	ref := simulate.Ref{Kind: kindNamespace, Name: namespace}
	groups := slices.Collect(d.OperatorGroups.In(namespace))
	var f *Finding
	switch len(groups) {
	case 0:
		f = d.addRef(ruleGroup, ref, d.placeOf(namespace), "it has no OperatorGroup, so OLM installs nothing in it")
		f.Help = append(f.Help, Help{"create an OperatorGroup, here for operators that watch this namespace only",
			"printf %s " + shell.Quote(groupManifest(namespace)) + " | kubectl create -f -"})
	case 1:
		d.groupAccount(groups[0])
		return
	default:
		slices.SortStableFunc(groups, func(a, b group) int {
			return b.Value.CreationTimestamp.Compare(a.Value.CreationTimestamp.Time)
		})
		f = d.addRef(ruleGroup, ref, d.placeOf(namespace), fmt.Sprintf(
			"it has %d OperatorGroups, so OLM does not know which one its operators belong to", len(groups)))
		f.since(&groups[0].Value.CreationTimestamp)
		for _, o := range groups[:min(len(groups), maxEvidence)] {
			f.show(Evidence{simulate.RefTo(o.Value), o.Pos, "is one of them", timeText(&o.Value.CreationTimestamp)})
		}
		f.help("delete all OperatorGroups but one, such as the newest", kubectl("delete", simulate.RefTo(groups[0].Value))...)
	}
	d.blameNamespace(f, namespace)
}

// groupManifest returns the manifest of an OperatorGroup for its own namespace.
func groupManifest(namespace string) string {
	text, err := json.Marshal(map[string]any{
		"apiVersion": operatorsv1.GroupVersion.String(), "kind": operatorsv1.OperatorGroupKind,
		"metadata": map[string]string{"name": namespace, "namespace": namespace},
		"spec":     map[string][]string{"targetNamespaces": {namespace}},
	}, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // strings can be written
	}
	return string(text)
}

// groupAccount finds an OperatorGroup whose ServiceAccount is missing. OLM sets a condition.
func (d *diagnosis) groupAccount(o group) {
	for _, c := range o.Value.Status.Conditions {
		if c.Type != operatorsv1.OperatorGroupServiceAccountCondition || c.Status != metav1.ConditionTrue {
			continue
		}
		f := add(d, ruleGroupAccount, o, c.Reason+": "+c.Message).since(&c.LastTransitionTime)
		if name := o.Value.Spec.ServiceAccountName; name != "" {
			f.help("create the ServiceAccount, and give it the permissions that its operators need",
				"kubectl", "create", "serviceaccount", name, "-n", o.Value.Namespace)
		}
		d.blameNamespace(f, o.Value.Namespace)
	}
}

// blameNamespace records that the Subscriptions of a namespace, and its InstallPlans and operators that are not done,
// suffer from a cause.
func (d *diagnosis) blameNamespace(f *Finding, namespace string) {
	for o := range d.Subscriptions.In(namespace) {
		d.blame(f, simulate.RefTo(o.Value))
	}
	for o := range d.InstallPlans.In(namespace) {
		if o.Value.Status.Phase == installing {
			d.blame(f, simulate.RefTo(o.Value))
		}
	}
	for _, o := range d.operatorsIn(namespace) {
		if o.Value.Status.Phase != succeeded {
			d.blame(f, simulate.RefTo(o.Value))
		}
	}
}
