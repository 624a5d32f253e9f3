// Package cluster reads the objects of a Kubernetes cluster from which the Operator Lifecycle Manager resolves, from
// manifests as kubectl prints them.
//
//	state, err := cluster.Load(ctx, nil, declcfg.Source{Name: "state", FS: os.DirFS("state")})
//	for s := range state.Subscriptions.All() {
//		fmt.Println(s.Pos, s.Value.Namespace, s.Value.Spec.Package)
//	}
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A State has the objects of a cluster. The zero State is empty.
type State struct {
	Namespaces                Store[*corev1.Namespace]
	ServiceAccounts           Store[*corev1.ServiceAccount]
	Deployments               Store[*appsv1.Deployment]
	CustomResourceDefinitions Store[*apiextensionsv1.CustomResourceDefinition]
	APIServices               Store[*APIService]
	Roles                     Store[*rbacv1.Role]
	RoleBindings              Store[*rbacv1.RoleBinding]
	ClusterRoles              Store[*rbacv1.ClusterRole]
	ClusterRoleBindings       Store[*rbacv1.ClusterRoleBinding]
	MutatingWebhooks          Store[*admissionv1.MutatingWebhookConfiguration]
	ValidatingWebhooks        Store[*admissionv1.ValidatingWebhookConfiguration]

	OperatorGroups         Store[*operatorsv1.OperatorGroup]
	CatalogSources         Store[*v1alpha1.CatalogSource]
	Subscriptions          Store[*v1alpha1.Subscription]
	ClusterServiceVersions Store[*v1alpha1.ClusterServiceVersion]
	InstallPlans           Store[*v1alpha1.InstallPlan]
	OperatorConditions     Store[*operatorsv2.OperatorCondition]
	OLMConfigs             Store[*operatorsv1.OLMConfig]
	ClusterCatalogs        Store[*Catalog]
	ClusterExtensions      Store[*Extension]

	Infos  Store[*kube.Info]                   // of a live cluster; none in other states
	Others map[schema.GroupKind]*Store[*Other] // such as custom resources
}

// Load reads the manifests of the sources: in a directory, every file whose name ends in .yaml, .yml or .json, except
// hidden files, and in the output of "oc adm must-gather" only the objects. A file may have several documents, and
// Lists. The objects of a source with the name of a live cluster, as in package kube, have their name as the
// position, and no line.
//
// The cluster ignores unknown keys, and OLM takes some invalid values as others: warn, unless it is nil, is called for
// each of them, sorted by position.
//
// The error joins a [*declcfg.Error] for each unusable object, sorted by position. The State has all other objects. If
// several objects have the same kind, namespace and name, the first is used. If ctx ends, the State is nil.
func Load(ctx context.Context, warn func(*declcfg.Error), sources ...declcfg.Source) (*State, error) {
	l := &loader{State: &State{}}
	for _, s := range sources {
		if err := l.source(ctx, s); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(l.warnings, func(a, b *declcfg.Error) int { return place.CompareErrors(a, b) })
	for _, w := range l.warnings {
		if warn != nil {
			warn(w)
		}
	}
	return l.State, place.JoinErrors(l.errs)
}

// source reads the files of a source. The error is ctx.Err().
func (l *loader) source(ctx context.Context, s declcfg.Source) error {
	if s.File != "" {
		l.file(s.FS, s.File, s.Name)
		return ctx.Err()
	}
	gathered := map[string]bool{} // the directories that must-gather wrote
	return fs.WalkDir(s.FS, ".", func(name string, d fs.DirEntry, err error) error {
		label := strings.TrimSuffix(s.Name, "/") + "/" + name
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			l.fail(declcfg.Pos{File: label}, "", regular.WithoutPath(err))
		case name == ".":
			gathered[name] = isGathered(s.FS, name)
		case gathered[path.Dir(name)] && !slices.Contains(gatheredObjects, d.Name()),
			strings.HasPrefix(d.Name(), "."): // as in the volume of a ConfigMap
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			gathered[name] = strings.Count(name, "/") < 2 && isGathered(s.FS, name)
		case slices.Contains(manifestExtensions, path.Ext(name)):
			l.file(s.FS, name, label)
		}
		return nil
	})
}

// manifestExtensions are the extensions of files with manifests.
var manifestExtensions = []string{".yaml", ".yml", ".json"}

// gatheredObjects are the directories of a must-gather that have the objects of a cluster.
var gatheredObjects = []string{"cluster-scoped-resources", "namespaces"}

// isGathered reports whether must-gather wrote a directory. Besides objects, such a directory has logs and other data
// of the cluster.
func isGathered(fsys fs.FS, dir string) bool {
	info, err := fs.Stat(fsys, path.Join(dir, gatheredObjects[0]))
	return err == nil && info.IsDir()
}

// A loader adds the objects of manifests to a State.
type loader struct {
	*State
	errs     []error
	warnings []*declcfg.Error
}

