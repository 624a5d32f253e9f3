package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/operatorgroup"
	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/updates"
)

// A csv is a ClusterServiceVersion that is not a copy.
type csv = cluster.Object[*v1alpha1.ClusterServiceVersion]

// operators updates the phases of the ClusterServiceVersions that are members of an OperatorGroup.
func operators(ctx context.Context, r *run) error {
	permissions, configured := sync.OnceValue(r.authorizer), sync.OnceValue(r.webhooks)
	for _, namespace := range slices.Clone(r.State.ClusterServiceVersions.Namespaces()) {
		ns := r.installedIn(namespace)
		ns.permissions, ns.configured = permissions, configured
		for _, o := range ns.all {
			if err := ctx.Err(); err != nil {
				return err
			}
			ns.transition(o)
		}
	}
	return nil
}

// installedIn returns the operators of a namespace. Replaced operators come before their replacements.
func (r *run) installedIn(namespace string) *installed {
	ns := &installed{run: r, namespace: namespace, group: r.groupOf(namespace), replacements: map[string][]string{}}
	for o := range r.State.ClusterServiceVersions.In(namespace) {
		if o.Value.IsCopied() {
			continue
		}
		ns.all = append(ns.all, o)
		if replaced := o.Value.Spec.Replaces; replaced != "" {
			ns.replacements[replaced] = append(ns.replacements[replaced], o.Value.Name)
		}
	}
	if len(ns.replacements) > 0 {
		// Sort operators after the operators that they replace, since the phase of an operator depends on the
		// deletion of the replaced one.
		ages := map[string]int{} // the number of existing predecessors, by name
		var age func(csv) int
		age = func(o csv) int {
			name := o.Value.Name
			if n, ok := ages[name]; ok {
				return n
			}
			ages[name] = 0 // stops at a loop of replacements
			if previous := ns.replacedBy(o); previous != nil {
				ages[name] = age(*previous) + 1
			}
			return ages[name]
		}
		slices.SortStableFunc(ns.all, func(a, b csv) int { return cmp.Compare(age(a), age(b)) })
	}
	return ns
}

// groupOf returns the OperatorGroup of a namespace, nil if there is not exactly one.
func (r *run) groupOf(namespace string) *operatorsv1.OperatorGroup {
	if r.State.OperatorGroups.LenIn(namespace) == 1 {
		for o := range r.State.OperatorGroups.In(namespace) {
			return o.Value
		}
	}
	return nil
}

// An installed is the set of the operators of a namespace, by name, before the controller changes any of them.
type installed struct {
	*run
	namespace string
	group     *operatorsv1.OperatorGroup
	all       []csv

	replacements map[string][]string     // the names of the replacements, by the name of the replaced operator
	permissions  func() *rbac.Authorizer // of all service accounts in the cluster, at the start of the controller
	configured   func() map[webhook]bool // the admission webhooks with a configuration, at the start of the controller
}

// operatorKind is the kind of the objects that list the objects of an operator.
var operatorKind = schema.GroupKind{Group: operatorsv1.GroupVersion.Group, Kind: "Operator"}

// createOperators creates the Operators of the Subscriptions of a namespace. OLM takes their names from a label, whose
// key has 63 characters. Their status, the list of the objects of an operator, is not simulated.
func (r *run) createOperators(namespace string) {
	for o := range r.State.Subscriptions.In(namespace) {
		name := o.Value.Spec.Package + "." + namespace
		name = strings.TrimRight(name[:min(len(name), validation.LabelValueMaxLength)], "-_.")
		if _, ok := r.State.Get(operatorKind, "", name); !ok {
			r.put(untyped(&operatorsv1.Operator{
				TypeMeta:   metav1.TypeMeta{APIVersion: operatorsv1.GroupVersion.String(), Kind: operatorKind.Kind},
				ObjectMeta: metav1.ObjectMeta{Name: name},
			}), "for Subscription "+o.Value.Name, computed("each operator of a namespace has an Operator"))
		}
	}
}

