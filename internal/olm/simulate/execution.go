package simulate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An execution executes the steps of an InstallPlan.
type execution struct {
	account
	plan    *v1alpha1.InstallPlan
	objects map[string][]cluster.Kubernetes // the objects of each bundle, by the bundle's name
}

// steps executes the remaining steps until one fails.
func (x *execution) steps() error {
	for _, step := range x.plan.Status.Plan {
		switch {
		case step.Status == v1alpha1.StepStatusPresent, step.Status == v1alpha1.StepStatusCreated:
			continue
		case !slices.Contains(stepStatuses, step.Status):
			return v1alpha1.ErrInvalidInstallPlan
		}
		status, err := x.step(step)
		step.Status = status
		if err != nil {
			return err
		}
	}
	return nil
}

// stepStatuses are the statuses that OLM can handle.
var stepStatuses = []v1alpha1.StepStatus{
	v1alpha1.StepStatusPresent, v1alpha1.StepStatusCreated, v1alpha1.StepStatusUnknown, v1alpha1.StepStatusNotPresent,
	v1alpha1.StepStatusWaitingForAPI,
}

// step executes one step and returns its new status.
func (x *execution) step(step *v1alpha1.Step) (v1alpha1.StepStatus, error) {
	inNamespace, supported := installable(step.Resource.Kind)
	switch {
	case step.Resource.Kind == v1alpha1.SubscriptionKind:
		return x.createSubscription(step)
	case !supported:
		return v1alpha1.StepStatusUnsupportedResource, v1alpha1.ErrInvalidInstallPlan
	}
	b, err := x.bundle(step.Resource.CatalogSourceNamespace, step.Resource.CatalogSource, step.Resolving)
	if err != nil {
		return step.Status, err
	}
	o, err := x.object(b, step)
	if err != nil {
		return step.Status, err
	}
	if crd, ok := o.(*apiextensionsv1.CustomResourceDefinition); ok {
		return x.createDefinition(step, crd, b) // created by OLM itself, not as a service account
	}
	text, typed := whileCreating[step.Resource.Kind]
	if !typed {
		text = "error creating unstructured object %s"
		if err := x.checkServed(o); err != nil {
			return step.Status, err
		}
	}
	namespace := ""
	if inNamespace {
		namespace = x.plan.Namespace
	}
	if err := x.checkPermission(o, namespace); err != nil {
		return step.Status, fmt.Errorf(text+": %w", step.Resource.Name, err)
	}
	if csv, ok := o.(*v1alpha1.ClusterServiceVersion); ok {
		return x.createOperator(step, csv, b)
	}
	return x.createOther(step, o, inNamespace, text)
}

// whileCreating has the formats of OLM's errors about creating objects, by kind. Other kinds have a common format.
var whileCreating = map[string]string{
	v1alpha1.ClusterServiceVersionKind: "error creating csv %s",
	v1alpha1.SubscriptionKind:          "error creating subscription %s",
	rbacv1.ServiceAccountKind:          "error creating service account: %s",
	"ClusterRole":                      "error creating clusterrole %s",
	"ClusterRoleBinding":               "error creating clusterrolebinding %s",
	"Role":                             "error creating role %s",
	"RoleBinding":                      "error creating rolebinding %s",
	"Service":                          "error updating service: %s",
	"ConfigMap":                        "error updating configmap: %s",
	kindBundleSecret:                   "error updating secret: %s",
}

// checkServed returns an error if the cluster does not serve the kind of an object.
func (x *execution) checkServed(o cluster.Kubernetes) error {
	gvk := o.GetObjectKind().GroupVersionKind()
	if x.serving(gvk) != notServed {
		return nil
	}
	return &notServedError{gvk, o.GetName()}
}

// A notServedError is OLM's error about an object whose kind the cluster does not serve.
type notServedError struct {
	gvk  schema.GroupVersionKind
	name string
}

func (e *notServedError) Error() string {
	return fmt.Sprintf("api-server resource not found installing %s %s: GroupVersionKind %s ", e.gvk.Kind, e.name, e.gvk) +
		"not found on the cluster. This API may have been deprecated and removed, see " +
		"https://kubernetes.io/docs/reference/using-api/deprecation-guide/ for more information."
}

// isDefinitionNotServed reports whether an error is about the version of a CustomResourceDefinition.
func isDefinitionNotServed(err error) bool {
	e, ok := errors.AsType[*notServedError](err)
	return ok && e.gvk.Kind == declcfg.KindCRD
}

// installable reports whether a step may create objects of a kind, and whether they are in the namespace of the
// InstallPlan.
func installable(kind string) (inNamespace, ok bool) {
	if kind == kindBundleSecret {
		kind = "Secret"
	}
	return bundle.InstallableByClassic(kind)
}

