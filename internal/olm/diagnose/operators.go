package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/operatorgroup"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/problem"
)

const succeeded = v1alpha1.CSVPhaseSucceeded

type csv = cluster.Object[*v1alpha1.ClusterServiceVersion]

// operatorsIn returns the operators of a namespace, by name, without copies.
func (d *diagnosis) operatorsIn(namespace string) []csv {
	var all []csv
	for o := range d.ClusterServiceVersions.In(namespace) {
		if !o.Value.IsCopied() {
			all = append(all, o)
		}
	}
	return all
}

// operators finds the operators that do not reach the phase Succeeded.
func (d *diagnosis) operators() {
	for _, namespace := range d.ClusterServiceVersions.Namespaces() {
		all := d.operatorsIn(namespace)
		x := &updates{
			diagnosis: d, all: all, byName: map[string]csv{}, successors: map[string]csv{}, visited: map[string]bool{},
		}
		for _, o := range all {
			x.byName[o.Value.Name] = o
			if o.Value.Spec.Replaces != "" {
				x.successors[o.Value.Spec.Replaces] = o
			}
		}
		for _, o := range all {
			x.find(o)
		}
	}
}

// updates are the operators of a namespace, with the updates between them.
type updates struct {
	*diagnosis
	byName     map[string]csv
	successors map[string]csv // by the name that they replace
	visited    map[string]bool

	all          []csv
	byDefinition map[string][]csv // the owners of a CustomResourceDefinition; nil before it is needed
}

// find returns the Finding that an operator is in, nil if it is healthy.
func (x *updates) find(o csv) *Finding {
	ref, status := simulate.RefTo(o.Value), &o.Value.Status
	if x.visited[ref.Name] || status.Phase == succeeded && o.Value.DeletionTimestamp == nil {
		return x.blamed[ref]
	}
	x.visited[ref.Name] = true
	if f := x.blamed[ref]; f != nil {
		return f // its OperatorGroup or its InstallPlan
	}
	successor, replaced := x.successors[ref.Name]
	switch {
	case o.Value.DeletionTimestamp != nil:
		return x.deleted(o)
	case replaced && (status.Phase == v1alpha1.CSVPhaseReplacing || status.Phase == v1alpha1.CSVPhaseDeleting):
		if f := x.find(successor); f != nil {
			x.blame(f, ref)
			return f
		}
	case status.Phase == v1alpha1.CSVPhasePending && status.Reason != v1alpha1.CSVReasonOperatorConditionNotUpgradeable:
		previous, ok := x.byName[o.Value.Spec.Replaces]
		if !ok || previous.Value.Status.Phase == v1alpha1.CSVPhaseReplacing {
			break
		}
		if f := x.find(previous); f != nil {
			x.blame(f, ref)
			return f
		}
	}
	return x.cause(o)
}

// deleted adds the Finding about an operator that is being deleted.
func (x *updates) deleted(o csv) *Finding {
	f := add(x.diagnosis, ruleOperatorWaits, o, "it is being deleted, and waits for its finalizers: "+
		plural.Some(o.Value.Finalizers))
	return f.since(o.Value.DeletionTimestamp).help("look at the controllers of the finalizers", get(f.Object)...)
}

// A reason is how a reason of OLM for a phase is diagnosed.
type reason struct {
	rule    *problem.Rule
	explain func(*updates, csv, *Finding)
}

var reasons = map[v1alpha1.ConditionReason]reason{
	v1alpha1.CSVReasonRequirementsUnknown: {ruleRequirements, (*updates).requirements},
	v1alpha1.CSVReasonRequirementsNotMet:  {ruleRequirements, (*updates).requirements},

	v1alpha1.CSVReasonComponentFailed:        {ruleOperatorFailed, (*updates).deployments},
	v1alpha1.CSVReasonComponentFailedNoRetry: {ruleOperatorFailed, (*updates).deployments},
	v1alpha1.CSVReasonInstallCheckFailed:     {ruleOperatorFailed, (*updates).deployments},
	v1alpha1.CSVReasonComponentUnhealthy:     {ruleOperatorFailed, (*updates).deployments},
	v1alpha1.CSVReasonNeedsReinstall:         {ruleOperatorFailed, (*updates).deployments},
	v1alpha1.CSVReasonWaiting:                {ruleOperatorFailed, (*updates).deployments},
	v1alpha1.CSVReasonInvalidStrategy:        {ruleOperatorFailed, (*updates).deployments},

	v1alpha1.CSVReasonOwnerConflict:                               {ruleAPIConflict, (*updates).owners},
	v1alpha1.CSVReasonInterOperatorGroupOwnerConflict:             {ruleAPIConflict, (*updates).rivals},
	v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs: {ruleAPIConflict, (*updates).rivals},

	v1alpha1.CSVReasonUnsupportedOperatorGroup: {ruleOperatorGroup, (*updates).installModes},
	v1alpha1.CSVReasonNoTargetNamespaces:       {ruleOperatorGroup, (*updates).installModes},

	v1alpha1.CSVReasonOperatorConditionNotUpgradeable: {ruleNotUpgradeable, (*updates).notUpgradeable},
}

