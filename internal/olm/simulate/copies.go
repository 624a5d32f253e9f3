package simulate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/operatorgroup"
	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// copies keeps copies of the ClusterServiceVersions of operators in the namespaces that they watch, and grants the
// operators their permissions in these namespaces.
func copies(ctx context.Context, r *run) error {
	c := &copier{run: r, enabled: true, permissions: sync.OnceValue(r.authorizer)}
	c.namespaces = sync.OnceValue(func() (names []string) {
		for o := range r.State.Namespaces.All() {
			names = append(names, o.Value.Name)
		}
		return names
	})
	if config, ok := r.State.OLMConfigs.Get("", "cluster"); ok {
		c.enabled = config.Value.CopiedCSVsAreEnabled()
	}
	c.deleteOutdated()
	for _, namespace := range slices.Clone(r.State.OperatorGroups.Namespaces()) {
		group := r.groupOf(namespace)
		if group == nil {
			continue
		}
		for o := range r.State.ClusterServiceVersions.In(namespace) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !o.Value.IsCopied() && isMember(o.Value, group) {
				c.copyToTargets(o, group)
			}
		}
	}
	c.setCondition()
	return nil
}

// A copier is the controller of copies.
type copier struct {
	*run
	enabled     bool                    // copies of operators that watch all namespaces
	permissions func() *rbac.Authorizer // as in installed
	namespaces  func() []string         // the names of all namespaces

	changed bool // a copy of an operator that watches all namespaces was added or deleted
}

// maxCopies is the maximum number of ClusterServiceVersions, including copies. A copy takes a kilobyte, and 300
// operators that watch 10,000 namespaces would have three million copies.
const maxCopies = 50_000

// copyInputs determine the copies of an operator. The copies are up to date while they are equal.
type copyInputs struct {
	parent     *v1alpha1.ClusterServiceVersion
	group      *operatorsv1.OperatorGroup
	namespaces int
}

// isMember reports whether the annotations of an operator agree with its OperatorGroup.
func isMember(c *v1alpha1.ClusterServiceVersion, group *operatorsv1.OperatorGroup) bool {
	targets, ok := c.Annotations[operatorsv1.OperatorGroupTargetsAnnotationKey]
	return ok && targets == group.BuildTargetNamespaces() && len(group.Status.Namespaces) > 0 &&
		c.Annotations[operatorsv1.OperatorGroupAnnotationKey] == group.Name &&
		c.Annotations[operatorsv1.OperatorGroupNamespaceAnnotationKey] == c.Namespace
}

// copyToTargets copies an operator and its permissions to the namespaces that its group targets.
func (c *copier) copyToTargets(o csv, group *operatorsv1.OperatorGroup) {
	if slices.Equal(group.Status.Namespaces, []string{group.Namespace}) {
		return
	}
	isGlobal := slices.Contains(group.Status.Namespaces, corev1.NamespaceAll)
	if isGlobal {
		c.grantClusterWide(o.Value)
	}
	if o.Value.IsUncopiable() || isGlobal && !c.enabled {
		return
	}
	key := keyOf(o.Value)
	now := copyInputs{o.Value, group, c.State.Namespaces.Len()}
	isDone := c.copied[key] == now
	if isDone && isGlobal {
		return
	}
	targets := c.targets(group)
	if !isDone {
		c.copyTo(targets, o)
		c.copied[key] = now
	}
	if !isGlobal {
		c.grantInNamespaces(o.Value, targets)
	}
}

// targets returns the existing namespaces that a group targets, without its own namespace.
func (c *copier) targets(group *operatorsv1.OperatorGroup) []string {
	known := c.input.Namespaces.Len() > 0
	if !known {
		c.assume("the state has no Namespaces: namespaces that OperatorGroups name are assumed to exist, others are unknown")
	}
	names := slices.Sorted(slices.Values(group.Status.Namespaces))
	if slices.Contains(names, corev1.NamespaceAll) {
		names = slices.Clone(c.namespaces())
	}
	return slices.DeleteFunc(names, func(name string) bool {
		_, ok := c.State.Namespaces.Get("", name)
		return name == group.Namespace || !ok && known
	})
}