// object returns the object of a step.
func (x *execution) object(b *contents, step *v1alpha1.Step) (cluster.Kubernetes, error) {
	if x.objects[step.Resolving] == nil {
		all, err := b.objects(x.plan.Namespace)
		if err != nil {
			return nil, err
		}
		x.objects[step.Resolving] = all
	}
	for _, o := range x.objects[step.Resolving] {
		if stepKind(o).Kind == step.Resource.Kind && o.GetName() == step.Resource.Name {
			return o, nil
		}
	}
	return nil, fmt.Errorf("bundle %s has no %s %s", step.Resolving, step.Resource.Kind, step.Resource.Name)
}

// createSubscription creates a Subscription for a dependency.
func (x *execution) createSubscription(step *v1alpha1.Step) (v1alpha1.StepStatus, error) {
	s := new(v1alpha1.Subscription)
	if err := json.Unmarshal([]byte(step.Resource.Manifest), s); err != nil {
		return step.Status, fmt.Errorf("error parsing step manifest: %s: %w", step.Resource.Name, err)
	}
	s.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.SubscriptionKind)) // the manifest has no type
	if _, ok := x.State.Subscriptions.Get(x.plan.Namespace, s.Name); ok {
		return v1alpha1.StepStatusPresent, nil
	}
	if err := x.checkPermission(s, x.plan.Namespace); err != nil {
		return step.Status, fmt.Errorf(whileCreating[v1alpha1.SubscriptionKind]+": %w", s.Name, err)
	}
	s.Namespace = x.plan.Namespace
	s.Annotations = with(s.Annotations, install.AnnotationGeneratedBy, x.plan.Name)
	s.Labels = with(s.Labels, operator.LabelManaged, "true")
	create(x.run, fmt.Sprintf("startingCSV %s", s.Spec.StartingCSV),
		computed("OLM subscribes to the dependencies that it installs"), s)
	return v1alpha1.StepStatusCreated, nil
}

// with returns a copy of a map with an added entry.
func with(m map[string]string, key, value string) map[string]string {
	return labels.Merge(m, labels.Set{key: value})
}

// createOperator creates a ClusterServiceVersion, unless one of the same name exists.
func (x *execution) createOperator(
	step *v1alpha1.Step, csv *v1alpha1.ClusterServiceVersion, b *contents,
) (v1alpha1.StepStatus, error) {
	if _, ok := x.State.ClusterServiceVersions.Get(x.plan.Namespace, csv.Name); ok {
		return v1alpha1.StepStatusPresent, nil
	}
	if !slices.Contains(x.plan.Spec.ClusterServiceVersionNames, csv.Name) && x.competes(csv) {
		return step.Status, fmt.Errorf("pre-existing CRD owners found for owned CRD(s) of dependent CSV %s", csv.Name)
	}
	replaces, err := replacedBy(step)
	if err != nil {
		return step.Status, err
	}
	created := planned(csv, replaces, b)
	if err := x.refusal(created); err != nil {
		return step.Status, fmt.Errorf(whileCreating[v1alpha1.ClusterServiceVersionKind]+": %w", csv.Name, err)
	}
	created.Labels = with(csv.Labels, operator.LabelManaged, "true")
	created.Finalizers = []string{finalizer}
	setDefaults(created)
	text := "a new operator"
	if created.Spec.Replaces != "" {
		text = "spec.replaces " + created.Spec.Replaces
	}
	why := computed("InstallPlan " + x.plan.Name + " has it")
	if b.Partial {
		why = why.partial()
		text += ", deployments and permissions unknown"
	}
	create(x.run, text, why, created)
	return v1alpha1.StepStatusCreated, nil
}

// setDefaults sets the fields of Deployments that the API server fills in, according to the schema of
// ClusterServiceVersions. OLM hashes the Deployments with these fields.
func setDefaults(csv *v1alpha1.ClusterServiceVersion) {
	strategy := csv.Spec.InstallStrategy.StrategySpec.DeepCopy()
	for i := range strategy.DeploymentSpecs {
		pod := &strategy.DeploymentSpecs[i].Spec.Template.Spec
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) { // copies share the ports and probes
			for j := range c.Ports {
				keep(&c.Ports[j].Protocol, corev1.ProtocolTCP)
			}
			for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
				if probe != nil && probe.GRPC != nil {
					keep(&probe.GRPC.Service, new(""))
				}
			}
		}
	}
	csv.Spec.InstallStrategy.StrategySpec = *strategy
}

