package simulate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// plans approves and executes InstallPlans.
func plans(_ context.Context, r *run) error {
	for o := range r.State.InstallPlans.All() {
		status := &o.Value.Status
		isEmpty := len(status.Plan) == 0 && len(status.BundleLookups) == 0 // OLM first adds the steps
		if isEmpty || isDone(o.Value) {
			continue
		}
		o, ok := r.checkGroup(o)
		if !ok {
			continue
		}
		if o.Value.Status.Phase == v1alpha1.InstallPlanPhaseRequiresApproval {
			o = r.approve(o)
		}
		if o.Value.Status.Phase == v1alpha1.InstallPlanPhaseInstalling {
			r.execute(o)
		}
	}
	return nil
}

func isDone(p *v1alpha1.InstallPlan) bool {
	return p.Status.Phase == v1alpha1.InstallPlanPhaseComplete || p.Status.Phase == v1alpha1.InstallPlanPhaseFailed
}

// approve starts an InstallPlan that is approved, and returns the changed InstallPlan.
func (r *run) approve(o cluster.Object[*v1alpha1.InstallPlan]) cluster.Object[*v1alpha1.InstallPlan] {
	if r.opts.Approve && !o.Value.Spec.Approved {
		o = update(r, o, func(p *v1alpha1.InstallPlan) {
			p.Spec.Approved = true
		}, "approved", assumed("someone approves InstallPlans"))
	}
	if !o.Value.Spec.Approved {
		return o
	}
	return update(r, o, func(p *v1alpha1.InstallPlan) {
		p.Status.Phase, p.Status.Message = v1alpha1.InstallPlanPhaseInstalling, ""
	}, "phase Installing", computed("it is approved"))
}

// execute executes the steps of an InstallPlan, and sets its phase. OLM retries a failed step for a minute, and a
// forbidden one forever.
func (r *run) execute(o cluster.Object[*v1alpha1.InstallPlan]) {
	executed := o.Value.DeepCopy()
	x := &execution{
		account: account{r, executed.Status.AttenuatedServiceAccountRef, sync.OnceValue(r.authorizer)},
		plan:    executed, objects: map[string][]cluster.Kubernetes{},
	}
	err := x.steps()
	status := &executed.Status
	if apierrors.IsForbidden(err) {
		status.Message = "retrying execution due to error: " + err.Error()
		o = update(r, o, func(p *v1alpha1.InstallPlan) { *p = *executed }, status.Message, computed(
			"OLM creates objects as the service account of the OperatorGroup, and retries forbidden objects forever"))
		wait(r, o, "permissions of its service account: "+err.Error(), Computed)
		return
	}
	text, why := "phase Complete", computed("all its objects exist")
	if err != nil {
		status.Phase, status.Message = v1alpha1.InstallPlanPhaseFailed, err.Error()
		status.SetCondition(v1alpha1.ConditionFailed(
			v1alpha1.InstallPlanInstalled, v1alpha1.InstallPlanReasonComponentFailed, err.Error(), nil))
		text = "phase Failed: " + err.Error()
		why = computed("OLM gives up after a minute, and keeps the objects that it created")
		switch {
		case apierrors.IsInvalid(err):
			why = computed("an API server does not accept the object; OLM gives up after a minute, and keeps the objects " +
				"that it created")
		case isDefinitionNotServed(err):
			why = computed("Kubernetes does not serve CustomResourceDefinitions of apiextensions.k8s.io/v1beta1 since 1.22")
		case errors.Is(err, v1alpha1.ErrInvalidInstallPlan):
			why = computed(invalidStep(executed))
		}
	} else {
		status.Phase, status.Message = v1alpha1.InstallPlanPhaseComplete, ""
		status.SetCondition(v1alpha1.ConditionMet(v1alpha1.InstallPlanInstalled, nil))
	}
	update(r, o, func(p *v1alpha1.InstallPlan) { *p = *executed }, text, why)
}