// authorizer returns the permissions of the service accounts of the cluster, without the bindings that OLM itself
// creates for each operator: from a state with no other bindings, the permissions of an operator cannot be derived.
func (r *run) authorizer() *rbac.Authorizer {
	a := rbac.NewAuthorizer()
	addAll(a, &r.State.Roles)
	for o := range r.State.RoleBindings.All() {
		if !rbac.IsExtra(o.Value) {
			a.Add(o.Value)
		}
	}
	addAll(a, &r.State.ClusterRoles)
	addAll(a, &r.State.ClusterRoleBindings)
	return a
}

func addAll[P cluster.Kubernetes](a *rbac.Authorizer, s *cluster.Store[P]) {
	for o := range s.All() {
		a.Add(o.Value)
	}
}

// transition reconciles a ClusterServiceVersion once, as OLM does.
func (ns *installed) transition(o csv) {
	if o.Value.DeletionTimestamp != nil {
		ns.finishDeletion(o)
		return
	}
	status := &o.Value.Status
	switch _, outside := operatorgroup.Recovered(status.Reason); {
	case status.Phase == v1alpha1.CSVPhaseFailed && outside, status.Reason == v1alpha1.CSVReasonInvalidInstallModes:
		return // the controller of OperatorGroups handles it
	case status.Reason == v1alpha1.CSVReasonComponentFailedNoRetry:
		wait(ns.run, o, "a new version or another service account of the OperatorGroup: "+status.Message, Computed)
		return
	}
	if _, err := operatorgroup.Provided(o.Value); err != nil {
		wait(ns.run, o, "a ClusterServiceVersion that OLM can read: "+err.Error(), Computed)
		return
	}
	switch status.Phase {
	case v1alpha1.CSVPhaseNone:
		ns.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsUnknown, "requirements not yet checked",
			computed("it is new"))
	case v1alpha1.CSVPhasePending:
		ns.pending(o)
	case v1alpha1.CSVPhaseInstallReady:
		ns.install(o)
	case v1alpha1.CSVPhaseInstalling:
		ns.checkInstallation(o)
	case v1alpha1.CSVPhaseSucceeded:
		ns.succeeded(o)
	case v1alpha1.CSVPhaseFailed:
		ns.failed(o)
	case v1alpha1.CSVPhaseReplacing:
		ns.replacing(o)
	case v1alpha1.CSVPhaseDeleting:
		remove(ns.run, o, "replaced", computed("its replacement runs"))
		ns.garbageCollect(o.Value)
		ns.removeAlongside(o.Value)
	default:
		wait(ns.run, o, fmt.Sprintf("another phase than %s, in which OLM does nothing", status.Phase), Computed)
	}
}

// finalizer is the finalizer that keeps a deleted ClusterServiceVersion until OLM has deleted the objects of the
// operator.
const finalizer = "operators.coreos.com/csv-cleanup"

// phase sets the phase of an operator, and its requirement status if rows are given and the phase, reason or message
// changes. The times of its status stay empty: a simulation has no clock.
func (r *run) phase(
	o csv, phase v1alpha1.ClusterServiceVersionPhase, reason v1alpha1.ConditionReason, message string, why reason,
	rows ...v1alpha1.RequirementStatus,
) csv {
	if phase == v1alpha1.CSVPhaseReplacing && o.Value.Status.Phase != phase {
		r.replaced++
	}
	text := fmt.Sprintf("phase %s, reason %s: %s", phase, reason, message)
	return update(r, o, func(c *v1alpha1.ClusterServiceVersion) {
		if !slices.Contains(c.Finalizers, finalizer) {
			c.Finalizers = append(c.Finalizers, finalizer)
		}
		if s := &c.Status; s.Phase == phase && s.Reason == reason && s.Message == message {
			return
		}
		if rows != nil {
			c.SetRequirementStatus(rows)
		}
		c.SetPhase(phase, reason, message, nil)
	}, text, why)
}

