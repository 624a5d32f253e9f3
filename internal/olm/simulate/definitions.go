package simulate

import (
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/updatecheck"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A storedDefinition is a CustomResourceDefinition of the cluster.
type storedDefinition = cluster.Object[*apiextensionsv1.CustomResourceDefinition]

// createDefinition creates or updates a CustomResourceDefinition. The cluster is assumed to accept its names.
func (x *execution) createDefinition(
	step *v1alpha1.Step, crd *apiextensionsv1.CustomResourceDefinition, b *contents,
) (v1alpha1.StepStatus, error) {
	if err := x.checkVersion(crd); err != nil {
		return step.Status, err
	}
	checked := crd.APIVersion == apiextensionsv1.SchemeGroupVersion.String() // of the older API, more is accepted
	crd = crd.DeepCopy()
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
	crd.APIVersion = apiextensionsv1.SchemeGroupVersion.String()
	crd.Labels = with(crd.Labels, operator.LabelManaged, "true")
	owner := types.NamespacedName{Namespace: x.plan.Namespace, Name: step.Resolving}
	why := computed("InstallPlan " + x.plan.Name + " has it")
	if b.Partial {
		why = why.partial()
	}
	old, ok := x.State.CustomResourceDefinitions.Get("", crd.Name)
	if !ok {
		maps.DeleteFunc(crd.Annotations, isAlongside)
		key, value := alongsideAnnotation(owner)
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, key, value)
		if err := x.refusal(crd); checked && err != nil {
			return step.Status, err
		}
		accept(crd)
		create(x.run, "versions "+versionsOf(crd), why, crd)
		return v1alpha1.StepStatusCreated, nil
	}
	if b.Partial {
		addVersions(crd, old.Value)
	} else if err := x.checkUpdate(old.Value, crd); err != nil {
		return step.Status, err
	} else if checked && !equality.Semantic.DeepEqual(old.Value.Spec, crd.Spec) {
		if err := x.refusal(crd); err != nil {
			return step.Status, fmt.Errorf("error updating CRD: %s: %w", crd.Name, err)
		}
	}
	text := "versions " + versionsOf(crd)
	before := len(x.Events)
	o := x.updateDefinition(old, crd, text, why)
	if x.addAlongside(o, owner) && len(x.Events) == before {
		x.event(cluster.Updated, o.Value, o.Pos, text, why)
	}
	return v1alpha1.StepStatusPresent, nil
}

// updateDefinition updates a definition, except for the annotations of the operators it was installed with.
func (x *execution) updateDefinition(
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

// annotationAlongside is the prefix of a definition's annotations for the operators it was installed with.
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

// sameAnnotations reports whether two definitions have the same annotations, except for the operators they were
// installed with. It does not copy annotations, because there may be one for every operator of every namespace.
func sameAnnotations(a, b map[string]string) bool {
	includes := func(a, b map[string]string) bool {
		for key, value := range b {
			if other, ok := a[key]; !isAlongside(key, "") && (!ok || other != value) {
				return false
			}
		}
		return true
	}
	return includes(a, b) && includes(b, a)
}

// addAlongside adds the annotation that a definition is installed with an operator, and reports whether it is new.
// Annotations of operators that no longer exist are removed. The definition is copied once, and its annotations are
// then changed in place, because there may be one for every operator of every namespace.
func (x *execution) addAlongside(o storedDefinition, owner types.NamespacedName) bool {
	key, value := alongsideAnnotation(owner)
	if o.Value.Annotations[key] == value {
		return false
	}
	if x.ownDefinitions[o.Value.Name] != o.Value {
		o.Value = o.Value.DeepCopy()
		for key, other := range alongside(o.Value.Annotations) {
			if !x.isOriginal(other) {
				delete(o.Value.Annotations, key)
			}
		}
		x.State.CustomResourceDefinitions.Put(o)
		x.ownDefinitions[o.Value.Name] = o.Value
	}
	metav1.SetMetaDataAnnotation(&o.Value.ObjectMeta, key, value)
	return true
}

// removeAlongside removes the annotation of a replaced operator from the definitions that it was installed with. OLM
// does so when it executes the InstallPlan of the next operator again, which happens for most InstallPlans.
func (r *run) removeAlongside(gone *v1alpha1.ClusterServiceVersion) {
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

// alongsideAnnotation returns the annotation for an operator that a definition was installed with.
func alongsideAnnotation(owner types.NamespacedName) (key, value string) {
	hash := fnv.New64a()
	hash.Write([]byte(owner.String()))
	return fmt.Sprintf("%s%x", annotationAlongside, hash.Sum64()), owner.String()
}

// isOriginal reports whether a ClusterServiceVersion exists that is not a copy.
func (r *run) isOriginal(name types.NamespacedName) bool {
	o, ok := r.State.ClusterServiceVersions.Get(name.Namespace, name.Name)
	return ok && !o.Value.IsCopied()
}

// checkVersion returns OLM's error if the cluster does not serve the version of a CustomResourceDefinition.
func (x *execution) checkVersion(crd *apiextensionsv1.CustomResourceDefinition) error {
	of := crd.GroupVersionKind()
	if of.Version == apiextensionsv1.SchemeGroupVersion.Version {
		return nil
	}
	removed, _ := platform.RemovedIn(of.GroupVersion().String(), of.Kind)
	if x.opts.KubeVersion == "" {
		x.assume(fmt.Sprintf("the version of Kubernetes is not known: it is assumed not to serve %s, as since %s",
			of.GroupVersion(), removed))
	} else if !x.removed(of) {
		return nil
	}
	return &notServedError{of, crd.Name}
}

// checkUpdate returns the error with which OLM refuses to update a definition.
func (x *execution) checkUpdate(old, crd *apiextensionsv1.CustomResourceDefinition) error {
	of := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
	resources, err := updatecheck.Resources(x.State, of)
	if err != nil {
		return err
	}
	if len(resources) == 0 && !x.input.Has(of) && !equality.Semantic.DeepEqual(old.Spec.Versions, crd.Spec.Versions) {
		x.assume("custom resources that are missing from the state match the new schemas of their definitions")
	}
	for _, f := range updatecheck.Compare(graph.Classic, old, crd, resources) {
		if f.Severity != problem.Warning {
			return errors.New(f.Message)
		}
	}
	return nil
}

func versionsOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	var names []string
	for _, v := range crd.Spec.Versions {
		names = append(names, v.Name)
	}
	return strings.Join(names, ", ")
}

// addVersions replaces the spec of crd, whose manifest only lists versions, with the spec of old and the missing
// versions.
func addVersions(crd, old *apiextensionsv1.CustomResourceDefinition) {
	versions := slices.Clone(old.Spec.Versions)
	for _, v := range crd.Spec.Versions {
		isIt := func(w apiextensionsv1.CustomResourceDefinitionVersion) bool { return w.Name == v.Name }
		if !slices.ContainsFunc(versions, isIt) {
			v.Storage = false
			versions = append(versions, v)
		}
	}
	crd.Spec = *old.Spec.DeepCopy()
	crd.Spec.Versions, crd.Annotations = versions, old.Annotations
}

// accept sets the status of a definition to accepted, as the API server does.
func accept(crd *apiextensionsv1.CustomResourceDefinition) {
	status := &crd.Status
	status.AcceptedNames = crd.Spec.Names
	for _, of := range []apiextensionsv1.CustomResourceDefinitionConditionType{
		apiextensionsv1.NamesAccepted, apiextensionsv1.Established,
	} {
		if apihelpers.FindCRDCondition(crd, of) == nil {
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
