// Package admission decides whether an API server accepts the objects of a bundle: their creation, and the update of
// the objects of an older version. The errors are in the words of the API server.
//
//	if errs := admission.Create(deployment); len(errs) > 0 {
//		return admission.Invalid(deployment, errs)
//	}
//
// It has the rules of Kubernetes for the kinds that OLM installs: required and mutually exclusive fields, immutable
// fields, the grammar of names and labels. CustomResourceDefinitions are checked by the library of Kubernetes. The
// validation of the other kinds is in the module k8s.io/kubernetes, which other modules cannot import at a bearable
// size, so [kinds] has the rules that manifests break, and the function of Kubernetes that each comes from. Fields
// that the API server fills in may be empty.
//
// Objects that these rules accept may still be refused: by rules for rarely used fields of pods, by admission webhooks
// and policies of a cluster, and by quotas.
package admission

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// An Object is an object of Kubernetes whose type is set.
type Object interface {
	metav1.Object
	runtime.Object
}

// A kind has the rules for the objects of a kind. Only the labels and annotations of other kinds are checked.
type kind struct {
	schema.GroupVersionKind
	older string                      // an older version with the same rules
	name  validation.ValidateNameFunc // nil if create and update check the metadata

	object func() Object
	create func(Object) field.ErrorList        // returns the problems outside of metadata; nil if there are no rules
	update func(o, old Object) field.ErrorList // returns the forbidden changes; nil if every field may change

	// onlyChanges is true for a kind whose updates are not checked like a creation.
	onlyChanges bool
}

// newKind returns the kind with a Go type. The rules may be nil.
func newKind[T any, P interface {
	*T
	Object
}](gv schema.GroupVersion, name string, create func(P) field.ErrorList, update func(o, old P) field.ErrorList) kind {
	k := kind{
		GroupVersionKind: gv.WithKind(name), name: validation.NameIsDNSSubdomain, object: func() Object { return P(new(T)) },
	}
	if create != nil {
		k.create = func(o Object) field.ErrorList { return create(o.(P)) }
	}
	if update != nil {
		k.update = func(o, old Object) field.ErrorList { return update(o.(P), old.(P)) }
	}
	return k
}

func (k kind) named(name validation.ValidateNameFunc) kind {
	k.name = name
	return k
}

func (k kind) orBeta() kind {
	k.older = "v1beta1"
	return k
}

func (k kind) forChangesOnly() kind {
	k.onlyChanges = true
	return k
}

func kindOf(gvk schema.GroupVersionKind) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool {
		return k.GroupKind() == gvk.GroupKind() && gvk.Version != "" && isIn(gvk.Version, k.Version, k.older)
	})
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// New returns an empty object of the type that [Create] and [Update] take for a kind, nil for a kind of which they only
// check the metadata: they take any type.
func New(gvk schema.GroupVersionKind) Object {
	k := kindOf(gvk)
	if k == nil {
		return nil
	}
	o := k.object()
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return o
}

// Create returns the errors with which an API server refuses to create an object, in the order in which it reports
// them. The namespace is not checked. Create panics if the type of the object is not the one that [New] returns.
func Create(o Object) field.ErrorList {
	k := kindOf(o.GetObjectKind().GroupVersionKind())
	errs := checkMeta(k, o)
	if k == nil || k.create == nil {
		return errs
	}
	return append(errs, k.create(o)...)
}

// Fixed returns an object with the fields that [Changes] compares, nil if an update may change all fields.
func Fixed(o Object) Object {
	k := kindOf(o.GetObjectKind().GroupVersionKind())
	if k == nil || k.update == nil {
		return nil
	}
	if d, ok := o.(*appsv1.Deployment); ok { // the only kind of which every version of an operator has another object
		return &appsv1.Deployment{
			TypeMeta: d.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: d.Name},
			Spec: appsv1.DeploymentSpec{Selector: d.Spec.Selector},
		}
	}
	return o
}

// Changes returns the errors of [Update] about changes that an API server forbids. Those about a
// CustomResourceDefinition are all errors about its update. Only the fields of [Fixed] have to be set.
func Changes(o, old Object) field.ErrorList {
	k := kindOf(o.GetObjectKind().GroupVersionKind())
	if k == nil || k.update == nil {
		return nil
	}
	return k.update(o, old)
}

// Update returns the errors with which an API server refuses to replace old with o, an object of the same kind and
// name. The types are as for [Create].
func Update(o, old Object) field.ErrorList {
	k := kindOf(o.GetObjectKind().GroupVersionKind())
	errs := checkMeta(k, o)
	if k != nil && k.create != nil && !k.onlyChanges {
		errs = append(errs, k.create(o)...)
	}
	return append(errs, Changes(o, old)...)
}

// Invalid returns the error of an API server that refuses an object, nil if there are no errors.
func Invalid(o Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(o.GetObjectKind().GroupVersionKind().GroupKind(), o.GetName(), errs)
}

// checkMeta checks the name, the labels, the annotations and the finalizers. The other metadata is not from manifests.
func checkMeta(k *kind, o Object) field.ErrorList {
	meta := metav1.ObjectMeta{
		Name: o.GetName(), GenerateName: o.GetGenerateName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
		Finalizers: o.GetFinalizers(),
	}
	name := validation.ValidateNameFunc(anyName)
	switch {
	case k != nil && k.name == nil:
		return nil
	case k != nil:
		name = k.name
	}
	return validation.ValidateObjectMeta(&meta, false, name, field.NewPath("metadata"))
}

func anyName(string, bool) []string { return nil }

// unsupported returns an error about a value that is neither empty nor in the list.
func unsupported[T ~string](at *field.Path, value T, valid ...T) field.ErrorList {
	if value == "" || slices.Contains(valid, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, value, valid)}
}

// required returns an error about an empty value.
func required(at *field.Path, value string) field.ErrorList {
	if value != "" {
		return nil
	}
	return field.ErrorList{field.Required(at, "")}
}

// invalid returns an error for each message.
func invalid(at *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(at, value, message))
	}
	return errs
}

// unique reports values that occur twice.
type unique[T comparable] map[T]bool

func (u unique[T]) add(at *field.Path, value T) field.ErrorList {
	if u[value] {
		return field.ErrorList{field.Duplicate(at, value)}
	}
	u[value] = true
	return nil
}

// forbiddenChange returns an error about a field that may not change if an object is immutable.
func forbiddenChange(name string) *field.Error {
	return field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set")
}