// pending checks the requirements of an operator before it is installed.
func (ns *installed) pending(o csv) {
	previous := ns.replacedBy(o)
	if previous != nil {
		if err := ns.upgradeable(previous); err != nil {
			o = ns.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonOperatorConditionNotUpgradeable,
				fmt.Sprintf("operator is not upgradeable: %v", err), computed("the OperatorCondition of the replaced operator"))
			wait(ns.run, o, fmt.Sprintf("OperatorCondition %s: %v", previous.Value.Name, err), Computed)
			return
		}
	}
	found, err := ns.requirements(o.Value)
	if err != nil {
		ns.invalidStrategy(o, err)
		return
	}
	if !found.met {
		ns.checkedEarly(o, previous, found)
		o = ns.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsNotMet,
			"one or more requirements couldn't be found", computed("requirements are checked first"), found.rows...)
		wait(ns.run, o, found.describeMissing(), Computed)
		return
	}
	if err := checkWebhooks(o.Value); err != nil {
		ns.phase(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonInvalidWebhookDescription, err.Error(),
			computed("webhooks need rules that OLM allows, and names of their own"), found.rows...)
		return
	}
	if err := ns.ownerConflict(o); err != nil {
		ns.phase(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonOwnerConflict, err.Error(),
			computed("an API has one owner in a namespace, and its replacements"), found.rows...)
		return
	}
	if previous != nil && previous.Value.Status.Phase != v1alpha1.CSVPhaseReplacing {
		if ns.checkedEarly(o, previous, found) {
			o = ns.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsNotMet,
				"one or more requirements couldn't be found",
				computed("OLM checks them before the InstallPlan has updated the service accounts, and then only waits"),
				found.rows...)
		}
		wait(ns.run, o, fmt.Sprintf("ClusterServiceVersion %s to be replaced, which is in phase %s",
			previous.Value.Name, cmp.Or(string(previous.Value.Status.Phase), "none")), Computed)
		return
	}
	if o.Value.Status.Reason == v1alpha1.CSVReasonNeedsReinstall {
		err := ns.refusedDeployment(o.Value)
		if name := ns.unservedWebhook(o.Value); name != "" {
			err = fmt.Errorf("none of them serves webhook %s", name)
		}
		if err != nil {
			wait(ns.run, o, "its Deployments, for which OLM installs it again and again: "+err.Error(), Computed)
			return
		}
	}
	ns.phase(o, v1alpha1.CSVPhaseInstallReady, v1alpha1.CSVReasonRequirementsMet,
		"all requirements found, attempting install", found.reason("its requirements are met"), found.rows...)
}

// checkedEarly changes the findings about a new operator to those of OLM's first check of the requirements, before the
// InstallPlan has updated the service accounts of the replaced operator. It reports whether any changed. In a recorded
// namespace with fail-forward, OLM checks them later.
func (ns *installed) checkedEarly(o csv, previous *csv, found *findings) (changed bool) {
	if previous == nil || ns.failForward() || o.Value.Status.Reason != v1alpha1.CSVReasonRequirementsUnknown {
		return false
	}
	for i := range found.rows {
		row := &found.rows[i]
		account, ok := ns.State.ServiceAccounts.Get(ns.namespace, row.Name)
		if row.Kind != rbacv1.ServiceAccountKind || !ok || !slices.ContainsFunc(account.Value.OwnerReferences,
			func(ref metav1.OwnerReference) bool {
				return ref.Kind == v1alpha1.ClusterServiceVersionKind && ref.Name == previous.Value.Name
			}) {
			continue
		}
		row.Status, row.Message = v1alpha1.RequirementStatusReasonPresentNotSatisfied, ownedByAnother
		row.Dependents = []v1alpha1.DependentStatus{}
		changed = true
	}
	return changed
}

