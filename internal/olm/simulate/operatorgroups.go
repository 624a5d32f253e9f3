package simulate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/operatorgroup"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/internal/plural"
)

// A group is an OperatorGroup.
type group = cluster.Object[*operatorsv1.OperatorGroup]

// A groupController is the controller of OperatorGroups, with its state.
type groupController struct {
	*run
	seen   int                                                 // the number of Events seen so far
	index  *operatorgroup.Index                                // of the current groups
	groups map[types.NamespacedName]*operatorsv1.OperatorGroup // the groups in the index
	errors map[types.NamespacedName]error                      // about the targets of a group
	latest map[string]*operatorsv1.OperatorGroup               // by namespace, the last group whose targets changed

	// first has the APIs that a group keeps because this simulation reconciles its operators before other operators.
	first map[types.NamespacedName]operatorgroup.APIs
}

// operatorGroups finds the targets of OperatorGroups, labels these namespaces, and decides which operators are members.
// It runs before the controller of operators.
func operatorGroups(ctx context.Context, r *run) error {
	if r.groups == nil {
		r.groups = &groupController{
			run: r, seen: -1, index: operatorgroup.NewIndex(),
			groups: map[types.NamespacedName]*operatorsv1.OperatorGroup{},
			errors: map[types.NamespacedName]error{},
			latest: map[string]*operatorsv1.OperatorGroup{},
			first:  map[types.NamespacedName]operatorgroup.APIs{},
		}
	}
	g := r.groups
	changed := g.namespacesChanged()
	g.updateTargets(changed)
	if changed {
		g.label()
	}
	for _, namespace := range slices.Clone(g.State.ClusterServiceVersions.Namespaces()) {
		groups := slices.Collect(g.State.OperatorGroups.In(namespace))
		for o := range g.State.ClusterServiceVersions.In(namespace) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !o.Value.IsCopied() && o.Value.Status.Reason != v1alpha1.CSVReasonComponentFailedNoRetry {
				g.updateMember(o, groups)
			}
		}
	}
	g.pruneAPIs()
	return nil
}

// Groups is the result of a simulation with only the controller of OperatorGroups.
type Groups struct {
	*Result
	Index   *operatorgroup.Index
	Invalid map[types.NamespacedName]error // about the targets of a group, by group
}

// OperatorGroups runs only the controller of OperatorGroups until nothing changes. The state is not changed. The error
// is ctx.Err().
func OperatorGroups(ctx context.Context, state *cluster.State) (*Groups, error) {
	r := newRun(state, Options{})
	result, err := r.loop(ctx, []controller{operatorGroups})
	if err != nil {
		return nil, err
	}
	return &Groups{result, r.groups.index, r.groups.errors}, nil
}

// namespacesChanged reports whether the set of groups or a namespace has changed since the last step, except for the
// labels that the controller itself sets.
func (g *groupController) namespacesChanged() bool {
	from := g.seen
	g.seen = len(g.Events)
	if from < 0 || len(g.groups) != g.State.OperatorGroups.Len() {
		return true
	}
	return slices.ContainsFunc(g.Events[from:], func(e Event) bool {
		return e.Object.Kind == "Namespace" && e.Why != whyLabels ||
			e.Object.Kind == "ServiceAccount" && e.Change == cluster.Created
	})
}

