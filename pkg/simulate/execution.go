package simulate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/operator"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
	"github.com/opm-toolchain/opm/pkg/crdcheck"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// An execution takes the steps of an InstallPlan.
type execution struct {
	account
	plan    *v1alpha1.InstallPlan
	objects map[string][]cluster.Kubernetes // of bundles, by name
}

// take takes the steps that are not taken yet, up to the first that fails.
func (x *execution) take() error {
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

// stepStatuses are those of steps that can be taken, or are.
var stepStatuses = []v1alpha1.StepStatus{
	v1alpha1.StepStatusPresent, v1alpha1.StepStatusCreated, v1alpha1.StepStatusUnknown, v1alpha1.StepStatusNotPresent,
	v1alpha1.StepStatusWaitingForAPI,
}

func (x *execution) step(step *v1alpha1.Step) (v1alpha1.StepStatus, error) {
	inNamespace, permitted := permitted(step.Resource.Kind)
	switch {
	case step.Resource.Kind == v1alpha1.SubscriptionKind:
		return x.subscription(step)
	case !permitted:
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
		return x.definition(step, crd, b) // which OLM creates itself, not as a service account
	}
	text, typed := whileCreating[step.Resource.Kind]
	if !typed {
		text = "error creating unstructured object %s"
		if err := x.find(o); err != nil {
			return step.Status, err
		}
	}
	namespace := ""
	if inNamespace {
		namespace = x.plan.Namespace
	}
	if err := x.permit(o, namespace); err != nil {
		return step.Status, fmt.Errorf(text+": %w", step.Resource.Name, err)
	}
	if csv, ok := o.(*v1alpha1.ClusterServiceVersion); ok {
		return x.operator(step, csv, b)
	}
	return x.other(step, o, inNamespace), nil
}

// whileCreating begins the errors of OLM about kinds of objects that it has functions of their own for.
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

// find returns an error if the cluster does not serve the kind of an object.
func (x *execution) find(o cluster.Kubernetes) error {
	gvk := o.GetObjectKind().GroupVersionKind()
	if x.serving(gvk) != notServed {
		return nil
	}
	return errors.New(fmt.Sprintf("api-server resource not found installing %s %s: GroupVersionKind %s ",
		gvk.Kind, o.GetName(), gvk) + "not found on the cluster. This API may have been deprecated and removed, see " +
		"https://kubernetes.io/docs/reference/using-api/deprecation-guide/ for more information.")
}

// permitted reports whether a step may create an object of a kind, and puts it into the namespace of the plan.
func permitted(kind string) (inNamespace, ok bool) {
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

const (
	annotationGeneratedBy = "olm.generated-by"
	annotationProperties  = "operatorframework.io/properties"
)

// subscription creates a Subscription for a dependency.
func (x *execution) subscription(step *v1alpha1.Step) (v1alpha1.StepStatus, error) {
	s := new(v1alpha1.Subscription)
	if err := json.Unmarshal([]byte(step.Resource.Manifest), s); err != nil {
		return step.Status, fmt.Errorf("error parsing step manifest: %s: %w", step.Resource.Name, err)
	}
	s.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.SubscriptionKind)) // which the manifest lacks
	if _, ok := x.State.Subscriptions.Get(x.plan.Namespace, s.Name); ok {
		return v1alpha1.StepStatusPresent, nil
	}
	if err := x.permit(s, x.plan.Namespace); err != nil {
		return step.Status, fmt.Errorf(whileCreating[v1alpha1.SubscriptionKind]+": %w", s.Name, err)
	}
	s.Namespace = x.plan.Namespace
	s.Annotations = with(s.Annotations, annotationGeneratedBy, x.plan.Name)
	s.Labels = with(s.Labels, operator.LabelManaged, "true")
	create(x.run, fmt.Sprintf("startingCSV %s", s.Spec.StartingCSV),
		computed("OLM subscribes to what it installs as a dependency"), s)
	return v1alpha1.StepStatusCreated, nil
}

// with returns a copy of a map with an entry.
func with(m map[string]string, key, value string) map[string]string {
	return labels.Merge(m, labels.Set{key: value})
}

