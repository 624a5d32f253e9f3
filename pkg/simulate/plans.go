package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// How many InstallPlans of a namespace OLM keeps, and how many it deletes at once.
const (
	maxPlans   = 5
	maxDeletes = 5
)

// collectPlans deletes the InstallPlans of the oldest generations. Of those beyond the first ten, none is considered.
func (r *run) collectPlans(namespace string) {
	plans := slices.Collect(r.State.InstallPlans.In(namespace))
	if len(plans) <= maxPlans {
		return
	}
	plans = plans[:min(len(plans), maxPlans+maxDeletes)]
	slices.SortStableFunc(plans, func(a, b cluster.Object[*v1alpha1.InstallPlan]) int {
		return cmp.Or(cmp.Compare(a.Value.Spec.Generation, b.Value.Spec.Generation),
			a.Value.CreationTimestamp.Compare(b.Value.CreationTimestamp.Time))
	})
	for _, o := range plans[:len(plans)-maxPlans] {
		text := fmt.Sprintf("generation %d", o.Value.Spec.Generation)
		remove(r, &r.State.InstallPlans, o, text, computed("OLM keeps five InstallPlans in a namespace, the newest"))
	}
}

// createPlan creates the InstallPlan for an answer.
func (r *run) createPlan(answer *cluster.Namespace) *v1alpha1.InstallPlan {
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
	text := fmt.Sprintf("generation %d, approval %s, phase %s: %s",
		generation, plan.Spec.Approval, plan.Status.Phase, installs(answer))
	why := "a Subscription changes"
	if !plan.Spec.Approved {
		why += "; the approval is Manual if that of any Subscription in the namespace is"
	}
	create(r, &r.State.InstallPlans, plan, text, computed(why))
	return plan
}

// newPlanName returns the name of a new InstallPlan. In a cluster it is random; here it ends in the generation, and has
// the namespace before it if another namespace has an InstallPlan of that name.
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

// addSteps adds what an InstallPlan does: it creates Subscriptions for dependencies, and the objects of each bundle.
// Those of bundles without an image are in the catalog, and come before what is unpacked from images.
func (r *run) addSteps(plan *v1alpha1.InstallPlan, answer *cluster.Namespace) {
	var listed, unpacked []*v1alpha1.Step
	for _, s := range answer.Generated {
		listed = append(listed, newStep(s.StartingCSV, generatedStep(s, answer.Name)))
	}
	catalogs := map[string]bool{}
	for _, c := range answer.Install {
		catalogs[c.Catalog] = true
		b, _ := r.bundle(c.CatalogNamespace, c.Catalog, c.Bundle)
		objects, _ := b.objects(answer.Name) // unpack reports errors
		for _, o := range objects {
			if b.Image == "" {
				listed = append(listed, newStep(c.Bundle, bundleStep(c, o, listedManifest(c, o, b))))
			} else {
				unpacked = append(unpacked, newStep(c.Bundle, bundleStep(c, o, reference(c, b))))
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

func newStep(bundle string, o v1alpha1.StepResource) *v1alpha1.Step {
	return &v1alpha1.Step{Resolving: bundle, Resource: o, Status: v1alpha1.StepStatusUnknown}
}

// generatedStep creates a Subscription. Its manifest has neither apiVersion nor kind, as in OLM.
func generatedStep(s resolve.Subscription, namespace string) v1alpha1.StepResource {
	subscription := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: namespace},
		Spec: &v1alpha1.SubscriptionSpec{
			CatalogSource: s.Catalog, CatalogSourceNamespace: s.CatalogNamespace, Package: s.Package, Channel: s.Channel,
			StartingCSV: s.StartingCSV, InstallPlanApproval: v1alpha1.ApprovalAutomatic,
		},
	}
	gvk := v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.SubscriptionKind)
	return v1alpha1.StepResource{
		CatalogSource: s.Catalog, CatalogSourceNamespace: s.CatalogNamespace,
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: s.Name, Manifest: jsonText(subscription),
	}
}

const kindBundleSecret = "BundleSecret"

// stepKind returns the kind of an object as a step has it: there, a Secret of a bundle is another kind.
func stepKind(o cluster.Kubernetes) schema.GroupVersionKind {
	gvk := o.GetObjectKind().GroupVersionKind()
	if gvk == (schema.GroupVersionKind{Version: "v1", Kind: "Secret"}) {
		gvk.Kind = kindBundleSecret
	}
	return gvk
}

// bundleStep creates an object of a bundle.
func bundleStep(c resolve.Choice, o cluster.Kubernetes, manifest string) v1alpha1.StepResource {
	gvk := stepKind(o)
	return v1alpha1.StepResource{
		CatalogSource: c.Catalog, CatalogSourceNamespace: c.CatalogNamespace,
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: o.GetName(), Manifest: manifest,
	}
}

// listedManifest returns the manifest of an object that the catalog has.
func listedManifest(c resolve.Choice, o cluster.Kubernetes, b *contents) string {
	if csv, ok := o.(*v1alpha1.ClusterServiceVersion); ok {
		return jsonText(planned(csv, c.Replaces, b))
	}
	return jsonText(o)
}

// planned returns a ClusterServiceVersion as an InstallPlan creates it. It shares what is not changed.
func planned(csv *v1alpha1.ClusterServiceVersion, replaces string, b *contents) *v1alpha1.ClusterServiceVersion {
	changed := *csv
	changed.Annotations = with(csv.Annotations, annotationProperties, propertiesText(b.Properties))
	changed.Spec.Replaces = replaces
	return &changed
}

// reference returns the manifest of an object that is unpacked from an image: it refers to the ConfigMap with it.
func reference(c resolve.Choice, b *contents) string {
	return jsonText(unpacked{
		Kind: "ConfigMap", Name: configMapName(b.Image), Namespace: c.CatalogNamespace,
		CatalogSourceName: c.Catalog, CatalogSourceNamespace: c.CatalogNamespace, Replaces: c.Replaces,
		Properties: propertiesText(b.Properties),
	})
}

// An unpacked refers to the ConfigMap that a bundle is unpacked into.
type unpacked struct {
	Kind                   string `json:"kind"`
	Name                   string `json:"name"`
	Namespace              string `json:"namespace"`
	CatalogSourceName      string `json:"catalogSourceName"`
	CatalogSourceNamespace string `json:"catalogSourceNamespace"`
	Replaces               string `json:"replaces"`
	Properties             string `json:"properties"`
}

// jsonText returns a value, which can be encoded, in JSON as clients of Kubernetes write it.
func jsonText(v any) string {
	text, err := json.Marshal(v, asKubernetes)
	if err != nil {
		panic(err)
	}
	return string(text)
}