// whyLabels is the reason why namespaces get labels. Selectors do not match these labels, because the uid of a group is
// not known in advance.
const whyLabels = "OperatorGroups label the namespaces that they name or select"

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// updateTargets updates the status of the groups and the index. Targets are kept if no namespace has changed.
func (g *groupController) updateTargets(namespacesChanged bool) {
	var byLabel labelIndex
	if namespacesChanged {
		byLabel = g.namespacesByLabel()
	}
	for _, o := range slices.Collect(g.State.OperatorGroups.All()) {
		o, key := g.setCondition(o), keyOf(o.Value)
		o, found := g.syncAccount(o)
		if !found {
			g.errors[key] = fmt.Errorf("ServiceAccount %s not found", o.Value.Spec.ServiceAccountName)
		} else if namespacesChanged {
			var targets []string
			targets, g.errors[key] = operatorgroup.Targets(o.Value, byLabel.candidates(o.Value.Spec.Selector))
			old := slices.Sorted(slices.Values(o.Value.Status.Namespaces))
			if g.errors[key] == nil && !slices.Equal(targets, old) {
				o = update(g.run, o, func(og *operatorsv1.OperatorGroup) {
					og.Status.Namespaces = targets
				}, "targets "+operatorgroup.TargetText(targets), computed(whyTargets(o.Value)))
				g.latest[key.Namespace] = o.Value
			}
		}
		if err := g.errors[key]; err != nil {
			wait(g.run, o, "targets that can be found: "+err.Error(), Computed)
		}
		g.updateIndex(o)
	}
}

// syncAccount sets the reference to the service account in the status of a group, labels the account, and reports
// whether it exists. If it does not, OLM stops reconciling the group.
func (g *groupController) syncAccount(o group) (group, bool) {
	const of = operatorsv1.OperatorGroupServiceAccountCondition
	name := o.Value.Spec.ServiceAccountName
	if name == "" && o.Value.Status.ServiceAccountRef == nil && len(o.Value.Status.Conditions) == 0 {
		return o, true
	}
	account, ok := g.State.ServiceAccounts.Get(o.Value.Namespace, name)
	if name != "" && !ok {
		message := "ServiceAccount " + name + " not found"
		return update(g.run, o, func(og *operatorsv1.OperatorGroup) {
			og.Status.Conditions, _ = withCondition(og.Status.Conditions, metav1.Condition{
				Type: of, Status: metav1.ConditionTrue, Reason: operatorsv1.OperatorGroupServiceAccountReason, Message: message,
			})
		}, "condition "+of+" is True: "+message, computed("spec.serviceAccountName names it")), false
	}
	var ref *corev1.ObjectReference
	text := "no service account"
	if name != "" {
		ref, text = accountRef(account.Value), "service account "+name
		if account.Value.Labels[operator.LabelManaged] != "true" {
			g.labelling = true
			update(g.run, account, func(a *corev1.ServiceAccount) {
				a.Labels = with(a.Labels, operator.LabelManaged, "true")
			}, "label "+operator.LabelManaged, computed("an OperatorGroup names it"))
		}
	}
	return update(g.run, o, func(og *operatorsv1.OperatorGroup) {
		meta.RemoveStatusCondition(&og.Status.Conditions, of)
		if old := og.Status.ServiceAccountRef; ref == nil || old == nil || old.Name != ref.Name || old.UID != ref.UID {
			og.Status.ServiceAccountRef = ref
		}
	}, text, computed("spec.serviceAccountName")), true
}

// A labelIndex maps labels to the namespaces that have them. The zero label maps to all namespaces.
type labelIndex map[label][]*corev1.Namespace

type label struct{ key, value string }

func (g *groupController) namespacesByLabel() labelIndex {
	all := labelIndex{}
	for o := range g.State.Namespaces.All() {
		all[label{}] = append(all[label{}], o.Value)
		for key, value := range o.Value.Labels {
			all[label{key, value}] = append(all[label{key, value}], o.Value)
		}
	}
	return all
}

// candidates yields the namespaces with the rarest label of a selector, which selects no others.
func (l labelIndex) candidates(selector *metav1.LabelSelector) iter.Seq[*corev1.Namespace] {
	fewest := l[label{}]
	if selector != nil {
		for key, value := range selector.MatchLabels {
			if some := l[label{key, value}]; len(some) < len(fewest) {
				fewest = some
			}
		}
	}
	return slices.Values(fewest)
}