// operator creates a ClusterServiceVersion. One of its name stays as it is.
func (x *execution) operator(
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
	created.Labels = with(csv.Labels, operator.LabelManaged, "true")
	created.Finalizers = []string{finalizer}
	setDefaults(created)
	text := "a new operator"
	if created.Spec.Replaces != "" {
		text = "spec.replaces " + created.Spec.Replaces
	}
	why := computed("InstallPlan " + x.plan.Name + " has it")
	if b.Partial {
		why = reason{why.why + "; its catalog does not have its manifests", NotEvaluable}
		text += ", deployments and permissions unknown"
	}
	create(x.run, text, why, created)
	return v1alpha1.StepStatusCreated, nil
}

// setDefaults sets the fields of Deployments that the API server fills in, according to the schema of
// ClusterServiceVersions. They are part of what OLM hashes.
func setDefaults(csv *v1alpha1.ClusterServiceVersion) {
	strategy := csv.Spec.InstallStrategy.StrategySpec.DeepCopy()
	for i := range strategy.DeploymentSpecs {
		pod := &strategy.DeploymentSpecs[i].Spec.Template.Spec
		for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for j := range containers {
				setContainerDefaults(&containers[j])
			}
		}
	}
	csv.Spec.InstallStrategy.StrategySpec = *strategy
}