// cause adds the Finding about an operator that is the cause itself.
func (x *updates) cause(o csv) *Finding {
	status := &o.Value.Status
	r, ok := reasons[status.Reason]
	if f := x.down[kindCSV]; !ok && f != nil {
		x.blame(f, simulate.RefTo(o.Value))
		return f
	}
	message := "it is in phase " + cmp.Or(string(status.Phase), "none")
	if status.Message != "" {
		message += ": " + status.Message
	}
	if last, failed := lastFailure(status); !ok && failed {
		r, ok = reasons[last.Reason]
		message += "; before, it failed: " + last.Message
	}
	if !ok {
		r = reason{ruleOperatorWaits, (*updates).waits}
		if status.Phase == v1alpha1.CSVPhaseFailed {
			r.rule = ruleOperatorFailed
		}
	}
	f := add(x.diagnosis, r.rule, o, message).since(status.LastTransitionTime)
	r.explain(x, o, f)
	return f
}

// lastFailure returns the last failure in the history of an operator, and whether there is one. OLM installs some
// operators again and again.
func lastFailure(status *v1alpha1.ClusterServiceVersionStatus) (c v1alpha1.ClusterServiceVersionCondition, ok bool) {
	for _, c := range slices.Backward(status.Conditions) {
		switch c.Phase {
		case v1alpha1.CSVPhaseFailed:
			return c, true
		case succeeded:
			return c, false
		}
	}
	return c, false
}

// waits explains a phase without a known reason.
func (x *updates) waits(o csv, f *Finding) {
	if o.Value.Status.Phase == v1alpha1.CSVPhaseReplacing {
		f.Message += "; no ClusterServiceVersion replaces it"
	}
	f.help("see whether olm-operator works on it", kubectl("describe", f.Object)...)
}

// requirements explains an operator whose requirements are not met.
func (x *updates) requirements(o csv, f *Finding) {
	rows := o.Value.Status.RequirementStatus
	if text := simulate.MissingRequirements(rows); text != "" {
		f.Message = "its requirements are not met: " + text
	}
	for _, row := range rows {
		switch {
		case row.Status == v1alpha1.RequirementStatusReasonPresent:
			continue
		case row.Kind == "CustomResourceDefinition":
			f.help("install the operator or the manifest that has the CustomResourceDefinition", "kubectl", "get", "crd",
				row.Name)
		case row.Kind == "ServiceAccount" && row.Status == v1alpha1.RequirementStatusReasonNotPresent:
			f.help("create the ServiceAccount and its permissions again: delete the ClusterServiceVersion and its "+
				"Subscription, and create the Subscription", "kubectl", "get", "serviceaccount", row.Name, "-n", o.Value.Namespace)
		case row.Kind == "ServiceAccount":
			f.help("grant the missing permissions", "kubectl", "auth", "can-i", "--list", "-n", o.Value.Namespace,
				"--as", "system:serviceaccount:"+o.Value.Namespace+":"+row.Name)
		case row.Kind == kindCSV:
			f.help("update Kubernetes, or ask for an older version of the operator", "kubectl", "version")
		default:
			continue
		}
		return
	}
	f.help("create what is missing", kubectl("describe", f.Object)...)
}

// deployments explains an operator whose Deployments are missing or not available.
func (x *updates) deployments(o csv, f *Finding) {
	if strings.Contains(f.Message, "conversion webhooks must support only AllNamespaces") {
		f.help("ask for a version of the operator that supports only AllNamespaces", get(f.Object)...)
		return
	}
	strategy, err := operator.Strategy(o.Value)
	if err != nil {
		f.help("ask for a version of the operator with a valid install strategy", get(f.Object)...)
		return
	}
	for i := range strategy.DeploymentSpecs {
		name := strategy.DeploymentSpecs[i].Name
		deployed, ok := x.Deployments.Get(o.Value.Namespace, name)
		switch {
		case ok && !isAvailable(deployed.Value):
			f.blameTroubles(x.deploymentTroubles(deployed))
		case !ok && x.Deployments.Len() > 0:
			f.show(Evidence{Object: simulate.Ref{Kind: kindDeployment, Namespace: o.Value.Namespace, Name: name},
				Message: "does not exist"})
		}
	}
	if len(f.Evidence) == 0 {
		f.show(x.warnings(f.Object)...)
	}
	if len(f.Help) == 0 {
		f.help("look at the Deployments and pods of the operator", "kubectl", "get", "deployments,pods,events", "-n",
			o.Value.Namespace)
	}
}