// updateIndex puts a group into the index.
func (g *groupController) updateIndex(o group) {
	if key := keyOf(o.Value); g.groups[key] != o.Value {
		g.groups[key] = o.Value
		g.index.Put(o.Value)
	}
}

func whyTargets(g *operatorsv1.OperatorGroup) string {
	switch {
	case len(g.Spec.TargetNamespaces) > 0:
		return "spec.targetNamespaces names them"
	case g.Spec.Selector == nil:
		return "it has neither spec.targetNamespaces nor spec.selector"
	case len(g.Spec.Selector.MatchLabels)+len(g.Spec.Selector.MatchExpressions) == 0:
		return "spec.selector is empty"
	default:
		return "spec.selector selects them"
	}
}

// setCondition updates the condition about several groups in one namespace.
func (g *groupController) setCondition(o group) group {
	of := operatorsv1.MutlipleOperatorGroupCondition
	found := meta.FindStatusCondition(o.Value.Status.Conditions, of) != nil
	isOnly := g.State.OperatorGroups.LenIn(o.Value.Namespace) < 2
	switch {
	case !isOnly && !found:
		const message = "Multiple OperatorGroup found in the same namespace"
		return update(g.run, o, func(og *operatorsv1.OperatorGroup) {
			og.Status.Conditions = append(og.Status.Conditions, metav1.Condition{
				Type: of, Status: metav1.ConditionTrue, Reason: operatorsv1.MultipleOperatorGroupsReason, Message: message,
			})
		}, "condition "+of+" is True: "+message, computed("a namespace has one OperatorGroup"))
	case isOnly && found:
		return update(g.run, o, func(og *operatorsv1.OperatorGroup) {
			meta.RemoveStatusCondition(&og.Status.Conditions, of)
		}, "condition "+of+" is removed", computed("the namespace has one OperatorGroup"))
	}
	return o
}

// label adds the labels of groups to the namespaces that they target, and removes them from other namespaces. There are
// no labels for groups that target all namespaces, groups with a service account, and groups without a uid, which were
// not read from a cluster.
func (g *groupController) label() {
	wanted := map[string][]string{}
	for o := range g.State.OperatorGroups.All() {
		key, _, err := o.Value.OGLabelKeyAndValue()
		if err != nil || g.errors[keyOf(o.Value)] != nil {
			continue
		}
		for _, ns := range o.Value.Status.Namespaces {
			if o.Value.Spec.ServiceAccountName == "" || g.hasLabel(ns, key) {
				wanted[ns] = append(wanted[ns], key)
			}
		}
	}
	var changed []cluster.Object[*corev1.Namespace]
	for _, o := range slices.Collect(g.State.Namespaces.All()) {
		labels := maps.Clone(o.Value.Labels)
		maps.DeleteFunc(labels, func(key, _ string) bool { return operatorsv1.IsOperatorGroupLabel(key) })
		if keys := wanted[o.Value.Name]; labels == nil && len(keys) > 0 {
			labels = map[string]string{}
		}
		for _, key := range wanted[o.Value.Name] {
			labels[key] = ""
		}
		if !maps.Equal(labels, o.Value.Labels) {
			o.Value = o.Value.DeepCopy()
			o.Value.Labels = labels
			g.State.Namespaces.Put(o)
			changed = append(changed, o)
		}
	}
	if len(changed) == 0 {
		return
	}
	text := "labels of the OperatorGroups that target it"
	if n := len(changed) - 1; n > 0 {
		text += "; also of " + plural.Of(n, "other namespace")
	}
	g.event(cluster.Updated, changed[0].Value, changed[0].Pos, text, computed(whyLabels))
}

func (g *groupController) hasLabel(namespace, key string) bool {
	o, ok := g.State.Namespaces.Get("", namespace)
	if !ok {
		return false
	}
	_, ok = o.Value.Labels[key]
	return ok
}