func (l *loader) fail(pos declcfg.Pos, ptr jsontext.Pointer, err error) {
	l.errs = append(l.errs, &declcfg.Error{Pos: pos, Pointer: ptr, Err: err})
}

func (l *loader) warn(pos declcfg.Pos, ptr jsontext.Pointer, err error) {
	l.warnings = append(l.warnings, &declcfg.Error{Pos: pos, Pointer: ptr, Err: err})
}

// file reads a file. Positions use label as the name of the file.
func (l *loader) file(fsys fs.FS, name, label string) {
	f, info, err := regular.Open(fsys, name)
	if err != nil {
		l.fail(declcfg.Pos{File: label}, "", regular.WithoutPath(err))
		return
	}
	defer f.Close()
	r, ok := f.(io.ReaderAt)
	if !ok {
		l.fail(declcfg.Pos{File: label}, "", errors.ErrUnsupported)
		return
	}
	for doc, err := range document.All(r, info.Size()) {
		e, hasPlace := errors.AsType[*document.Error](err)
		switch {
		case doc != nil:
			reader := documentReader{loader: l, label: label}
			reader.read(doc)
		case hasPlace:
			l.fail(e.Place.Pos(label), "", e.Err)
		default:
			l.fail(declcfg.Pos{File: label}, "", regular.WithoutPath(err))
		}
	}
}

// A documentReader reads the objects of one document. It delays the calls that need a position, so that one pass at the
// end finds all positions.
type documentReader struct {
	*loader
	label   string
	live    string // the name of the object of a live cluster, as the place in positions; "" for files
	pending []positionedCall
}

// A positionedCall is a delayed call of do with the position of the value at ptr.
type positionedCall struct {
	ptr jsontext.Pointer
	key bool // the position of its key instead
	do  func(declcfg.Pos)
}

func (r *documentReader) read(doc *document.Document) {
	r.live = liveName(r.label, doc.JSON)
	r.object(doc.JSON, "", metav1.TypeMeta{}, 0)
	ptrs := make([]jsontext.Pointer, len(r.pending))
	for i, p := range r.pending {
		ptrs[i] = p.ptr
	}
	for i, v := range doc.Find(ptrs...) {
		at := v.Place
		if r.pending[i].key {
			at = v.Key
		}
		r.pending[i].do(r.pos(at))
	}
	if !doc.Repaired {
		return
	}
	for d := range doc.Duplicates() {
		r.fail(r.pos(d.Repeat), "", fmt.Errorf("key %q is already defined at %s", d.Key, r.pos(d.First)))
	}
}

// pos returns the position of a place. Nobody can open the text of a live cluster at a line: there it is the object.
func (r *documentReader) pos(at document.Place) declcfg.Pos {
	if r.live != "" {
		return declcfg.Pos{File: r.live}
	}
	return at.Pos(r.label)
}

// liveName returns the name of an object of a live cluster, such as "kube:staging: Subscription pottery/kiln"; "" if
// the label is of a file.
func liveName(label string, raw jsontext.Value) string {
	if _, ok := kube.Context(label); !ok {
		return ""
	}
	var o metav1.PartialObjectMetadata
	_ = json.Unmarshal(raw, &o, options) // an object that cannot be read is an error elsewhere
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return strings.TrimSuffix(label, ":") + ": " + o.Kind + " " + name
}

// failAt records an error about the value at ptr.
func (r *documentReader) failAt(ptr jsontext.Pointer, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	r.withPosition(ptr, func(pos declcfg.Pos) { r.fail(pos, ptr, err) })
}

// warnAt records a warning about the value at ptr.
func (r *documentReader) warnAt(ptr jsontext.Pointer, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	r.withPosition(ptr, func(pos declcfg.Pos) { r.warn(pos, ptr, err) })
}

// withPosition delays a call of do until the position of the value at ptr is known.
func (r *documentReader) withPosition(ptr jsontext.Pointer, do func(declcfg.Pos)) {
	r.pending = append(r.pending, positionedCall{ptr: ptr, do: do})
}

// warnOfKey records a warning about the key of the value at ptr.
func (r *documentReader) warnOfKey(ptr jsontext.Pointer, err error) {
	r.pending = append(r.pending, positionedCall{ptr, true, func(pos declcfg.Pos) {
		r.warn(pos, ptr.Parent(), err)
	}})
}

// maxDepth is the maximum depth of nested Lists. An inner List is read again for each List around it.
const maxDepth = 8