// owners explains an operator that owns the same API as another one of its namespace.
func (x *updates) owners(o csv, f *Finding) {
	if x.byDefinition == nil {
		x.byDefinition = map[string][]csv{}
		for _, o := range x.all {
			for _, owned := range o.Value.Spec.CustomResourceDefinitions.Owned {
				x.byDefinition[owned.Name] = append(x.byDefinition[owned.Name], o)
			}
		}
	}
	for _, owned := range o.Value.Spec.CustomResourceDefinitions.Owned {
		for _, other := range x.byDefinition[owned.Name] {
			if other.Value.Name != o.Value.Name && len(f.Evidence) < maxEvidence {
				f.show(Evidence{Object: simulate.RefTo(other.Value), Place: other.Pos, Message: "owns " + owned.Name + ", too"})
			}
		}
	}
	f.help("delete one of the operators, with its Subscription", kubectl("delete", f.Object)...)
}

// rivals explains an operator whose APIs another OperatorGroup provides, too.
func (x *updates) rivals(o csv, f *Finding) {
	for g := range x.OperatorGroups.In(o.Value.Namespace) {
		ref := simulate.RefTo(g.Value)
		if g.Value.Spec.StaticProvidedAPIs {
			f.show(Evidence{Object: ref, Place: g.Pos, Message: "its staticProvidedAPIs is true"})
			f.help("let OLM change the APIs of the OperatorGroup", patch(ref, `{"spec":{"staticProvidedAPIs":false}}`)...)
		}
		apis, err := operatorgroup.Provided(o.Value)
		if err != nil {
			continue // OLM gives another reason
		}
		for _, name := range x.groups().Rivals(operatorgroup.Key(g.Value), apis) {
			if len(f.Evidence) == maxEvidence {
				break
			}
			rival, _ := x.OperatorGroups.Get(name.Namespace, name.Name)
			f.show(Evidence{Object: simulate.RefTo(rival.Value), Place: rival.Pos,
				Message: "provides the same API in a namespace of both"})
		}
	}
	if len(f.Help) == 0 {
		f.help("delete the operator in one of the namespaces, or let the OperatorGroups target other namespaces",
			"kubectl", "get", "operatorgroups", "-A", "-o", "yaml")
	}
}

// groups returns the index of all OperatorGroups.
func (d *diagnosis) groups() *operatorgroup.Index {
	if d.rivalGroups == nil {
		d.rivalGroups = operatorgroup.NewIndex()
		for o := range d.OperatorGroups.All() {
			d.rivalGroups.Put(o.Value)
		}
	}
	return d.rivalGroups
}

// installModes explains an operator that does not support the targets of its OperatorGroup.
func (x *updates) installModes(o csv, f *Finding) {
	var modes []string
	for _, m := range o.Value.Spec.InstallModes {
		if m.Supported {
			modes = append(modes, string(m.Type))
		}
	}
	text := "let the OperatorGroup target namespaces that the operator supports"
	if len(modes) > 0 {
		text += ": " + plural.Some(modes)
	}
	for g := range x.OperatorGroups.In(o.Value.Namespace) {
		targets := operatorgroup.TargetText(g.Value.Status.Namespaces)
		f.show(Evidence{Object: simulate.RefTo(g.Value), Place: g.Pos, Message: "targets " + targets})
		f.help(text, kubectl("edit", simulate.RefTo(g.Value))...)
	}
}

// notUpgradeable explains an update that waits for the OperatorCondition of the replaced operator.
func (x *updates) notUpgradeable(o csv, f *Finding) {
	name := o.Value.Spec.Replaces
	c, ok := x.OperatorConditions.Get(o.Value.Namespace, name)
	if !ok {
		f.help("look at the OperatorCondition of the replaced operator", "kubectl", "get", "operatorcondition", name, "-n",
			o.Value.Namespace, "-o", "yaml")
		return
	}
	for _, status := range slices.Concat(c.Value.Spec.Overrides, c.Value.Spec.Conditions, c.Value.Status.Conditions) {
		if status.Type != "Upgradeable" || status.Status != metav1.ConditionFalse {
			continue
		}
		since := timeText(&status.LastTransitionTime)
		f.show(Evidence{simulate.RefTo(c.Value), c.Pos,
			fmt.Sprintf("condition Upgradeable=False, %s: %s", status.Reason, status.Message), since})
		f.Since = cmp.Or(since, f.Since)
		break
	}
	f.help("do what its message says, or override it", patch(simulate.RefTo(c.Value),
		`{"spec":{"overrides":[{"type":"Upgradeable","status":"True","reason":"Override","message":"by hand"}]}}`)...)
}

// isAvailable reports whether Kubernetes calls a Deployment available and up to date.
func isAvailable(d *appsv1.Deployment) bool {
	available := false
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentAvailable:
			available = c.Status == corev1.ConditionTrue
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			return false
		}
	}
	return available
}