// updateMember checks whether an operator is a member of the group of its namespace, and sets its phase to Failed if it
// is not. OLM ignores operators whose APIs it cannot read.
func (g *groupController) updateMember(o csv, groups []group) {
	apis, err := operatorgroup.Provided(o.Value)
	if err != nil {
		return
	}
	var values []*operatorsv1.OperatorGroup
	for _, og := range groups {
		values = append(values, og.Value)
	}
	if len(groups) == 1 {
		o = g.annotate(o, groups[0].Value)
	} else if latest := g.latest[o.Value.Namespace]; latest != nil {
		o = g.annotate(o, latest) // each group annotates operators when its targets change
	}
	if failure := operatorgroup.Membership(o.Value, values...); failure != nil {
		g.fail(o, failure, computed(whyNoMember[failure.Reason]))
		return
	}
	verdict := g.reconcileAPIs(o, groups[0], apis)
	if verdict.Failure != nil {
		g.fail(o, verdict.Failure, g.conflictReason(groups[0].Value, apis, verdict))
		g.removeDeployments(o.Value)
		return
	}
	message, failed := operatorgroup.Recovered(o.Value.Status.Reason)
	if failed && o.Value.Status.Phase == v1alpha1.CSVPhaseFailed {
		g.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsUnknown, message,
			computed("the cause of its failure is gone"))
	}
}

// whyNoMember are the rules about members, by the reason that OLM reports for an operator that is not a member.
var whyNoMember = map[v1alpha1.ConditionReason]string{
	v1alpha1.CSVReasonNoOperatorGroup:          "operators need an OperatorGroup in their namespace",
	v1alpha1.CSVReasonTooManyOperatorGroups:    "operators need exactly one OperatorGroup in their namespace",
	v1alpha1.CSVReasonNoTargetNamespaces:       "the OperatorGroup of the namespace targets nothing",
	v1alpha1.CSVReasonInvalidInstallModes:      "each install mode is listed once",
	v1alpha1.CSVReasonUnsupportedOperatorGroup: "the install modes of an operator must fit what its OperatorGroup targets",
}

// annotate sets the annotations of an operator about its group.
func (g *groupController) annotate(o csv, og *operatorsv1.OperatorGroup) csv {
	wanted := map[string]string{
		operatorsv1.OperatorGroupAnnotationKey:          og.Name,
		operatorsv1.OperatorGroupNamespaceAnnotationKey: og.Namespace,
	}
	if og.Status.Namespaces != nil {
		wanted[operatorsv1.OperatorGroupTargetsAnnotationKey] = og.BuildTargetNamespaces()
	}
	same := true
	for key, value := range wanted {
		found, ok := o.Value.Annotations[key]
		same = same && ok && found == value
	}
	if same {
		return o
	}
	targets := operatorgroup.TargetText(og.Status.Namespaces)
	return update(g.run, o, func(c *v1alpha1.ClusterServiceVersion) {
		for key, value := range wanted {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value)
		}
	}, fmt.Sprintf("annotations of OperatorGroup %s, which targets %s", og.Name, targets),
		computed("operators belong to the OperatorGroup of their namespace"))
}

// reconcileAPIs updates the annotation olm.providedAPIs of the group of an operator that provides these APIs until the
// verdict is stable, and returns the verdict.
func (g *groupController) reconcileAPIs(o csv, og group, apis operatorgroup.APIs) operatorgroup.Verdict {
	for {
		og, _ = g.State.OperatorGroups.Get(og.Value.Namespace, og.Value.Name)
		v := g.index.Decide(og.Value, apis)
		if v.Failure != nil {
			return v
		}
		key := keyOf(og.Value)
		switch v.Result {
		case operatorgroup.AddAPIs:
			g.first[key] = g.first[key].Union(v.Annotated.Difference(operatorgroup.Annotated(og.Value)))
			g.setProvidedAPIs(og, v.Annotated,
				"ClusterServiceVersion "+o.Value.Name+" provides them, and no other OperatorGroup does so there")
		case operatorgroup.RemoveAPIs:
			for _, rival := range v.Rivals {
				if !g.groups[rival].Spec.StaticProvidedAPIs {
					g.first[rival] = g.first[rival].Union(apis)
				}
			}
			g.setProvidedAPIs(og, v.Annotated, "another OperatorGroup provides them there, too: "+namesOf(v.Rivals))
		default:
			return v
		}
	}
}