// invalidStep describes the first step of an InstallPlan with a status that OLM cannot handle.
func invalidStep(p *v1alpha1.InstallPlan) string {
	for _, step := range p.Status.Plan {
		if !slices.Contains(stepStatuses, step.Status) {
			return fmt.Sprintf("the step for %s %s of %s has status %s", step.Resource.Kind, step.Resource.Name, step.Resolving,
				step.Status)
		}
	}
	return ""
}

// maxPlans is the number of InstallPlans that OLM keeps in a namespace, and maxDeletes the number that it deletes at
// once.
const (
	maxPlans   = 5
	maxDeletes = 5
)

// deleteOldPlans deletes the InstallPlans of the oldest generations among the first ten of each namespace by name, as
// OLM does.
func (r *run) deleteOldPlans() {
	for _, namespace := range slices.Clone(r.State.InstallPlans.Namespaces()) {
		plans := slices.Collect(r.State.InstallPlans.In(namespace))
		plans = plans[:min(len(plans), maxPlans+maxDeletes)]
		slices.SortStableFunc(plans, func(a, b cluster.Object[*v1alpha1.InstallPlan]) int {
			return cmp.Or(cmp.Compare(a.Value.Spec.Generation, b.Value.Spec.Generation),
				a.Value.CreationTimestamp.Compare(b.Value.CreationTimestamp.Time))
		})
		for _, o := range plans[:max(0, len(plans)-maxPlans)] {
			text := fmt.Sprintf("generation %d", o.Value.Spec.Generation)
			remove(r, o, text, computed("OLM keeps five InstallPlans in a namespace, the newest"))
		}
	}
}

// createPlan creates the InstallPlan for an answer.
func (r *run) createPlan(answer *install.NamespaceResult) *v1alpha1.InstallPlan {
	plan := &v1alpha1.InstallPlan{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.InstallPlanAPIVersion, Kind: v1alpha1.InstallPlanKind},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "install-", Namespace: answer.Name},
	}
	generation := 0
	for o := range r.State.InstallPlans.In(answer.Name) {
		generation = max(generation, o.Value.Spec.Generation)
	}
	for o := range r.State.Subscriptions.In(answer.Name) {
		generation = max(generation, o.Value.Status.InstallPlanGeneration)
		plan.OwnerReferences = append(plan.OwnerReferences, metav1.OwnerReference{
			APIVersion: v1alpha1.SubscriptionCRDAPIVersion, Kind: v1alpha1.SubscriptionKind,
			Name: o.Value.Name, UID: o.Value.UID, Controller: new(false), BlockOwnerDeletion: new(false),
		})
	}
	generation++
	plan.Name = r.newPlanName(answer.Name, plan.GenerateName, generation)
	plan.Spec = v1alpha1.InstallPlanSpec{
		ClusterServiceVersionNames: []string{}, Generation: generation,
		Approval: answer.InstallPlan, Approved: answer.InstallPlan == v1alpha1.ApprovalAutomatic,
	}
	plan.Status.Phase = v1alpha1.InstallPlanPhaseInstalling
	if !plan.Spec.Approved {
		plan.Status.Phase = v1alpha1.InstallPlanPhaseRequiresApproval
	}
	r.addSteps(plan, answer)
	var installs []string
	for _, c := range answer.Install {
		installs = append(installs, fmt.Sprintf("%s from catalog %s", c.Bundle, c.Catalog))
	}
	text := fmt.Sprintf("generation %d, approval %s, phase %s: %s",
		generation, plan.Spec.Approval, plan.Status.Phase, strings.Join(installs, ", "))
	why := "a Subscription changes"
	if !plan.Spec.Approved {
		why += "; the approval is Manual if any Subscription of the namespace has Manual approval"
	}
	create(r, text, computed(why), plan)
	return plan
}

