package cluster

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A kind is a kind of objects that a State has a list of.
type kind struct {
	apiVersion, name string

	// load reads the object at ptr, whose identity has only the kind so far.
	load func(r *documentReader, raw jsontext.Value, ptr jsontext.Pointer, id identity)
}

const (
	operatorsV1      = "operators.coreos.com/v1"
	operatorsV1Alpha = "operators.coreos.com/v1alpha1"
	olmV1            = "olm.operatorframework.io/v1"
)

var kinds = []kind{
	{"v1", "Namespace", loadInto(func(s *State) *Store[*corev1.Namespace] { return &s.Namespaces }, nil)},
	{operatorsV1, operatorsv1.OperatorGroupKind, loadInto(
		func(s *State) *Store[*operatorsv1.OperatorGroup] { return &s.OperatorGroups },
		func(g *operatorsv1.OperatorGroup) flaws { return checkNamespace(g) },
	)},
	{operatorsV1Alpha, v1alpha1.CatalogSourceKind, loadInto(
		func(s *State) *Store[*v1alpha1.CatalogSource] { return &s.CatalogSources },
		func(c *v1alpha1.CatalogSource) flaws {
			return checkNamespace(c).need("/spec/sourceType", string(c.Spec.SourceType))
		},
	)},
	{operatorsV1Alpha, v1alpha1.SubscriptionKind, loadInto(
		func(s *State) *Store[*v1alpha1.Subscription] { return &s.Subscriptions }, checkSubscription,
	)},
	{operatorsV1Alpha, v1alpha1.ClusterServiceVersionKind, loadInto(
		func(s *State) *Store[*v1alpha1.ClusterServiceVersion] { return &s.ClusterServiceVersions },
		func(c *v1alpha1.ClusterServiceVersion) flaws { return checkNamespace(c) },
	)},
	{operatorsV1Alpha, v1alpha1.InstallPlanKind, loadInto(
		func(s *State) *Store[*v1alpha1.InstallPlan] { return &s.InstallPlans },
		func(p *v1alpha1.InstallPlan) flaws { return checkNamespace(p) },
	)},
	{olmV1, "ClusterCatalog", loadInto(
		func(s *State) *Store[*Catalog] { return &s.ClusterCatalogs }, (*Catalog).check,
	)},
	{olmV1, "ClusterExtension", loadInto(
		func(s *State) *Store[*Extension] { return &s.ClusterExtensions }, (*Extension).check,
	)},
}

func checkSubscription(s *v1alpha1.Subscription) flaws {
	if s.Spec == nil {
		s.Spec = &v1alpha1.SubscriptionSpec{}
	}
	return checkNamespace(s).
		need("/spec/name", s.Spec.Package).
		need("/spec/source", s.Spec.CatalogSource).
		need("/spec/sourceNamespace", s.Spec.CatalogSourceNamespace)
}

func checkNamespace(o metav1.Object) flaws {
	return flaws(nil).need("/metadata/namespace", o.GetNamespace())
}

// flaws are the reasons why an object cannot be used.
type flaws []flaw

type flaw struct {
	ptr jsontext.Pointer
	err error
}

// need adds a flaw if the value of a field is empty.
func (f flaws) need(ptr jsontext.Pointer, value string) flaws {
	if value != "" {
		return f
	}
	return append(f, flaw{ptr, errors.New("it is required")})
}

// loadInto returns the load of a kind that has a list in a State. All objects need a name; check, which may be nil,
// says what else is wrong.
func loadInto[T any, P interface {
	*T
	Kubernetes
}](store func(*State) *Store[P], check func(P) flaws,
) func(*documentReader, jsontext.Value, jsontext.Pointer, identity) {
	return func(r *documentReader, raw jsontext.Value, ptr jsontext.Pointer, id identity) {
		v := P(new(T))
		if !r.decode(raw, ptr, v) {
			return
		}
		id.name, id.namespace = v.GetName(), v.GetNamespace()
		wrong := flaws(nil).need("/metadata/name", id.name)
		if check != nil {
			wrong = append(wrong, check(v)...)
		}
		for _, f := range wrong {
			r.wrong(ptr+f.ptr, "%s: %w", id, f.err)
		}
		if wrong == nil {
			r.add(ptr, func(pos declcfg.Pos) { put(r.loader, store(r.State), id, Object[P]{v, pos}) })
		}
	}
}

// put adds an object, unless there is one of its name.
func put[P Kubernetes](l *loader, s *Store[P], id identity, o Object[P]) {
	if first, ok := s.Get(id.namespace, id.name); ok {
		l.fail(o.Pos, "", fmt.Errorf("%s is already defined at %s", id, first.Pos))
		return
	}
	o.Value.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(id.apiVersion, id.kind))
	s.Put(o)
}

// String returns the kind and the name.
func (id identity) String() string {
	name := strconv.Quote(id.name)
	if id.namespace != "" {
		name = strconv.Quote(id.namespace + "/" + id.name)
	}
	return id.kind + " " + name
}