// pruneAPIs removes the APIs from the annotation of each group that no operator of its namespace provides.
func (g *groupController) pruneAPIs() {
	for _, o := range slices.Collect(g.State.OperatorGroups.All()) {
		var operators []*v1alpha1.ClusterServiceVersion
		for c := range g.State.ClusterServiceVersions.In(o.Value.Namespace) {
			operators = append(operators, c.Value)
		}
		if apis, ok := operatorgroup.Prune(o.Value, operators); ok && !apis.Equal(operatorgroup.Annotated(o.Value)) {
			g.setProvidedAPIs(o, apis, "no operator of the namespace provides the others")
		}
	}
}

// setProvidedAPIs sets the annotation olm.providedAPIs of a group.
func (g *groupController) setProvidedAPIs(og group, apis operatorgroup.APIs, why string) {
	const key = operatorsv1.OperatorGroupProvidedAPIsAnnotationKey
	text := operatorgroup.Annotation(apis)
	og.Zeros = nil // OLM writes the whole object
	g.updateIndex(update(g.run, og, func(og *operatorsv1.OperatorGroup) {
		metav1.SetMetaDataAnnotation(&og.ObjectMeta, key, text)
	}, "annotation "+key+": "+cmp.Or(strings.ReplaceAll(text, ",", ", "), "none"), computed(why)))
}

// conflictReason names the groups that conflict with the group of an operator. The verdict is Assumed if the conflict
// depends on the order in which OLM reconciles operators.
func (g *groupController) conflictReason(
	og *operatorsv1.OperatorGroup, apis operatorgroup.APIs, v operatorgroup.Verdict,
) reason {
	if len(v.Rivals) == 0 {
		return computed("OLM does not change what a static OperatorGroup provides")
	}
	why := "OperatorGroups that provide one of its APIs in target namespaces of " + og.Name + ": " + namesOf(v.Rivals)
	for _, rival := range v.Rivals {
		if g.first[rival].HasAny(apis.UnsortedList()...) {
			g.assume(fmt.Sprintf("OLM reconciles the operators of OperatorGroup %s before the operators of %s, which provide "+
				"the same APIs; in a cluster the order may be reversed, and the former fail", rival, keyOf(og)))
			return assumed(why)
		}
	}
	return computed(why)
}

func namesOf(groups []types.NamespacedName) string {
	var names []string
	for _, name := range groups {
		names = append(names, name.String())
	}
	return plural.Some(names)
}

// fail sets the phase of an operator to Failed. The operator then waits for a change.
func (g *groupController) fail(o csv, failure *operatorgroup.Failure, why reason) {
	conflict := v1alpha1.CSVReasonInterOperatorGroupOwnerConflict
	isStatic := failure.Reason == v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs
	if !isStatic || o.Value.Status.Reason != conflict { // OLM does not change it
		o = g.phase(o, v1alpha1.CSVPhaseFailed, failure.Reason, failure.Message, why)
	}
	wait(g.run, o, "a change, since it failed: "+failure.Message, why.verdict)
}

// removeDeployments deletes the Deployments of an operator.
func (g *groupController) removeDeployments(c *v1alpha1.ClusterServiceVersion) {
	for _, d := range c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if o, ok := g.State.Deployments.Get(c.Namespace, d.Name); ok {
			remove(g.run, o, "of ClusterServiceVersion "+c.Name,
				computed("an operator does not run while other OperatorGroups provide its APIs"))
		}
	}
}