func (ns *installed) invalidStrategy(o csv, err error) {
	ns.phase(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonInvalidStrategy,
		fmt.Sprintf("install strategy invalid: %v", err), computed("OLM installs deployments only"))
}

// succeeded checks whether a running operator is being replaced, and whether its requirements are still met. If they
// are, it creates the ClusterRoles for the users of its APIs.
func (ns *installed) succeeded(o csv) {
	if next := ns.replacementOf(o); next != nil {
		ns.phase(o, v1alpha1.CSVPhaseReplacing, v1alpha1.CSVReasonBeingReplaced,
			"being replaced by csv: "+next.Value.Name, computed("another ClusterServiceVersion replaces it"))
		return
	}
	if err := ns.apiServiceIssue(o.Value); err != nil {
		ns.phase(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonAPIServiceResourceIssue, err.Error(), generated)
		return
	}
	if ns.lacksCertificate(o.Value) {
		ns.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonNeedsCertRotation,
			"CSV owns resources that require a cert refresh", generated)
		return
	}
	found, err := ns.requirements(o.Value)
	switch {
	case err != nil:
		ns.invalidStrategy(o, err)
		return
	case !found.met:
		ns.phase(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonRequirementsNotMet, "requirements no longer met",
			computed("requirements are checked again while it runs"), found.rows...)
		return
	case ns.lacksAuthority(o.Value):
		ns.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonNeedsReinstall, calculatedBad, generated)
		return
	}
	if ns.reinstall(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonComponentUnhealthy) {
		return
	}
	roles, err := rbac.ForAPIs(o.Value)
	if err != nil {
		wait(ns.run, o, err.Error(), Computed)
		return
	}
	for _, role := range roles {
		ref := &role.OwnerReferences[0]
		if crd, ok := ns.State.CustomResourceDefinitions.Get("", ref.Name); ok {
			ref.UID = crd.Value.UID
		} else if service, ok := ns.State.APIServices.Get("", ref.Name); ok {
			ref.UID = service.Value.UID
		}
	}
	create(ns.run, "for the users of its APIs",
		computed("the roles admin, edit and view of a namespace may use the APIs there"), roles...)
}

// failed checks whether an operator in the phase Failed can leave it.
func (ns *installed) failed(o csv) {
	if next := ns.replacementOf(o); next != nil && ns.failForward() {
		ns.phase(o, v1alpha1.CSVPhaseReplacing, v1alpha1.CSVReasonBeingReplaced,
			"Fail Forward is enabled, allowing Failed csv to be replaced by csv: "+next.Value.Name,
			computed("upgradeStrategy of the OperatorGroup"))
		return
	}
	found, err := ns.requirements(o.Value)
	switch {
	case err != nil:
		ns.invalidStrategy(o, err)
		wait(ns.run, o, "an install strategy that OLM knows", Computed)
	case !found.met:
		ns.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsNotMet, "requirements not met",
			computed("OLM checks a failed operator again"), found.rows...)
	case !ns.mayReinstall(o):
	case isRefused(o.Value):
		ns.failedEarly(o)
	case ns.regenerate(o):
	case ns.reinstall(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonNeedsReinstall):
	case slices.Contains(podFailures, o.Value.Status.Reason) && !ns.isHealthy(o.Value):
		wait(ns.run, o, "the operator to become healthy: "+o.Value.Status.Message, NotEvaluable)
	default:
		ns.setSucceeded(o)
	}
}

// regenerate installs a failed operator again if it lacks objects that OLM generates for its APIServices and webhooks,
// and reports whether it does.
func (ns *installed) regenerate(o csv) bool {
	reason, message := ns.lacksGenerated(o.Value)
	if reason == "" {
		return false
	}
	ns.phase(o, v1alpha1.CSVPhasePending, reason, message, generated)
	return true
}