// newPlanName returns the name of a new InstallPlan. In a cluster the name is random; here it ends in the generation,
// preceded by the namespace if another namespace has an InstallPlan of the same name.
func (r *run) newPlanName(namespace, prefix string, generation int) string {
	if r.planNames == nil {
		r.planNames = map[string]bool{}
		for o := range r.State.InstallPlans.All() {
			r.planNames[o.Value.Name] = true
		}
	}
	name := fmt.Sprintf("%s%d", prefix, generation)
	if r.planNames[name] {
		name = fmt.Sprintf("%s%s-%d", prefix, namespace, generation)
	}
	r.planNames[name] = true
	return name
}

// addSteps adds the steps of an InstallPlan. They create Subscriptions for dependencies, and the objects of each
// bundle. The objects of bundles without an image are in the catalog, and come before objects that are unpacked from
// images.
func (r *run) addSteps(plan *v1alpha1.InstallPlan, answer *install.NamespaceResult) {
	var listed, unpacked []*v1alpha1.Step
	for _, s := range answer.Generated {
		// As in OLM, the manifest has neither apiVersion nor kind.
		subscription := &v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: answer.Name},
			Spec: &v1alpha1.SubscriptionSpec{
				CatalogSource: s.Catalog, CatalogSourceNamespace: s.CatalogNamespace, Package: s.Package, Channel: s.Channel,
				StartingCSV: s.StartingCSV, InstallPlanApproval: v1alpha1.ApprovalAutomatic,
			},
		}
		c := resolve.Choice{Bundle: s.StartingCSV, Catalog: s.Catalog, CatalogNamespace: s.CatalogNamespace}
		gvk := v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.SubscriptionKind)
		listed = append(listed, newStep(c, gvk, s.Name, jsonText(subscription)))
	}
	catalogs := map[string]bool{}
	for _, c := range answer.Install {
		catalogs[c.Catalog] = true
		b, _ := r.bundle(c.CatalogNamespace, c.Catalog, c.Bundle)
		objects, _ := b.objects(answer.Name) // unpack reports errors
		for _, o := range objects {
			if b.Image == "" {
				listed = append(listed, newStep(c, stepKind(o), o.GetName(), listedManifest(c, o, b)))
			} else {
				unpacked = append(unpacked, newStep(c, stepKind(o), o.GetName(), reference(c, b)))
			}
		}
		if b.Image != "" {
			plan.Status.BundleLookups = append(plan.Status.BundleLookups, v1alpha1.BundleLookup{
				Path: b.Image, Identifier: c.Bundle, Replaces: c.Replaces, Properties: propertiesText(b.Properties),
				CatalogSourceRef: &corev1.ObjectReference{Namespace: c.CatalogNamespace, Name: c.Catalog},
			})
		}
	}
	plan.Status.Plan = append(v1alpha1.OrderSteps(listed), unpacked...)
	for _, step := range plan.Status.Plan {
		if step.Resource.Kind == v1alpha1.ClusterServiceVersionKind {
			plan.Spec.ClusterServiceVersionNames = append(plan.Spec.ClusterServiceVersionNames, step.Resource.Name)
		}
	}
	plan.Status.CatalogSources = slices.Sorted(maps.Keys(catalogs))
}

// newStep returns the step that creates an object for a bundle.
func newStep(c resolve.Choice, of schema.GroupVersionKind, name, manifest string) *v1alpha1.Step {
	return &v1alpha1.Step{Resolving: c.Bundle, Status: v1alpha1.StepStatusUnknown, Resource: v1alpha1.StepResource{
		CatalogSource: c.Catalog, CatalogSourceNamespace: c.CatalogNamespace,
		Group: of.Group, Version: of.Version, Kind: of.Kind, Name: name, Manifest: manifest,
	}}
}

const kindBundleSecret = "BundleSecret"

// stepKind returns the kind of an object in a step. The Secrets of a bundle have a kind of their own in steps.
func stepKind(o cluster.Kubernetes) schema.GroupVersionKind {
	gvk := o.GetObjectKind().GroupVersionKind()
	if gvk == (schema.GroupVersionKind{Version: "v1", Kind: "Secret"}) {
		gvk.Kind = kindBundleSecret
	}
	return gvk
}