// copyTo copies an operator to namespaces, unless there would be more than maxCopies.
func (c *copier) copyTo(targets []string, o csv) {
	if c.State.ClusterServiceVersions.Len()+len(targets) > maxCopies {
		c.assume(fmt.Sprintf(
			"copies that would make ClusterServiceVersions more than %s are ignored", plural.Number(maxCopies)))
		return
	}
	prototype := copyOf(o.Value)
	var copied []string
	for _, namespace := range targets {
		if c.put(prototype, namespace) {
			copied = append(copied, namespace)
		}
	}
	if o.Value.Annotations[operatorsv1.OperatorGroupTargetsAnnotationKey] == corev1.NamespaceAll {
		c.changed = c.changed || len(copied) > 0
	}
	const why = "operators are shown in the namespaces that they watch"
	c.copiesEvent(cluster.Created, o, copied, "copied to "+plural.Some(copied), why)
}

// copyOf returns a copy of an operator, without a namespace.
func copyOf(c *v1alpha1.ClusterServiceVersion) *v1alpha1.ClusterServiceVersion {
	copied := &v1alpha1.ClusterServiceVersion{
		TypeMeta:   c.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, Annotations: maps.Clone(c.Annotations), Labels: map[string]string{}},
		Spec:       c.Spec, Status: c.Status,
	}
	delete(copied.Annotations, operatorsv1.OperatorGroupTargetsAnnotationKey)
	delete(copied.Annotations, corev1.LastAppliedConfigAnnotation)
	for k, v := range c.Labels {
		if !strings.HasPrefix(k, "operators.coreos.com/") {
			copied.Labels[k] = v
		}
	}
	copied.Labels[v1alpha1.CopiedLabelKey] = c.Namespace
	copied.Status.Reason = v1alpha1.CSVReasonCopied
	copied.Status.Message = fmt.Sprintf("The operator is running in %s but is managing this namespace", c.Namespace)
	return copied
}

// put stores a copy in a namespace, and reports whether it is new. The update of an existing copy is not an Event.
// Copies share all fields except their namespace.
func (c *copier) put(prototype *v1alpha1.ClusterServiceVersion, namespace string) bool {
	store := &c.State.ClusterServiceVersions
	found, ok := store.Get(namespace, prototype.Name)
	if ok && (!found.Value.IsCopied() || isSame(found.Value, prototype)) {
		return false
	}
	copied := *prototype
	copied.Namespace = namespace
	if ok {
		copied.UID, copied.ResourceVersion = found.Value.UID, found.Value.ResourceVersion
	}
	store.Put(csv{Value: &copied, Pos: found.Pos})
	return !ok
}

// isSame reports whether OLM would leave a copy unchanged, as far as its fields are known.
func isSame(copied, prototype *v1alpha1.ClusterServiceVersion) bool {
	if cluster.IsMetadataOnly(copied) {
		return equality.Semantic.DeepEqual(copied.Annotations, prototype.Annotations) &&
			equality.Semantic.DeepEqual(copied.Labels, prototype.Labels)
	}
	return copied.Status.Phase == prototype.Status.Phase &&
		copied.Status.Message == prototype.Status.Message &&
		equality.Semantic.DeepEqual(copied.Annotations, prototype.Annotations) &&
		equality.Semantic.DeepEqual(copied.Labels, prototype.Labels) &&
		equality.Semantic.DeepEqual(copied.Status, prototype.Status) &&
		equality.Semantic.DeepEqual(copied.Spec, prototype.Spec)
}

// deleteOutdated deletes the copies that have a deletionReason.
func (c *copier) deleteOutdated() {
	gone := map[[2]string][]csv{} // by name and reason
	for o := range c.State.ClusterServiceVersions.All() {
		if !o.Value.IsCopied() {
			continue
		}
		reason := c.deletionReason(o.Value)
		if reason == "" {
			continue
		}
		key := [2]string{o.Value.Name, reason}
		gone[key] = append(gone[key], o)
		c.changed = c.changed || reason == disabled
		c.State.ClusterServiceVersions.Delete(o.Value.Namespace, o.Value.Name)
		c.garbageCollect(o.Value)
	}
	byName := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, key := range slices.SortedFunc(maps.Keys(gone), byName) {
		var namespaces []string
		for _, o := range gone[key] {
			namespaces = append(namespaces, o.Value.Namespace)
		}
		c.copiesEvent(cluster.Deleted, gone[key][0], namespaces, "copies in "+plural.Some(namespaces), key[1])
	}
}

// disabled is the reason to delete a copy if an OLMConfig disables copies.
const disabled = "OLMConfig disables copies of operators that watch all namespaces"