// lacksGenerated returns the reason and the message with which OLM installs a failed operator again that lacks
// generated objects. The reason is "" if it lacks none.
func (ns *installed) lacksGenerated(c *v1alpha1.ClusterServiceVersion) (v1alpha1.ConditionReason, string) {
	if err := ns.apiServiceIssue(c); err != nil {
		return v1alpha1.CSVReasonAPIServiceResourcesNeedReinstall, err.Error()
	}
	if ns.lacksCertificate(c) {
		return v1alpha1.CSVReasonNeedsCertRotation, "owned APIServices need cert refresh"
	}
	if ns.lacksAuthority(c) {
		return v1alpha1.CSVReasonNeedsReinstall, calculatedBad
	}
	return "", ""
}

// isRefused reports whether OLM refused an operator before it installed anything.
func isRefused(c *v1alpha1.ClusterServiceVersion) bool {
	reason := c.Status.Reason
	return reason == v1alpha1.CSVReasonOwnerConflict || reason == v1alpha1.CSVReasonInvalidWebhookDescription
}

// failedEarly checks an operator again that OLM refused before it installed anything.
func (ns *installed) failedEarly(o csv) {
	err := checkWebhooks(o.Value)
	if err == nil {
		err = ns.ownerConflict(o)
	}
	if err == nil {
		if !ns.regenerate(o) && !ns.reinstall(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonNeedsReinstall) {
			ns.setSucceeded(o)
		}
		return
	}
	reason, message := ns.retry(o.Value, err)
	if reason == "" {
		wait(ns.run, o, "a change of the cause of its failure: "+err.Error(), Computed)
		return
	}
	if loop := phaseLoop(o.Value, v1alpha1.CSVPhasePending, reason); loop != "" {
		wait(ns.run, o, fmt.Sprintf("a change of the cause of its failure: %v; phase loop: %s", err, loop), Computed)
		return
	}
	ns.phase(o, v1alpha1.CSVPhasePending, reason, message, computed("OLM looks for the objects of a failed operator"))
}

// retry returns the reason and the message with which OLM checks an operator again that it refused with an error, since
// the objects of the operator are missing. The reason is "" if OLM does not check it.
func (ns *installed) retry(c *v1alpha1.ClusterServiceVersion, err error) (v1alpha1.ConditionReason, string) {
	if errors.Is(err, errOwnsAPIService) {
		return "", ""
	}
	if reason, message := ns.lacksGenerated(c); reason != "" {
		return reason, message
	}
	if d := ns.drift(c); d != nil && d.missing {
		return v1alpha1.CSVReasonNeedsReinstall, "installing: " + d.message
	}
	if errors.Is(err, errOwnsCRD) {
		return "", ""
	}
	return v1alpha1.CSVReasonNeedsReinstall, "webhooks not installed"
}

// phaseLoop returns the loop of phases that the next phase of a failed operator would close, "" for none.
func phaseLoop(
	c *v1alpha1.ClusterServiceVersion, next v1alpha1.ClusterServiceVersionPhase, reason v1alpha1.ConditionReason,
) string {
	var trail updates.Trail
	for _, condition := range c.Status.Conditions {
		switch condition.Phase {
		case v1alpha1.CSVPhaseFailed, v1alpha1.CSVPhasePending:
			trail.Add(fmt.Sprintf("%s/%s", condition.Phase, condition.Reason))
		default: // it was installed in between
			trail = updates.Trail{}
		}
	}
	return strings.Join(trail.Loop(fmt.Sprintf("%s/%s", next, reason)), " -> ")
}

// finishDeletion deletes an operator with a deletion timestamp and the objects it owns, unless it has other finalizers.
func (ns *installed) finishDeletion(o csv) {
	others := slices.DeleteFunc(slices.Clone(o.Value.Finalizers), func(f string) bool { return f == finalizer })
	if len(others) > 0 {
		wait(ns.run, o, "its finalizers: "+plural.Some(others), Computed)
		return
	}
	remove(ns.run, o, "its deletion is complete", computed("metadata.deletionTimestamp"))
	ns.garbageCollect(o.Value)
}