// listedManifest returns the manifest of an object of a bundle whose manifests are in the catalog.
func listedManifest(c resolve.Choice, o cluster.Kubernetes, b *contents) string {
	if csv, ok := o.(*v1alpha1.ClusterServiceVersion); ok {
		return jsonText(planned(csv, c.Replaces, b))
	}
	return jsonText(o)
}

// planned returns a ClusterServiceVersion as an InstallPlan creates it. It shares the unchanged fields.
func planned(csv *v1alpha1.ClusterServiceVersion, replaces string, b *contents) *v1alpha1.ClusterServiceVersion {
	changed := *csv
	changed.Annotations = with(csv.Annotations, install.AnnotationProperties, propertiesText(b.Properties))
	changed.Spec.Replaces = replaces
	return &changed
}

// reference returns the manifest of an object that is unpacked from an image: a reference to the ConfigMap with the
// objects of the bundle, whose name is a hash of the image.
func reference(c resolve.Choice, b *contents) string {
	sum := sha256.Sum256([]byte(b.Image))
	return jsonText(configMapReference{
		Kind: "ConfigMap", Name: hex.EncodeToString(sum[:])[:63], Namespace: c.CatalogNamespace,
		CatalogSourceName: c.Catalog, CatalogSourceNamespace: c.CatalogNamespace, Replaces: c.Replaces,
		Properties: propertiesText(b.Properties),
	})
}

// A configMapReference is a reference to the ConfigMap into which a bundle is unpacked.
type configMapReference struct {
	Kind                   string `json:"kind"`
	Name                   string `json:"name"`
	Namespace              string `json:"namespace"`
	CatalogSourceName      string `json:"catalogSourceName"`
	CatalogSourceNamespace string `json:"catalogSourceNamespace"`
	Replaces               string `json:"replaces"`
	Properties             string `json:"properties"`
}