func setContainerDefaults(c *corev1.Container) {
	for i := range c.Ports {
		c.Ports[i].Protocol = cmp.Or(c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil && probe.GRPC != nil && probe.GRPC.Service == nil {
			probe.GRPC.Service = new("")
		}
	}
}

// replacedBy returns what the ClusterServiceVersion of a step replaces: its manifest says so, or the reference to it.
func replacedBy(step *v1alpha1.Step) (string, error) {
	var manifest struct {
		unpacked
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
		for _, d := range o.Value.Spec.CustomResourceDefinitions.Owned {
			if owns[d.Name] {
				return true
			}
		}
	}
	return false
}

// completed returns an object as the API server stores it: it encodes the strings of a Secret, and sets the types of a
// NetworkPolicy.
func completed(o cluster.Kubernetes) cluster.Kubernetes {
	switch o.GetObjectKind().GroupVersionKind() {
	case corev1.SchemeGroupVersion.WithKind("Secret"):
		var secret corev1.Secret
		if decode(o, &secret) != nil || len(secret.StringData) == 0 {
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
		if decode(o, &policy) != nil || len(policy.Spec.PolicyTypes) > 0 {
			return o
		}
		policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(policy.Spec.Egress) > 0 {
			policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
		return untyped(&policy)
	}
	return o
}

// own writes into an object which operator owns it. OLM adds no owner to the Roles, bindings and service accounts that
// are manifests of a bundle, and only one label to its ClusterRoles: they outlive the operator.
func (x *execution) own(o cluster.Kubernetes, csv *v1alpha1.ClusterServiceVersion, inNamespace bool) {
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
	if inNamespace {
		o.SetOwnerReferences(operator.OwnedBy(csv))
		x.keepOwners(o)
	} else {
		o.SetLabels(labels.Merge(o.GetLabels(), operator.OwnerLabels(csv)))
	}
}

// keepOwners gives a service account the owners that the existing one has: during an update, both operators use it.
func (x *execution) keepOwners(o cluster.Kubernetes) {
	old, ok := x.State.ServiceAccounts.Get(x.plan.Namespace, o.GetName())
	if _, isAccount := o.(*corev1.ServiceAccount); !ok || !isAccount {
		return
	}
	owners := slices.Clone(old.Value.OwnerReferences)
	for _, own := range o.GetOwnerReferences() {
		owners = replaced(owners, own, func(ref metav1.OwnerReference) bool {
			return ref.Kind == own.Kind && ref.Name == own.Name
		})
	}
	o.SetOwnerReferences(owners)
}

// other creates an object of another kind, or replaces the one of its name.
func (x *execution) other(step *v1alpha1.Step, o cluster.Kubernetes, inNamespace bool) v1alpha1.StepStatus {
	o = o.DeepCopyObject().(cluster.Kubernetes)
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.Name, csv.Namespace = step.Resolving, x.plan.Namespace
	if found, ok := x.State.ClusterServiceVersions.Get(csv.Namespace, csv.Name); ok {
		csv.UID = found.Value.UID
	}
	if inNamespace {
		o.SetNamespace(x.plan.Namespace)
	}
	x.own(o, csv, inNamespace)
	o = completed(o)
	if x.put(o, "of "+step.Resolving, computed("InstallPlan "+x.plan.Name+" has it")) {
		return v1alpha1.StepStatusCreated
	}
	return v1alpha1.StepStatusPresent
}

// A storedDefinition is a definition of the cluster.
type storedDefinition = cluster.Object[*apiextensionsv1.CustomResourceDefinition]

// definition creates or updates a CustomResourceDefinition. Its names are assumed to be accepted.
func (x *execution) definition(
	step *v1alpha1.Step, crd *apiextensionsv1.CustomResourceDefinition, b *contents,
) (v1alpha1.StepStatus, error) {
	if err := x.serves(crd.GroupVersionKind()); err != nil {
		return step.Status, err
	}
	crd = crd.DeepCopy()
	crd.APIVersion = apiextensionsv1.SchemeGroupVersion.String()
	crd.Labels = with(crd.Labels, operator.LabelManaged, "true")
	owner := types.NamespacedName{Namespace: x.plan.Namespace, Name: step.Resolving}
	why := computed("InstallPlan " + x.plan.Name + " has it")
	if b.Partial {
		why = reason{why.why + "; its catalog does not have its manifests", NotEvaluable}
	}
	old, ok := x.State.CustomResourceDefinitions.Get("", crd.Name)
	if !ok {
		crd.Annotations = withAlongside(crd.Annotations, owner)
		accept(crd)
		create(x.run, "versions "+versionsOf(crd), why, crd)
		return v1alpha1.StepStatusCreated, nil
	}
	if b.Partial {
		addVersions(crd, old.Value)
	} else if err := x.refuse(old.Value, crd); err != nil {
		return step.Status, err
	}
	text := "versions " + versionsOf(crd)
	before := len(x.Events)
	o := x.change(old, crd, text, why)
	if x.addAlongside(o, owner) && len(x.Events) == before {
		x.event(cluster.Updated, o.Value, o.Pos, text, why)
	}
	return v1alpha1.StepStatusPresent, nil
}

// change updates a definition, apart from the operators it was installed with.
func (x *execution) change(
	old storedDefinition, crd *apiextensionsv1.CustomResourceDefinition, text string, why reason,
) storedDefinition {
	merged := labels.Merge(old.Value.Labels, crd.Labels)
	if equality.Semantic.DeepEqual(old.Value.Spec, crd.Spec) && maps.Equal(old.Value.Labels, merged) &&
		sameAnnotations(old.Value.Annotations, crd.Annotations) {
		return old
	}
	return update(x.run, old, func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec, c.Labels, c.Annotations = crd.Spec, merged, maps.Clone(crd.Annotations)
		maps.DeleteFunc(c.Annotations, isAlongside)
		for key, other := range alongside(old.Value.Annotations) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, other.String())
		}
		accept(c)
	}, text, why)
}

// annotationAlongside begins the keys of the annotations of a definition that name the operators it was installed with.
const annotationAlongside = "operatorframework.io/installed-alongside-"

// alongside yields the operators that a definition was installed with, by annotation, in any order.
func alongside(annotations map[string]string) iter.Seq2[string, types.NamespacedName] {
	return func(yield func(string, types.NamespacedName) bool) {
		for key, value := range annotations {
			namespace, name, ok := strings.Cut(value, "/")
			if ok && strings.HasPrefix(key, annotationAlongside) &&
				!yield(key, types.NamespacedName{Namespace: namespace, Name: name}) {
				return
			}
		}
	}
}

func isAlongside(key, _ string) bool { return strings.HasPrefix(key, annotationAlongside) }

// sameAnnotations reports whether two definitions have the same annotations, apart from the operators they were
// installed with.
func sameAnnotations(a, b map[string]string) bool {
	n := 0
	for key, value := range a {
		if isAlongside(key, "") {
			continue
		}
		if other, ok := b[key]; !ok || other != value {
			return false
		}
		n++
	}
	for key := range b {
		if !isAlongside(key, "") {
			n--
		}
	}
	return n == 0
}