// object reads the object at ptr. The items of a typed list need not repeat the type.
func (r *documentReader) object(raw jsontext.Value, ptr jsontext.Pointer, listed metav1.TypeMeta, depth int) {
	var head struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Items      jsontext.Value `json:"items"`
	}
	if !r.decode(raw, ptr, &head) {
		return
	}
	if head.Kind == "" && head.APIVersion == "" {
		head.APIVersion, head.Kind = listed.APIVersion, listed.Kind
	}
	if of, ok := strings.CutSuffix(head.Kind, "List"); ok && head.Items != nil {
		r.list(head.Items, ptr+"/items", metav1.TypeMeta{APIVersion: head.APIVersion, Kind: of}, depth+1)
		return
	}
	o, err := newObject(metav1.TypeMeta{APIVersion: head.APIVersion, Kind: head.Kind})
	switch {
	case errors.Is(err, errNoType):
		r.failAt(ptr, "%w", err)
	case err != nil:
		r.failAt(ptr+"/apiVersion", "%w", err)
	default:
		// Read the object at ptr into o, in which only the type is set.
		gvk := o.GetObjectKind().GroupVersionKind()
		if !r.decode(raw, ptr, o) {
			return
		}
		o.GetObjectKind().SetGroupVersionKind(gvk)
		k := kindOf(gvk.GroupKind())
		if k == nil {
			if unknown := similarKind(gvk.GroupKind()); unknown != nil {
				r.warnOfKey(ptr+"/kind", unknown)
			}
			if o.GetName() != "" { // a manifest without a name is the configuration of a tool
				r.withPosition(ptr, func(pos declcfg.Pos) { r.put(Object[Kubernetes]{Value: o, Pos: pos}) })
			}
			return
		}
		unknownKeys(raw, ptr, o, func(ptr jsontext.Pointer, err error) {
			r.warnOfKey(ptr, fmt.Errorf("%s: %w", nameOf(o), err))
		})
		wrong := k.check(o)
		for _, f := range wrong {
			if f.isAccepted() {
				r.warnAt(ptr+f.ptr, "%s: %w", nameOf(o), f.err)
				continue
			}
			r.failAt(ptr+f.ptr, "%s: %w", nameOf(o), f.err)
		}
		if !slices.ContainsFunc(wrong, func(f flaw) bool { return !f.isAccepted() }) {
			zeros := k.explicitZeros(raw)
			r.withPosition(ptr, func(pos declcfg.Pos) { r.put(Object[Kubernetes]{o, pos, zeros}) })
		}
	}
}

// put adds an object, unless one with the same kind, namespace and name exists. That is an error only if the two are
// known to be different objects: a must-gather has some objects twice, and some lists, such as PackageManifests, have
// several objects with the same name.
func (l *loader) put(o Object[Kubernetes]) {
	of := KindOf(o.Value)
	first, ok := l.Get(of, o.Value.GetNamespace(), o.Value.GetName())
	if !ok {
		l.Put(o)
		return
	}
	same := first.Value.GetUID() != "" && first.Value.GetUID() == o.Value.GetUID()
	if !same && kindOf(of) != nil {
		l.fail(o.Pos, "", fmt.Errorf("%s is already defined at %s", nameOf(o.Value), first.Pos))
	}
}

// list reads the items of a List.
func (r *documentReader) list(raw jsontext.Value, ptr jsontext.Pointer, of metav1.TypeMeta, depth int) {
	if depth > maxDepth {
		r.failAt(ptr, "more than %d Lists inside each other", maxDepth)
		return
	}
	if of.Kind == "" { // a List of any kinds
		of = metav1.TypeMeta{}
	}
	var items []jsontext.Value
	if !r.decode(raw, ptr, &items) {
		return
	}
	for i, item := range items {
		r.object(item, place.Item(ptr, i), of, depth)
	}
}

// options read JSON as clients of Kubernetes do, but with errors that have a position.
var options = json.JoinOptions(
	jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false), jsonv1.ReportErrorsWithLegacySemantics(false),
)

// decode reads the value at ptr into v, and reports whether it has the type of v.
func (r *documentReader) decode(raw jsontext.Value, ptr jsontext.Pointer, v any) bool {
	within, err := unmarshal(raw, v)
	if err != nil {
		r.failAt(ptr+within, "%w", err)
	}
	return err == nil
}

// unmarshal reads JSON into v. The pointer within refers to the value that an error is about.
func unmarshal(raw jsontext.Value, v any) (within jsontext.Pointer, err error) {
	if err = json.Unmarshal(raw, v, options, decoders); err == nil {
		return "", nil
	}
	within, message := place.TypeError(err)
	s, ok := errors.AsType[*json.SemanticError](err)
	reason, isReason := errors.AsType[*formError](err)
	switch {
	case isReason:
		message = reason
	case errors.Is(err, json.ErrUnknownName):
		message = errors.New("unknown field")
	case !ok:
	case s.JSONKind == jsontext.KindString && s.Err != nil && hasDecoder(s.GoType):
		message = s.Err
	}
	return within, message
}

// hasDecoder reports whether a type is a struct, or a pointer to one, that is decoded from a string.
func hasDecoder(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// isScalar reports whether a kind is a value without quotes and without elements.
func isScalar(k jsontext.Kind) bool {
	return k == jsontext.KindNumber || k == jsontext.KindTrue || k == jsontext.KindFalse
}