// jsonText returns the JSON of a value as Kubernetes clients write it. It panics if the value cannot be encoded.
func jsonText(v any) string {
	text, err := json.Marshal(v, asKubernetes)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Contents are the manifests of a bundle in a catalog.
type contents struct {
	*install.Manifests
	err error // the reason why the manifests are unknown
}

var errNotInCatalog = errors.New("no catalog is given that has the bundle")

// bundle returns a bundle of a CatalogSource. Each bundle is read once.
func (r *run) bundle(namespace, catalog, name string) (*contents, error) {
	key := namespace + "/" + catalog + "/" + name
	b := r.bundles[key]
	if b == nil {
		b = &contents{Manifests: &install.Manifests{}, err: errNotInCatalog}
		if meta := r.request.Bundle(namespace, catalog, name); meta != nil {
			if m, err := install.ReadManifests(meta); err != nil {
				b.err = err
			} else {
				b.Manifests, b.err = m, nil
			}
		}
		r.bundles[key] = b
	}
	return b, b.err
}

// objects returns the objects of the bundle for a namespace, in the order of an InstallPlan: the ClusterServiceVersion,
// the other manifests, and the service accounts with their permissions.
func (b *contents) objects(namespace string) ([]cluster.Kubernetes, error) {
	if b.CSV == nil {
		return b.Others, nil
	}
	csv := *b.CSV // shares all fields except the namespace
	csv.Namespace = namespace
	all := append([]cluster.Kubernetes{&csv}, b.Others...)
	accounts, err := rbac.ForOperator(&csv)
	for _, a := range accounts {
		for o := range a.All() {
			all = append(all, o.(cluster.Kubernetes))
		}
	}
	return all, err
}

// propertiesText returns the value of the annotation operatorframework.io/properties. Required APIs and packages occur
// twice in it: a catalog also serves them as dependencies, which OLM converts to properties. The keys of values are
// sorted, as a catalog serves them.
func propertiesText(properties []declcfg.Property) string {
	type property struct {
		Type  string `json:"type"`
		Value any    `json:"value"`
	}
	own, required := []property{}, []property{}
	for _, p := range properties {
		own = append(own, property{p.Type, jsontext.Value(format.AppendCompact(nil, p.Value))})
		switch p.Type {
		case declcfg.PropertyGVKRequired:
			var k declcfg.GVKRequired
			if p.Unmarshal(&k) == nil {
				required = append(required, property{p.Type, struct {
					Group   string `json:"group"`
					Version string `json:"version"`
					Kind    string `json:"kind"`
				}{k.Group, k.Version, k.Kind}})
			}
		case declcfg.PropertyPackageRequired:
			var pkg declcfg.PackageRequired
			if p.Unmarshal(&pkg) == nil {
				required = append(required, property{p.Type, pkg})
			}
		}
	}
	return jsonText(map[string][]property{"properties": append(own, required...)})
}

// checkGroup reports whether the OperatorGroup of an InstallPlan and its service account exist, and sets the condition
// about them and the reference to the service account in the InstallPlan.
func (r *run) checkGroup(o cluster.Object[*v1alpha1.InstallPlan]) (cluster.Object[*v1alpha1.InstallPlan], bool) {
	account, err := r.accountOf(o.Value.Namespace)
	why := computed("OLM looks for the OperatorGroup, and for the service account that it names, again and again")
	if err != nil {
		text := conditionText(string(v1alpha1.InstallPlanInstalled), "False",
			string(v1alpha1.InstallPlanReasonInstallCheckFailed), err.Error())
		return update(r, o, func(p *v1alpha1.InstallPlan) {
			old := p.Status.GetCondition(v1alpha1.InstallPlanInstalled)
			if old.Reason != v1alpha1.InstallPlanReasonInstallCheckFailed || old.Message != err.Error() {
				p.Status.SetCondition(v1alpha1.ConditionFailed(
					v1alpha1.InstallPlanInstalled, v1alpha1.InstallPlanReasonInstallCheckFailed, err.Error(), nil))
			}
		}, text, why), false
	}
	o = update(r, o, func(p *v1alpha1.InstallPlan) {
		if p.Status.GetCondition(v1alpha1.InstallPlanInstalled).Reason == v1alpha1.InstallPlanReasonInstallCheckFailed {
			p.Status.SetCondition(v1alpha1.ConditionFailed(v1alpha1.InstallPlanInstalled, "Unknown", "", nil))
		}
	}, "the OperatorGroup exists", why)
	if account == nil {
		return o, true
	}
	return update(r, o, func(p *v1alpha1.InstallPlan) {
		p.Status.AttenuatedServiceAccountRef = account
	}, "by service account "+account.Name, computed("the OperatorGroup names it")), true
}

// accountOf returns the service account with which OLM creates objects in a namespace, nil for OLM itself.
func (r *run) accountOf(namespace string) (*corev1.ObjectReference, error) {
	var groups []*operatorsv1.OperatorGroup
	for o := range r.State.OperatorGroups.In(namespace) {
		if len(o.Value.Status.Namespaces) > 0 {
			groups = append(groups, o.Value)
		}
	}
	switch len(groups) {
	case 0:
		return nil, errors.New("no operator group found that is managing this namespace")
	case 1:
	default:
		return nil, fmt.Errorf("more than one operator group(s) are managing this namespace count=%d", len(groups))
	}
	name := groups[0].Spec.ServiceAccountName
	if name == "" {
		return nil, nil
	}
	o, ok := r.State.ServiceAccounts.Get(namespace, name)
	if !ok {
		return nil, fmt.Errorf("please make sure the service account exists. sa=%s operatorgroup=%s/%s",
			name, namespace, groups[0].Name)
	}
	return accountRef(o.Value), nil
}

func accountRef(a *corev1.ServiceAccount) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "ServiceAccount", Namespace: a.Namespace, Name: a.Name, UID: a.UID,
		ResourceVersion: a.ResourceVersion,
	}
}
