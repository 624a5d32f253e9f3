package simulate

import (
	"context"
	"fmt"
	"slices"
	"sync"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/operatorgroup"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// A csv is a ClusterServiceVersion that is not a copy.
type csv = cluster.Object[*v1alpha1.ClusterServiceVersion]

// operators takes ClusterServiceVersions that are members of an OperatorGroup through their phases.
func operators(ctx context.Context, r *run) error {
	permissions := sync.OnceValue(r.authorizer)
	for _, namespace := range slices.Clone(r.State.ClusterServiceVersions.Namespaces()) {
		ns := r.installedIn(namespace)
		ns.permissions = permissions
		for _, o := range ns.all {
			if err := ctx.Err(); err != nil {
				return err
			}
			ns.transition(o)
		}
	}
	return nil
}

// installedIn returns the operators of a namespace. Those that are replaced come before what replaces them.
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
		ns.sort()
	}
	return ns
}

// groupOf returns the OperatorGroup of a namespace, nil if there is not exactly one.
func (r *run) groupOf(namespace string) *operatorsv1.OperatorGroup {
	var group *operatorsv1.OperatorGroup
	for o := range r.State.OperatorGroups.In(namespace) {
		if group != nil {
			return nil
		}
		group = o.Value
	}
	return group
}

// installed are the operators of a namespace, by name, as they were when the controller came to it.
type installed struct {
	*run
	namespace string
	group     *operatorsv1.OperatorGroup
	all       []csv

	replacements map[string][]string     // the names of operators, by that of the one they replace
	permissions  func() *rbac.Authorizer // of all service accounts of the cluster, when the controller started
}

// authorizer returns what the service accounts of the cluster may do, apart from what OLM grants to each operator: a
// state that has only that says nothing about the permissions of an operator.
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

// transition does what OLM does with a ClusterServiceVersion each time it looks at it.
func (ns *installed) transition(o csv) {
	if o.Value.DeletionTimestamp != nil {
		ns.finishDeletion(o)
		return
	}
	status := &o.Value.Status
	switch _, outside := operatorgroup.Recovered(status.Reason); {
	case status.Phase == v1alpha1.CSVPhaseFailed && outside, status.Reason == v1alpha1.CSVReasonInvalidInstallModes:
		return // the controller of OperatorGroups looks after it
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
		ns.check(o)
	case v1alpha1.CSVPhaseSucceeded:
		ns.succeeded(o)
	case v1alpha1.CSVPhaseFailed:
		ns.failed(o)
	case v1alpha1.CSVPhaseReplacing:
		ns.replacing(o)
	case v1alpha1.CSVPhaseDeleting:
		ns.deleteOperator(o)
	default:
		wait(ns.run, o, fmt.Sprintf("another phase than %s, in which OLM does nothing", status.Phase), Computed)
	}
}

// phase sets the phase of an operator. The times of its status are empty: a simulation knows none.
func (r *run) phase(
	o csv, phase v1alpha1.ClusterServiceVersionPhase, reason v1alpha1.ConditionReason, message string, why reason,
) csv {
	if phase == v1alpha1.CSVPhaseReplacing && o.Value.Status.Phase != phase {
		r.replaced++
	}
	return r.phaseAnd(o, phase, reason, message, why, nil)
}

// finalizer keeps a deleted ClusterServiceVersion until OLM has deleted the objects that it made for the operator.
const finalizer = "operators.coreos.com/csv-cleanup"