// deletionReason returns the reason to delete a copy, "" to keep it.
func (c *copier) deletionReason(copied *v1alpha1.ClusterServiceVersion) string {
	from, ok := copied.Annotations[operatorsv1.OperatorGroupNamespaceAnnotationKey]
	if !ok {
		return "the copy has no annotation " + operatorsv1.OperatorGroupNamespaceAnnotationKey
	}
	parent, ok := c.State.ClusterServiceVersions.Get(from, copied.Name)
	if !ok {
		return "the operator is gone"
	}
	status := parent.Value.Status
	if status.Phase == v1alpha1.CSVPhaseFailed && status.Reason == v1alpha1.CSVReasonInterOperatorGroupOwnerConflict {
		return "the operator failed, as another group provides its APIs"
	}
	targets, ok := parent.Value.Annotations[operatorsv1.OperatorGroupTargetsAnnotationKey]
	switch {
	case ok && targets == corev1.NamespaceAll && !c.enabled:
		return disabled
	case ok && targets != corev1.NamespaceAll && !slices.Contains(strings.Split(targets, ","), copied.Namespace):
		return "the operator does not watch the namespace"
	}
	return ""
}

// copiesEvent adds one Event for the copies of an operator in several namespaces.
func (c *copier) copiesEvent(change cluster.Change, of csv, namespaces []string, text, why string) {
	if len(namespaces) == 0 {
		return
	}
	first := &metav1.PartialObjectMetadata{TypeMeta: of.Value.TypeMeta}
	first.Name, first.Namespace = of.Value.Name, namespaces[0]
	c.event(change, first, declcfg.Pos{}, text, computed(why))
}

// setCondition sets the condition of the OLMConfig about copies.
func (c *copier) setCondition() {
	o, ok := c.State.OLMConfigs.Get("", "cluster")
	if !ok {
		return
	}
	condition := metav1.Condition{Type: operatorsv1.DisabledCopiedCSVsConditionType, Status: metav1.ConditionFalse}
	switch {
	case c.enabled && (c.changed || c.missesCopies(o.Value)):
		condition.Reason = "CopiedCSVsEnabled"
		condition.Message = copiesMissing
	case c.enabled:
		condition.Reason = "CopiedCSVsEnabled"
		condition.Message = "Copied CSVs are enabled and present across the cluster"
	case c.changed:
		condition.Reason = "CopiedCSVsDisabled"
		condition.Message = "Copied CSVs are disabled and at least one unexpected copied CSV was found for an operator " +
			"installed in AllNamespace mode"
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, "CopiedCSVsDisabled"
		condition.Message = "Copied CSVs are disabled and no unexpected copied CSVs were found for operators installed in " +
			"AllNamespace mode"
	}
	text := fmt.Sprintf("condition %s is %s: %s", condition.Type, condition.Status, condition.Message)
	update(c.run, o, func(config *operatorsv1.OLMConfig) {
		config.Status.Conditions, _ = withCondition(config.Status.Conditions, condition)
	}, text, computed("spec.features.disableCopiedCSVs"))
}

const copiesMissing = "Copied CSVs are enabled and at least one copied CSVs is missing"

// missesCopies reports whether OLM expects copies of an operator that it never copies, such as one that failed because
// of its OperatorGroup. OLM counts the copies of all operators of global groups (operator.go:1717), but not before an
// operator is copied.
func (c *copier) missesCopies(config *operatorsv1.OLMConfig) bool {
	known := meta.FindStatusCondition(config.Status.Conditions, operatorsv1.DisabledCopiedCSVsConditionType)
	isCounted := len(c.copied) > 0 || known != nil && known.Message == copiesMissing
	if !isCounted || len(c.namespaces()) < 2 {
		return false
	}
	for group := range c.State.OperatorGroups.All() {
		if !slices.Contains(group.Value.Status.Namespaces, corev1.NamespaceAll) {
			continue
		}
		for o := range c.State.ClusterServiceVersions.In(group.Value.Namespace) {
			if !o.Value.IsCopied() && o.Value.IsUncopiable() {
				return true
			}
		}
	}
	return false
}

