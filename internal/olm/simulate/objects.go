package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/admission"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Controllers change the objects of a run only with create, update, put and remove, which record Events. The type of
// each object is set.

// create adds the missing objects, all of one kind and namespace, as one Event.
func create[P cluster.Kubernetes](r *run, text string, why reason, objects ...P) {
	missing := slices.DeleteFunc(slices.Clone(objects), func(o P) bool {
		_, ok := r.State.Get(cluster.KindOf(o), o.GetNamespace(), o.GetName())
		return ok
	})
	if len(missing) == 0 {
		return
	}
	var names []string
	for _, o := range missing {
		r.State.Put(cluster.Object[cluster.Kubernetes]{Value: o})
		names = append(names, o.GetName())
	}
	if len(names) > 1 {
		text += "; also " + plural.Some(names[1:])
	}
	r.event(cluster.Created, missing[0], declcfg.Pos{}, text, why)
}

// update changes a copy of an object and stores it if it differs. It returns the stored object.
func update[P cluster.Kubernetes](
	r *run, o cluster.Object[P], change func(P), text string, why reason,
) cluster.Object[P] {
	clone := o.Value.DeepCopyObject().(P)
	change(clone)
	if equality.Semantic.DeepEqual(o.Value, clone) {
		return o
	}
	o.Value = clone
	r.State.Put(cluster.Object[cluster.Kubernetes]{Value: clone, Pos: o.Pos, Zeros: o.Zeros})
	r.event(cluster.Updated, clone, o.Pos, text, why)
	return o
}

// put adds an object, or replaces the existing one, and reports whether it is new.
func (r *run) put(o cluster.Kubernetes, text string, why reason) (isNew bool) {
	old, ok := r.State.Get(cluster.KindOf(o), o.GetNamespace(), o.GetName())
	action := cluster.Created
	if ok {
		action = cluster.Updated
		o.SetUID(old.Value.GetUID())
		o.SetResourceVersion(old.Value.GetResourceVersion())
		o.SetCreationTimestamp(old.Value.GetCreationTimestamp())
		keepComponentLabels(o, old.Value.GetLabels())
		if same(old.Value, o) {
			return false
		}
	}
	r.State.Put(cluster.Object[cluster.Kubernetes]{Value: o, Pos: old.Pos})
	r.event(action, o, old.Pos, text, why)
	return !ok
}

// refusal returns the error of an API server that accepts neither the creation of an object nor, if one of its kind and
// name exists, the update of that object.
func (r *run) refusal(o cluster.Kubernetes) error {
	checked, err := typed(o)
	if err != nil {
		return err
	}
	found, ok := r.State.Get(cluster.KindOf(o), o.GetNamespace(), o.GetName())
	if !ok {
		return admission.Invalid(checked, admission.Create(checked))
	}
	old, err := typed(found.Value)
	if err != nil {
		return fmt.Errorf("%s of the state: %w", RefTo(found.Value), err) // no API server stores it
	}
	return admission.Invalid(checked, admission.Update(checked, old))
}

// typed returns an object as the type whose rules are known, or else the object itself. The error is that of an API
// server about a field of the wrong type.
func typed(o cluster.Kubernetes) (admission.Object, error) {
	gvk := o.GetObjectKind().GroupVersionKind()
	if _, ok := o.(*cluster.Other); !ok {
		return o, nil
	}
	object := admission.New(gvk)
	if object == nil {
		return o, nil
	}
	if err := cluster.As(o, object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, gvk.Kind, err))
	}
	return object, nil
}

// remove deletes an object.
func remove[P cluster.Kubernetes](r *run, o cluster.Object[P], text string, why reason) {
	r.State.Delete(cluster.KindOf(o.Value), o.Value.GetNamespace(), o.Value.GetName())
	r.event(cluster.Deleted, o.Value, o.Pos, text, why)
}

// same reports whether two objects are equal. The order of the fields of an Other does not matter.
func same(a, b cluster.Kubernetes) bool {
	x, isOther := a.(*cluster.Other)
	y, both := b.(*cluster.Other)
	if !isOther || !both {
		return equality.Semantic.DeepEqual(a, b)
	}
	before, err := x.Content()
	after, err2 := y.Content()
	return err == nil && err2 == nil && equality.Semantic.DeepEqual(before, after)
}

// keepComponentLabels copies the labels for the Operators that an object belongs to.
func keepComponentLabels(o cluster.Kubernetes, old map[string]string) {
	for key, value := range old {
		if strings.HasPrefix(key, "operators.coreos.com/") {
			o.SetLabels(with(o.GetLabels(), key, value))
		}
	}
}

// stored returns a copy of the stored object with the name of o, or o itself if there is none. The text is for the
// Event about the changes that the owner makes.
func stored[P cluster.Kubernetes](r *run, o P, owner string) (_ P, text string) {
	if found, ok := r.State.Get(cluster.KindOf(o), o.GetNamespace(), o.GetName()); ok {
		return found.Value.DeepCopyObject().(P), "as specified by " + owner
	}
	return o, "for " + owner
}

// The kinds of objects that are deleted with an operator: owned objects in its namespace, before the kinds without a
// field in State, and labelled objects without a namespace.
var (
	ownedKinds = []schema.GroupKind{
		{Group: operatorsv2.GroupVersion.Group, Kind: kindCondition}, {Group: appsv1.GroupName, Kind: "Deployment"},
		{Kind: "ServiceAccount"}, {Group: rbacv1.GroupName, Kind: "Role"}, {Group: rbacv1.GroupName, Kind: "RoleBinding"},
	}
	labelledKinds = []schema.GroupKind{
		{Group: rbacv1.GroupName, Kind: "ClusterRole"}, {Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"},
		{Group: "apiregistration.k8s.io", Kind: "APIService"},
		{Group: admissionv1.GroupName, Kind: "MutatingWebhookConfiguration"},
		{Group: admissionv1.GroupName, Kind: "ValidatingWebhookConfiguration"},
	}
)

// garbageCollect deletes the objects that a deleted operator owned, as Kubernetes and OLM do. If an object has other
// owners, it only removes the owner reference.
func (r *run) garbageCollect(gone *v1alpha1.ClusterServiceVersion) {
	why := computed("an object is deleted with its last owner")
	isGone := func(ref metav1.OwnerReference) bool {
		_, runs := r.State.ClusterServiceVersions.Get(gone.Namespace, ref.Name)
		_, reports := r.State.OperatorConditions.Get(gone.Namespace, ref.Name)
		return ref.Kind == v1alpha1.ClusterServiceVersionKind && !runs || ref.Kind == kindCondition && !reports
	}
	others := slices.SortedFunc(maps.Keys(r.State.Others), func(a, b schema.GroupKind) int {
		return strings.Compare(a.String(), b.String())
	})
	for _, of := range slices.Concat(ownedKinds, others) {
		for o := range r.State.In(of, gone.Namespace) {
			owners := o.Value.GetOwnerReferences()
			remaining := slices.DeleteFunc(slices.Clone(owners), isGone)
			switch {
			case len(remaining) == len(owners):
			case len(remaining) == 0:
				remove(r, o, "of "+gone.Name, why)
			default:
				update(r, o, func(o cluster.Kubernetes) { o.SetOwnerReferences(remaining) }, "no longer owned by "+gone.Name, why)
			}
		}
	}
	if gone.IsCopied() { // copies have no finalizer, because of which OLM would delete the other objects
		return
	}
	for _, of := range labelledKinds {
		for o := range r.State.In(of, "") {
			if operator.IsOwned(o.Value, gone) {
				remove(r, o, "of "+gone.Name, why)
			}
		}
	}
}