// phaseAnd sets the phase as well as the rows about requirements, which stay if rows is nil, or if nothing else in the
// status changes.
func (r *run) phaseAnd(
	o csv, phase v1alpha1.ClusterServiceVersionPhase, reason v1alpha1.ConditionReason, message string, why reason,
	rows []v1alpha1.RequirementStatus,
) csv {
	text := fmt.Sprintf("phase %s, reason %s: %s", phase, reason, message)
	return update(r, &r.State.ClusterServiceVersions, o, func(c *v1alpha1.ClusterServiceVersion) {
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

// pending checks what an operator requires before it is installed.
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
		o = ns.phaseAnd(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsNotMet,
			"one or more requirements couldn't be found", computed("requirements are checked first"), found.rows)
		wait(ns.run, o, found.missing(), Computed)
		return
	}
	if err := checkWebhooks(o.Value); err != nil {
		ns.phaseAnd(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonInvalidWebhookDescription, err.Error(),
			computed("webhooks need rules that OLM allows, and names of their own"), found.rows)
		return
	}
	if err := ns.ownerConflict(o); err != nil {
		ns.phaseAnd(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonOwnerConflict, err.Error(),
			computed("an API has one owner in a namespace, and its replacements"), found.rows)
		return
	}
	if previous != nil && previous.Value.Status.Phase != v1alpha1.CSVPhaseReplacing {
		wait(ns.run, o, fmt.Sprintf("ClusterServiceVersion %s to be replaced, which is in phase %s",
			previous.Value.Name, orNone(string(previous.Value.Status.Phase))), Computed)
		return
	}
	ns.phaseAnd(o, v1alpha1.CSVPhaseInstallReady, v1alpha1.CSVReasonRequirementsMet,
		"all requirements found, attempting install", found.reason("its requirements are met"), found.rows)
}

func (ns *installed) invalidStrategy(o csv, err error) {
	ns.phase(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonInvalidStrategy,
		fmt.Sprintf("install strategy invalid: %v", err), computed("OLM installs deployments only"))
}

// succeeded checks whether an operator is replaced, or lost what it requires.
func (ns *installed) succeeded(o csv) {
	if next := ns.replacementOf(o); next != nil {
		ns.phase(o, v1alpha1.CSVPhaseReplacing, v1alpha1.CSVReasonBeingReplaced,
			"being replaced by csv: "+next.Value.Name, computed("another ClusterServiceVersion replaces it"))
		return
	}
	found, err := ns.requirements(o.Value)
	switch {
	case err != nil:
		ns.invalidStrategy(o, err)
		return
	case !found.met:
		ns.phaseAnd(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonRequirementsNotMet, "requirements no longer met",
			computed("requirements are checked again while it runs"), found.rows)
		return
	}
	if ns.broken(o) {
		ns.phase(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonComponentUnhealthy,
			"installing: waiting for deployment to become ready", assumed("the operator is not ready any more"))
		return
	}
	if ns.reinstall(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonComponentUnhealthy) {
		return
	}
	ns.openAPIs(o)
}

// failed leaves the phase Failed where OLM does.
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
		ns.phaseAnd(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsNotMet, "requirements not met",
			computed("OLM checks a failed operator again"), found.rows)
	case ns.conversionError(o.Value) != nil:
		ns.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonNeedsReinstall, "calculated deployment install is bad",
			computed("OLM installs a failed operator again"))
	case !ns.mayReinstall(o):
	case ns.broken(o):
		wait(ns.run, o, "the operator to become ready: "+o.Value.Status.Message, Assumed)
	case o.Value.Status.Reason == v1alpha1.CSVReasonOwnerConflict,
		o.Value.Status.Reason == v1alpha1.CSVReasonInvalidWebhookDescription:
		ns.retry(o)
	case ns.reinstall(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonNeedsReinstall):
	case slices.Contains(unhealthy, o.Value.Status.Reason):
		wait(ns.run, o, "the operator to become healthy: "+o.Value.Status.Message, NotEvaluable)
	default:
		ns.ready(o)
	}
}

// retry says what a failed operator waits for whose deployments were never created. OLM keeps trying: it finds them
// missing, installs the operator again, and fails as before.
func (ns *installed) retry(o csv) {
	err := checkWebhooks(o.Value)
	if err == nil {
		err = ns.ownerConflict(o)
	}
	if err != nil {
		wait(ns.run, o, "a change of what it fails for: "+err.Error(), Computed)
		return
	}
	if !ns.reinstall(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonNeedsReinstall) {
		ns.ready(o)
	}
}

func (ns *installed) failForward() bool {
	return ns.group != nil && ns.group.UpgradeStrategy() == operatorsv1.UpgradeStrategyUnsafeFailForward
}

// openAPIs creates the ClusterRoles for the users of the APIs of an operator that runs.
func (ns *installed) openAPIs(o csv) {
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
	ensureAll(ns.run, &ns.State.ClusterRoles, roles, "for the users of its APIs",
		"who is admin, edit or view in a namespace may use the APIs there")
}