// groupRoles creates and updates the ClusterRoles of OperatorGroups. They aggregate the ClusterRoles of the APIs that
// the operators of the group provide.
func groupRoles(_ context.Context, r *run) error {
	why := computed("each OperatorGroup has roles for the users of its APIs")
	for o := range r.State.OperatorGroups.All() {
		if meta.IsStatusConditionTrue(o.Value.Status.Conditions, operatorsv1.OperatorGroupServiceAccountCondition) {
			continue // OLM does nothing with a group whose service account is missing
		}
		apis := operatorgroup.Annotated(o.Value)
		for c := range r.State.ClusterServiceVersions.In(o.Value.Namespace) {
			if c.Value.IsCopied() {
				continue
			}
			if provided, err := operatorgroup.Provided(c.Value); err == nil {
				apis = apis.Union(provided)
			}
		}
		roles := rbac.ForGroup(o.Value, apis.UnsortedList())
		create(r, "for OperatorGroup "+o.Value.Namespace+"/"+o.Value.Name, why, roles...)
		// Update the aggregation rules of the ClusterRoles of a group, with one Event for all of them.
		hasEvent := false
		for _, role := range roles {
			found, _ := r.State.ClusterRoles.Get("", role.Name)
			if equality.Semantic.DeepEqual(found.Value.AggregationRule, role.AggregationRule) {
				continue
			}
			clone := found.Value.DeepCopy()
			clone.AggregationRule = role.AggregationRule
			r.State.ClusterRoles.Put(cluster.Object[*rbacv1.ClusterRole]{Value: clone, Pos: found.Pos})
			if !hasEvent {
				r.event(cluster.Updated, clone, found.Pos, "aggregates the APIs that the group provides now; so do its other roles",
					computed("the APIs of the group changed"))
			}
			hasEvent = true
		}
	}
	return nil
}

// grantClusterWide grants the permissions that an operator has in its own namespace in the whole cluster, because it
// watches all namespaces.
func (c *copier) grantClusterWide(o *v1alpha1.ClusterServiceVersion) {
	text, why := "lifted from the Roles of the operator", computed("it watches all namespaces")
	owned := c.ownedRoles(o)
	if len(owned.Roles) == 0 || c.hasPermissions(o, metav1.NamespaceAll) {
		return
	}
	lifted := owned.Lift()
	create(c.run, text, why, lifted.ClusterRoles...)
	create(c.run, text, why, lifted.ClusterRoleBindings...)
}

// grantInNamespaces grants the permissions that an operator has in its own namespace in other namespaces, too.
func (c *copier) grantInNamespaces(o *v1alpha1.ClusterServiceVersion, namespaces []string) {
	text, why := "copied from the Roles of the operator", computed("it watches the namespace")
	owned := c.ownedRoles(o)
	for _, namespace := range namespaces {
		copied, ok := c.State.ClusterServiceVersions.Get(namespace, o.Name)
		if !ok || c.hasPermissions(o, namespace) {
			continue
		}
		there := owned.CopyTo(copied.Value)
		create(c.run, text, why, there.Roles...)
		create(c.run, text, why, there.RoleBindings...)
	}
}

// hasPermissions reports whether an operator already has the permissions of its own namespace in another namespace or,
// if the namespace is "", in the whole cluster.
func (c *copier) hasPermissions(o *v1alpha1.ClusterServiceVersion, namespace string) bool {
	strategy, err := operator.Strategy(o)
	if err != nil {
		return true
	}
	for _, p := range strategy.Permissions {
		account := types.NamespacedName{Namespace: o.Namespace, Name: p.ServiceAccountName}
		rules := c.permissions().Rules(account, namespace)
		for _, rule := range p.Rules {
			if ok, err := rbac.Covers(rules, rule); !ok || err != nil {
				return false
			}
		}
	}
	return true
}

// ownedRoles returns the Roles and bindings of an operator in its own namespace.
func (c *copier) ownedRoles(o *v1alpha1.ClusterServiceVersion) *rbac.Account {
	a := &rbac.Account{}
	for role := range c.State.Roles.In(o.Namespace) {
		if operator.IsOwned(role.Value, o) {
			a.Roles = append(a.Roles, role.Value)
		}
	}
	for binding := range c.State.RoleBindings.In(o.Namespace) {
		if operator.IsOwned(binding.Value, o) {
			a.RoleBindings = append(a.RoleBindings, binding.Value)
		}
	}
	return a
}

// contentLabels labels the Roles and RoleBindings of OLM with the hash of their content. OLM does so if, when it
// starts, it finds an object without its labels: the service account of an OperatorGroup.
func contentLabels(_ context.Context, r *run) error {
	if r.labelling {
		labelContents(r, &r.State.Roles)
		labelContents(r, &r.State.RoleBindings)
	}
	return nil
}

// labelContents labels the objects that an object of OLM owns.
func labelContents[P cluster.Kubernetes](r *run, s *cluster.Store[P]) {
	for o := range s.All() {
		if slices.ContainsFunc(o.Value.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
			gv, err := schema.ParseGroupVersion(owner.APIVersion)
			return err == nil && gv.Group == operatorsv1.GroupVersion.Group
		}) {
			update(r, o, func(o P) { rbac.LabelContent(o) }, "label with the hash of its content",
				computed("OLM labels its objects once it has labelled the service account of an OperatorGroup"))
		}
	}
}