// replacedBy returns the name of the ClusterServiceVersion that is replaced by the one in a step. It is in the manifest
// of the step, or in the reference to the ConfigMap with the manifest.
func replacedBy(step *v1alpha1.Step) (string, error) {
	var manifest struct {
		configMapReference
		Spec struct {
			Replaces string `json:"replaces"`
		} `json:"spec"`
	}
	if err := json.Unmarshal([]byte(step.Resource.Manifest), &manifest); err != nil {
		return "", fmt.Errorf("error parsing step manifest: %s: %w", step.Resource.Name, err)
	}
	return cmp.Or(manifest.Replaces, manifest.Spec.Replaces), nil
}

// competes reports whether another operator of the namespace owns a CustomResourceDefinition of this one.
func (x *execution) competes(csv *v1alpha1.ClusterServiceVersion) bool {
	owns := map[string]bool{}
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		owns[d.Name] = true
	}
	for o := range x.State.ClusterServiceVersions.In(csv.Namespace) {
		owned := o.Value.Spec.CustomResourceDefinitions.Owned
		if slices.ContainsFunc(owned, func(d v1alpha1.CRDDescription) bool { return owns[d.Name] }) {
			return true
		}
	}
	return false
}

// completed returns an object as the API server stores it: the strings of a Secret are encoded, the types of a
// NetworkPolicy and the target ports of a Service are set, and an object of Kubernetes itself has no field that its Go
// type omits, such as globalDefault if it is false. Custom resources keep these fields.
func completed(o cluster.Kubernetes) cluster.Kubernetes {
	switch o.GetObjectKind().GroupVersionKind() {
	case corev1.SchemeGroupVersion.WithKind("Secret"):
		var secret corev1.Secret
		if cluster.As(o, &secret) != nil || len(secret.StringData) == 0 {
			return o
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(value)
		}
		secret.StringData = nil
		return untyped(&secret)
	case networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"):
		var policy networkingv1.NetworkPolicy
		if cluster.As(o, &policy) != nil || len(policy.Spec.PolicyTypes) > 0 {
			return o
		}
		policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(policy.Spec.Egress) > 0 {
			policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
		return untyped(&policy)
	case corev1.SchemeGroupVersion.WithKind("Service"):
		var service corev1.Service
		if cluster.As(o, &service) != nil {
			return o
		}
		for i := range service.Spec.Ports {
			p := &service.Spec.Ports[i]
			p.TargetPort = cmp.Or(p.TargetPort, intstr.FromInt32(p.Port))
		}
		return untyped(&service)
	}
	if object, err := typed(o); err == nil && object != o {
		return untyped(object)
	}
	return o
}

// setOwner sets the owner of an object. Roles, bindings and service accounts that are manifests of a bundle get no
// owner, and ClusterRoles only one label, so they remain when the operator is deleted.
func (x *execution) setOwner(o cluster.Kubernetes, csv *v1alpha1.ClusterServiceVersion, inNamespace bool) {
	o.SetLabels(with(o.GetLabels(), operator.LabelManaged, "true"))
	switch o.(type) {
	case *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding:
		o.SetLabels(with(o.GetLabels(), operator.LabelOwner, csv.Name))
		return
	case *rbacv1.Role, *rbacv1.RoleBinding, *corev1.ServiceAccount:
		if len(o.GetOwnerReferences()) == 0 {
			return
		}
	}
	if !inNamespace {
		o.SetLabels(labels.Merge(o.GetLabels(), operator.OwnerLabels(csv)))
		return
	}
	owners := operator.OwnedBy(csv)
	old, ok := x.State.ServiceAccounts.Get(x.plan.Namespace, o.GetName())
	if _, isAccount := o.(*corev1.ServiceAccount); ok && isAccount { // during an update, both operators use and own it
		own := owners[0]
		owners = replaced(slices.Clone(old.Value.OwnerReferences), own, func(ref metav1.OwnerReference) bool {
			return ref.Kind == own.Kind && ref.Name == own.Name
		})
	}
	o.SetOwnerReferences(owners)
}

// createOther creates an object of any other kind, or replaces the existing object of the same name. The text is the
// format of OLM's error about creating it.
func (x *execution) createOther(
	step *v1alpha1.Step, o cluster.Kubernetes, inNamespace bool, text string,
) (v1alpha1.StepStatus, error) {
	o = o.DeepCopyObject().(cluster.Kubernetes)
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.Name, csv.Namespace = step.Resolving, x.plan.Namespace
	if found, ok := x.State.ClusterServiceVersions.Get(csv.Namespace, csv.Name); ok {
		csv.UID = found.Value.UID
	}
	if inNamespace {
		o.SetNamespace(x.plan.Namespace)
	}
	x.setOwner(o, csv, inNamespace)
	o = completed(o)
	if err := x.refusal(o); err != nil {
		if _, ok := x.State.Get(cluster.KindOf(o), o.GetNamespace(), o.GetName()); ok {
			text = strings.Replace(text, "creating", "updating", 1)
		}
		return step.Status, fmt.Errorf(text+": %w", step.Resource.Name, err)
	}
	if x.put(o, "of "+step.Resolving, computed("InstallPlan "+x.plan.Name+" has it")) {
		return v1alpha1.StepStatusCreated, nil
	}
	return v1alpha1.StepStatusPresent, nil
}

// An account is the service account of an OperatorGroup, with whose permissions OLM creates objects.
type account struct {
	*run
	ref         *corev1.ObjectReference // nil for OLM itself, which has all permissions
	permissions func() *rbac.Authorizer // of all service accounts in the cluster, at the start of the controller
}

// checkPermission returns the API server's error if the account may not create an object. The namespace is "" for
// objects without one. OLM applies some objects, which needs two verbs.
func (a *account) checkPermission(o cluster.Kubernetes, namespace string, verbs ...string) error {
	ref := a.ref
	if ref == nil {
		return nil
	}
	if !a.knows(kindAllBindings) && !a.knows(kindBindings) {
		a.assume(fmt.Sprintf("service account %s/%s may create the objects of InstallPlans and operators",
			ref.Namespace, ref.Name))
		return nil
	}
	plural, _ := meta.UnsafeGuessKindToResource(o.GetObjectKind().GroupVersionKind())
	resource := plural.GroupResource()
	allowed := a.permissions().Rules(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, namespace)
	for _, verb := range append(verbs, "create") {
		if may(allowed, verb, resource) {
			continue
		}
		name := ""
		if verb != "create" {
			name = o.GetName()
		}
		return apierrors.NewForbidden(resource, name, fmt.Errorf(
			"%s %q cannot %s resource %q in API group %q %s",
			rbacv1.UserKind, a.user(), verb, resource.Resource, resource.Group, scope(namespace)))
	}
	return a.grant(o, resource, allowed)
}

// user returns the name of the account's user.
func (a *account) user() string { return "system:serviceaccount:" + a.ref.Namespace + ":" + a.ref.Name }

// applying is the verb that applying an object needs besides create.
const applying = "patch"

// may reports whether rules allow a verb for a resource, or for the objects of some names.
func may(allowed []rbacv1.PolicyRule, verb string, of schema.GroupResource, names ...string) bool {
	ok, _ := rbac.Covers(allowed, rbacv1.PolicyRule{
		Verbs: []string{verb}, APIGroups: []string{of.Group}, Resources: []string{of.Resource}, ResourceNames: names,
	})
	return ok
}

func scope(namespace string) string {
	if namespace == "" {
		return "at the cluster scope"
	}
	return fmt.Sprintf("in the namespace %q", namespace)
}

// grant returns the API server's error about a role with rules, or a binding to a role with rules, that the account
// does not have (pkg/registry/rbac/validation/rule.go of Kubernetes).
func (a *account) grant(o cluster.Kubernetes, resource schema.GroupResource, allowed []rbacv1.PolicyRule) error {
	var rules []rbacv1.PolicyRule
	mayAny := false
	switch o := o.(type) {
	case *rbacv1.Role:
		rules, mayAny = o.Rules, may(allowed, "escalate", resource, o.Name)
	case *rbacv1.ClusterRole:
		rules, mayAny = o.Rules, may(allowed, "escalate", resource, o.Name)
	case *rbacv1.RoleBinding:
		rules, mayAny = a.bound(o.RoleRef, o.Namespace, allowed)
	case *rbacv1.ClusterRoleBinding:
		rules, mayAny = a.bound(o.RoleRef, "", allowed)
	}
	if mayAny {
		return nil
	}
	for _, rule := range rules {
		if _, err := rbac.Covers(allowed, rule); err != nil {
			a.assume("rules with too many combinations to compare are assumed to be granted")
		}
	}
	missing := rbac.Missing(allowed, rules)
	if len(missing) == 0 {
		return nil
	}
	const group = "system:serviceaccounts"
	groups := []string{group, group + ":" + a.ref.Namespace, "system:authenticated"}
	return apierrors.NewForbidden(resource, o.GetName(), fmt.Errorf(
		"user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		a.user(), groups, strings.Join(missing, "\n")))
}

// bound returns the rules of the role of a binding, none if the role is not known, and whether the account may bind the
// role without having them.
func (a *account) bound(
	ref rbacv1.RoleRef, namespace string, allowed []rbacv1.PolicyRule,
) (rules []rbacv1.PolicyRule, mayAny bool) {
	if ref.Kind == operator.KindRole {
		if o, ok := a.State.Roles.Get(namespace, ref.Name); ok {
			rules = o.Value.Rules
		}
	} else if o, ok := a.State.ClusterRoles.Get("", ref.Name); ok {
		rules = o.Value.Rules
	}
	return rules, may(allowed, "bind", rbacv1.Resource(strings.ToLower(ref.Kind)+"s"), ref.Name)
}