// withAlongside returns the annotations of a definition that is installed with an operator alone.
func withAlongside(annotations map[string]string, owner types.NamespacedName) map[string]string {
	annotations = maps.Clone(annotations)
	maps.DeleteFunc(annotations, isAlongside)
	key, value := alongsideAnnotation(owner)
	return with(annotations, key, value)
}

// addAlongside writes into a definition that it is installed with an operator, and reports whether that is new. Of the
// other operators in it, the existing ones stay. A definition may name the operators of all namespaces: it is copied
// once, and then changed in place.
func (x *execution) addAlongside(o storedDefinition, owner types.NamespacedName) bool {
	key, value := alongsideAnnotation(owner)
	if o.Value.Annotations[key] == value {
		return false
	}
	if x.named[o.Value.Name] != o.Value {
		o.Value = o.Value.DeepCopy()
		for key, other := range alongside(o.Value.Annotations) {
			if !x.isOriginal(other) {
				delete(o.Value.Annotations, key)
			}
		}
		x.State.CustomResourceDefinitions.Put(o)
		x.named[o.Value.Name] = o.Value
	}
	metav1.SetMetaDataAnnotation(&o.Value.ObjectMeta, key, value)
	return true
}

// forgetAlongside removes an operator that was replaced from the definitions that it was installed with. OLM does so
// when it executes the InstallPlan of the next operator once more, which it does with most.
func (r *run) forgetAlongside(gone *v1alpha1.ClusterServiceVersion) {
	key, _ := alongsideAnnotation(keyOf(gone))
	for _, d := range gone.Spec.CustomResourceDefinitions.Owned {
		o, ok := r.State.CustomResourceDefinitions.Get("", d.Name)
		if !ok || o.Value.Annotations[key] == "" {
			continue
		}
		update(r, o, func(crd *apiextensionsv1.CustomResourceDefinition) {
			delete(crd.Annotations, key)
		}, "annotation of "+gone.Name+" removed",
			computed("definitions name the existing operators they were installed with"))
	}
}

// alongsideAnnotation returns the annotation of a definition that was installed with an operator.
func alongsideAnnotation(owner types.NamespacedName) (key, value string) {
	hash := fnv.New64a()
	hash.Write([]byte(owner.String()))
	return fmt.Sprintf("%s%x", annotationAlongside, hash.Sum64()), owner.String()
}

// isOriginal reports whether there is a ClusterServiceVersion of a name that is not a copy.
func (r *run) isOriginal(name types.NamespacedName) bool {
	o, ok := r.State.ClusterServiceVersions.Get(name.Namespace, name.Name)
	return ok && !o.Value.IsCopied()
}

// withoutV1beta1 is the first version of Kubernetes that does not serve definitions of v1beta1.
const withoutV1beta1 = "1.22.0"

// serves returns the error of an API server if it does not serve a version of definitions.
func (x *execution) serves(of schema.GroupVersionKind) error {
	if of.Version == apiextensionsv1.SchemeGroupVersion.Version {
		return nil
	}
	if x.opts.KubeVersion == "" {
		x.assume("the version of Kubernetes is not known: it is assumed not to serve apiextensions.k8s.io/v1beta1, " +
			"as since 1.22")
	} else if v, err := parseVersion(x.opts.KubeVersion); err == nil && v.LessThan(version.MustParse(withoutV1beta1)) {
		return nil
	}
	plural, _ := meta.UnsafeGuessKindToResource(of)
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "post", plural.GroupResource(), "", "", 0, true)
}

// refuse returns why OLM refuses to update a definition, nil if it does not.
func (x *execution) refuse(old, crd *apiextensionsv1.CustomResourceDefinition) error {
	resources, err := crdcheck.Resources(x.State, schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind})
	if err != nil {
		return err
	}
	if len(resources) == 0 && !equality.Semantic.DeepEqual(old.Spec.Versions, crd.Spec.Versions) {
		x.assume("custom resources that the state does not have fit the new schemas of their definitions")
	}
	for _, f := range crdcheck.Compare(graph.Classic, old, crd, resources) {
		if f.Severity != problem.Warning {
			return errors.New(f.Message)
		}
	}
	return nil
}

func isVersion(name string) func(apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name }
}

func versionsOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	var names []string
	for _, v := range crd.Spec.Versions {
		names = append(names, v.Name)
	}
	return strings.Join(names, ", ")
}

// addVersions keeps all that is known of the definition in the cluster, and adds only versions to it.
func addVersions(crd, old *apiextensionsv1.CustomResourceDefinition) {
	versions := slices.Clone(old.Spec.Versions)
	for _, v := range crd.Spec.Versions {
		if !slices.ContainsFunc(versions, isVersion(v.Name)) {
			v.Storage = false
			versions = append(versions, v)
		}
	}
	crd.Spec = *old.Spec.DeepCopy()
	crd.Spec.Versions, crd.Annotations = versions, old.Annotations
}

// accept sets the status that a cluster gives to a definition.
func accept(crd *apiextensionsv1.CustomResourceDefinition) {
	status := &crd.Status
	status.AcceptedNames = crd.Spec.Names
	for _, of := range []apiextensionsv1.CustomResourceDefinitionConditionType{
		apiextensionsv1.NamesAccepted, apiextensionsv1.Established,
	} {
		isIt := func(c apiextensionsv1.CustomResourceDefinitionCondition) bool { return c.Type == of }
		if !slices.ContainsFunc(status.Conditions, isIt) {
			status.Conditions = append(status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
				Type: of, Status: apiextensionsv1.ConditionTrue,
			})
		}
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage && !slices.Contains(status.StoredVersions, v.Name) {
			status.StoredVersions = append(status.StoredVersions, v.Name)
		}
	}
}

// An account is the service account of an OperatorGroup, as which OLM creates objects.
type account struct {
	*run
	ref         *corev1.ObjectReference // nil for OLM itself, which may do everything
	permissions func() *rbac.Authorizer // of all service accounts of the cluster, when the controller started
}

// permit returns the error of an API server if the account may not create an object. The namespace is empty for objects
// that are in none.
func (a *account) permit(o cluster.Kubernetes, namespace string) error {
	ref := a.ref
	if ref == nil {
		return nil
	}
	if !hasOthers(&a.input.ClusterRoleBindings) && !hasOthers(&a.input.RoleBindings) {
		a.assume(fmt.Sprintf("service account %s/%s may create what InstallPlans and operators have",
			ref.Namespace, ref.Name))
		return nil
	}
	plural, _ := meta.UnsafeGuessKindToResource(o.GetObjectKind().GroupVersionKind())
	resource, user := plural.GroupResource(), "system:serviceaccount:"+ref.Namespace+":"+ref.Name
	allowed := a.permissions().Rules(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, namespace)
	may := func(verb string) bool {
		ok, _ := rbac.Covers(allowed, rbacv1.PolicyRule{
			Verbs: []string{verb}, APIGroups: []string{resource.Group}, Resources: []string{resource.Resource},
		})
		return ok
	}
	if !may("create") {
		return apierrors.NewForbidden(resource, "", fmt.Errorf(
			"%s %q cannot create resource %q in API group %q %s",
			rbacv1.UserKind, user, resource.Resource, resource.Group, scope(namespace)))
	}
	if !may("escalate") {
		return a.grant(o, resource, user, allowed)
	}
	return nil
}

func scope(namespace string) string {
	if namespace == "" {
		return "at the cluster scope"
	}
	return fmt.Sprintf("in the namespace %q", namespace)
}

// grant returns an error about a role with rules that a user does not have.
func (a *account) grant(
	o cluster.Kubernetes, resource schema.GroupResource, user string, allowed []rbacv1.PolicyRule,
) error {
	var rules []rbacv1.PolicyRule
	switch o := o.(type) {
	case *rbacv1.Role:
		rules = o.Rules
	case *rbacv1.ClusterRole:
		rules = o.Rules
	}
	for _, rule := range rules {
		if ok, err := rbac.Covers(allowed, rule); err != nil {
			a.assume("rules with too many combinations to compare are assumed to be granted")
		} else if !ok {
			return apierrors.NewForbidden(resource, o.GetName(), fmt.Errorf(
				"user %q is attempting to grant RBAC permissions not currently held: %s", user, jsonText(rule)))
		}
	}
	return nil
}
