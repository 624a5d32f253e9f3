package cluster

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/place"
)

// An Other is an object whose kind has no field in State. It keeps all its fields.
type Other struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Unknown jsontext.Value `json:",embed"` // all other fields, as one JSON object; not to be changed in place
}

// DeepCopyObject returns a copy that shares the other fields, as runtime.Object requires.
func (o *Other) DeepCopyObject() runtime.Object {
	clone := *o
	clone.ObjectMeta = *o.ObjectMeta.DeepCopy()
	return &clone
}

// Content returns the object with the types that libraries of Kubernetes expect.
func (o *Other) Content() (map[string]any, error) {
	raw, err := json.Marshal(o, options)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	err = utiljson.Unmarshal(raw, &content)
	return content, err
}

// Decode returns the object of a manifest in JSON, of the type that a State has for its kind. Unknown fields are
// dropped, as in a cluster, unless it is an [*Other]. An error names the field.
func Decode(manifest jsontext.Value) (Kubernetes, error) {
	var head metav1.TypeMeta
	if err := Unmarshal(manifest, &head); err != nil {
		return nil, err
	}
	o, err := newObject(head)
	if err != nil {
		return nil, err
	}
	gvk := o.GetObjectKind().GroupVersionKind()
	if err := Unmarshal(manifest, o); err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return o, nil
}

// Unmarshal reads JSON into an object or a part of one, by the rules of a cluster. The error names the invalid value.
func Unmarshal(raw jsontext.Value, v any) error {
	ptr, err := unmarshal(raw, v)
	if ptr == "" {
		return err
	}
	return fmt.Errorf("%s: %w", place.Path(ptr), err)
}

// As reads an object into a value of another type that has some of its fields, such as a [*corev1.Pod] or a struct with
// a part of the status. Other fields are dropped. The error names the invalid value.
func As(o Kubernetes, v any) error {
	raw, err := json.Marshal(o, options)
	if err != nil {
		return err
	}
	return Unmarshal(raw, v)
}

var errNoType = errors.New("not an object of Kubernetes: it has no apiVersion or no kind")

// newObject returns an empty object of a type.
func newObject(of metav1.TypeMeta) (Kubernetes, error) {
	if of.Kind == "" || of.APIVersion == "" {
		return nil, errNoType
	}
	gvk := of.GroupVersionKind()
	k := kindOf(gvk.GroupKind())
	if k == nil {
		return &Other{TypeMeta: of}, nil
	}
	if gvk.Version != k.Version && gvk.Version != k.older {
		return nil, fmt.Errorf("unknown version %q of %s, want %q", of.APIVersion, of.Kind, k.GroupVersion())
	}
	o := k.create()
	o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return o, nil
}

// Get returns an object, and whether it exists. Objects without a namespace are in namespace "".
func (s *State) Get(of schema.GroupKind, namespace, name string) (o Object[Kubernetes], ok bool) {
	if store := s.storeOf(of); store != nil {
		return store.get(namespace, name)
	}
	return o, false
}

// Put adds an object, or replaces the existing one of its kind and name. Its type must be set, to the type that
// [Decode] returns.
func (s *State) Put(o Object[Kubernetes]) {
	of := KindOf(o.Value)
	if s.storeOf(of) == nil {
		if s.Others == nil {
			s.Others = map[schema.GroupKind]*Store[*Other]{}
		}
		s.Others[of] = &Store[*Other]{}
	}
	s.storeOf(of).put(o)
}

// Delete removes an object if it exists.
func (s *State) Delete(of schema.GroupKind, namespace, name string) {
	if store := s.storeOf(of); store != nil {
		store.Delete(namespace, name)
	}
}

// All yields all objects: kind by kind, in a fixed order, then by namespace and name.
func (s *State) All() iter.Seq[Object[Kubernetes]] {
	return func(yield func(Object[Kubernetes]) bool) {
		for _, store := range s.stores() {
			for o := range store.all() {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// In yields the objects of a kind in a namespace by name, as [Store.In] does.
func (s *State) In(of schema.GroupKind, namespace string) iter.Seq[Object[Kubernetes]] {
	if store := s.storeOf(of); store != nil {
		return store.in(namespace)
	}
	return func(func(Object[Kubernetes]) bool) {}
}

// Clone returns a new State that shares the objects.
func (s *State) Clone() *State {
	clone := &State{Others: maps.Clone(s.Others)}
	for _, k := range kinds {
		k.store(clone).share(k.store(s))
	}
	for of, store := range clone.Others {
		c := store.Clone()
		clone.Others[of] = &c
	}
	return clone
}

// storeOf returns the Store of a kind, nil if State has no field for the kind and no objects of it.
func (s *State) storeOf(of schema.GroupKind) anyStore {
	if k := kindOf(of); k != nil {
		return k.store(s)
	}
	if store := s.Others[of]; store != nil {
		return store
	}
	return nil
}

// stores returns all Stores: the fields in the order of kinds, then the Others by kind and group.
func (s *State) stores() []anyStore {
	var all []anyStore
	for _, k := range kinds {
		all = append(all, k.store(s))
	}
	for _, of := range slices.SortedFunc(maps.Keys(s.Others), func(a, b schema.GroupKind) int {
		return strings.Compare(a.String(), b.String())
	}) {
		all = append(all, s.Others[of])
	}
	return all
}

// An anyStore is a Store of any kind.
type anyStore interface {
	get(namespace, name string) (Object[Kubernetes], bool)
	put(o Object[Kubernetes])
	all() iter.Seq[Object[Kubernetes]]
	in(namespace string) iter.Seq[Object[Kubernetes]]
	share(of anyStore)
	Delete(namespace, name string)
}

func (s *Store[P]) get(namespace, name string) (Object[Kubernetes], bool) {
	o, ok := s.Get(namespace, name)
	return Object[Kubernetes]{o.Value, o.Pos, o.Zeros}, ok
}

func (s *Store[P]) put(o Object[Kubernetes]) { s.Put(Object[P]{o.Value.(P), o.Pos, o.Zeros}) }

func (s *Store[P]) all() iter.Seq[Object[Kubernetes]] { return ofAnyKind(s.All()) }

func (s *Store[P]) in(namespace string) iter.Seq[Object[Kubernetes]] {
	return ofAnyKind(s.In(namespace))
}

func ofAnyKind[P Kubernetes](objects iter.Seq[Object[P]]) iter.Seq[Object[Kubernetes]] {
	return func(yield func(Object[Kubernetes]) bool) {
		for o := range objects {
			if !yield(Object[Kubernetes]{o.Value, o.Pos, o.Zeros}) {
				return
			}
		}
	}
}

// share makes s a clone of another Store of the same type.
func (s *Store[P]) share(of anyStore) { *s = of.(*Store[P]).Clone() }

// A kind is a kind of objects with its own field in State.
type kind struct {
	schema.GroupVersionKind
	create func() Kubernetes
	store  func(*State) anyStore
	check  func(Kubernetes) flaws // returns the problems of an object
	older  string                 // an older version, which has a subset of the fields
	zeros  []string               // the numbers and booleans of the spec that the Go type omits if they are 0 or false
}

const (
	operatorsV1      = "operators.coreos.com/v1"
	operatorsV1Alpha = "operators.coreos.com/v1alpha1"
	operatorsV2      = "operators.coreos.com/v2"
	olmV1            = "olm.operatorframework.io/v1"
	rbacV1           = "rbac.authorization.k8s.io/v1"
	admissionV1      = "admissionregistration.k8s.io/v1"
)

var kinds = []kind{
	newKind("v1", "Namespace", func(s *State) *Store[*corev1.Namespace] { return &s.Namespaces }),
	newKind("v1", "ServiceAccount",
		func(s *State) *Store[*corev1.ServiceAccount] { return &s.ServiceAccounts }, inNamespace),
	newKind("apps/v1", "Deployment",
		func(s *State) *Store[*appsv1.Deployment] { return &s.Deployments }, inNamespace),
	newKind("apiextensions.k8s.io/v1", "CustomResourceDefinition",
		func(s *State) *Store[*apiextensionsv1.CustomResourceDefinition] { return &s.CustomResourceDefinitions }),
	newKind("apiregistration.k8s.io/v1", "APIService",
		func(s *State) *Store[*APIService] { return &s.APIServices }),
	newKind(rbacV1, "Role", func(s *State) *Store[*rbacv1.Role] { return &s.Roles }, inNamespace),
	newKind(rbacV1, "RoleBinding", func(s *State) *Store[*rbacv1.RoleBinding] { return &s.RoleBindings }, inNamespace),
	newKind(rbacV1, "ClusterRole", func(s *State) *Store[*rbacv1.ClusterRole] { return &s.ClusterRoles }),
	newKind(rbacV1, "ClusterRoleBinding",
		func(s *State) *Store[*rbacv1.ClusterRoleBinding] { return &s.ClusterRoleBindings }),
	newKind(admissionV1, "MutatingWebhookConfiguration",
		func(s *State) *Store[*admissionv1.MutatingWebhookConfiguration] { return &s.MutatingWebhooks }),
	newKind(admissionV1, "ValidatingWebhookConfiguration",
		func(s *State) *Store[*admissionv1.ValidatingWebhookConfiguration] { return &s.ValidatingWebhooks }),

	newKind(operatorsV1, operatorsv1.OperatorGroupKind,
		func(s *State) *Store[*operatorsv1.OperatorGroup] { return &s.OperatorGroups }, inNamespace, checkOperatorGroup).
		omitting("staticProvidedAPIs"),
	newKind(operatorsV1Alpha, v1alpha1.CatalogSourceKind,
		func(s *State) *Store[*v1alpha1.CatalogSource] { return &s.CatalogSources }, inNamespace, checkCatalogSource).
		omitting("priority"),
	newKind(operatorsV1Alpha, v1alpha1.SubscriptionKind,
		func(s *State) *Store[*v1alpha1.Subscription] { return &s.Subscriptions }, inNamespace, checkSubscription),
	newKind(operatorsV1Alpha, v1alpha1.ClusterServiceVersionKind,
		func(s *State) *Store[*v1alpha1.ClusterServiceVersion] { return &s.ClusterServiceVersions },
		inNamespace, checkClusterServiceVersion),
	newKind(operatorsV1Alpha, v1alpha1.InstallPlanKind,
		func(s *State) *Store[*v1alpha1.InstallPlan] { return &s.InstallPlans }, inNamespace, checkInstallPlan),
	newKind(operatorsV2, "OperatorCondition",
		func(s *State) *Store[*operatorsv2.OperatorCondition] { return &s.OperatorConditions }, inNamespace).orOlder("v1"),
	newKind(operatorsV1, "OLMConfig",
		func(s *State) *Store[*operatorsv1.OLMConfig] { return &s.OLMConfigs }, checkOLMConfig),
	newKind(olmV1, "ClusterCatalog", func(s *State) *Store[*Catalog] { return &s.ClusterCatalogs }, (*Catalog).check),
	newKind(olmV1, "ClusterExtension",
		func(s *State) *Store[*Extension] { return &s.ClusterExtensions }, (*Extension).check),
	newKind(kube.InfoAPIVersion, kube.InfoKind, func(s *State) *Store[*kube.Info] { return &s.Infos }),
}

// newKind returns a kind whose objects are in a Store. Every object needs a name; checks return other problems.
func newKind[T any, P interface {
	*T
	Kubernetes
}](apiVersion, name string, store func(*State) *Store[P], checks ...func(P) flaws) kind {
	return kind{
		GroupVersionKind: schema.FromAPIVersionAndKind(apiVersion, name),
		create:           func() Kubernetes { return P(new(T)) },
		store:            func(s *State) anyStore { return store(s) },
		check: func(o Kubernetes) flaws {
			wrong := flaws(nil).require("/metadata/name", o.GetName())
			for _, check := range checks {
				wrong = append(wrong, check(o.(P))...)
			}
			return wrong
		},
	}
}

func (k kind) orOlder(version string) kind {
	k.older = version
	return k
}

func (k kind) omitting(zeros ...string) kind {
	k.zeros = zeros
	return k
}

// kindOf returns the kind for a group and kind name, nil if State has no field for it.
func kindOf(gk schema.GroupKind) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.GroupKind() == gk })
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

func inNamespace[P Kubernetes](o P) flaws {
	return flaws(nil).require("/metadata/namespace", o.GetNamespace())
}

func checkCatalogSource(c *v1alpha1.CatalogSource) flaws {
	wrong := flaws(nil).require("/spec/sourceType", string(c.Spec.SourceType))
	wrong = append(wrong, known("/spec/sourceType", c.Spec.SourceType, "OLM refuses it",
		v1alpha1.SourceTypeGrpc, v1alpha1.SourceTypeConfigmap, v1alpha1.SourceTypeInternal)...)
	if u := c.Spec.UpdateStrategy; u != nil && u.RegistryPoll != nil && u.RawInterval != "" && u.ParsingError != "" {
		wrong = append(wrong, flaw{"/spec/updateStrategy/registryPoll/interval", accepted{fmt.Errorf(
			"want a duration such as \"10m\", found %q: OLM polls every %v", u.RawInterval,
			v1alpha1.DefaultRegistryPollDuration)}})
	}
	if config := c.Spec.GrpcPodConfig; config != nil {
		switch config.SecurityContextConfig {
		case "", v1alpha1.Legacy, v1alpha1.Restricted:
		default:
			wrong = append(wrong, flaw{"/spec/grpcPodConfig/securityContextConfig", fmt.Errorf(
				"unknown value %q, want %q or %q", config.SecurityContextConfig, v1alpha1.Legacy, v1alpha1.Restricted)})
		}
	}
	return wrong
}

func checkSubscription(s *v1alpha1.Subscription) flaws {
	if s.Spec == nil {
		s.Spec = &v1alpha1.SubscriptionSpec{}
	}
	wrong := flaws(nil).
		require("/spec/name", s.Spec.Package).
		require("/spec/source", s.Spec.CatalogSource).
		require("/spec/sourceNamespace", s.Spec.CatalogSourceNamespace)
	wrong = append(wrong, known("/spec/installPlanApproval", s.Spec.InstallPlanApproval, asAutomatic,
		v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalManual)...)
	return append(wrong, known("/status/state", s.Status.State, notSet, v1alpha1.SubscriptionStateFailed,
		v1alpha1.SubscriptionStateUpgradeAvailable, v1alpha1.SubscriptionStateUpgradePending,
		v1alpha1.SubscriptionStateAtLatest)...)
}

// The effects of values that OLM does not know.
const (
	asAutomatic = "OLM takes it as Automatic"
	notSet      = "OLM does not set it"
)

func checkInstallPlan(p *v1alpha1.InstallPlan) flaws {
	return append(
		known("/spec/approval", p.Spec.Approval, asAutomatic, v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalManual),
		known("/status/phase", p.Status.Phase, notSet, v1alpha1.InstallPlanPhasePlanning,
			v1alpha1.InstallPlanPhaseRequiresApproval, v1alpha1.InstallPlanPhaseInstalling,
			v1alpha1.InstallPlanPhaseComplete, v1alpha1.InstallPlanPhaseFailed)...)
}

func checkClusterServiceVersion(c *v1alpha1.ClusterServiceVersion) flaws {
	return known("/status/phase", c.Status.Phase, notSet, v1alpha1.CSVPhasePending, v1alpha1.CSVPhaseInstallReady,
		v1alpha1.CSVPhaseInstalling, v1alpha1.CSVPhaseSucceeded, v1alpha1.CSVPhaseFailed, v1alpha1.CSVPhaseUnknown,
		v1alpha1.CSVPhaseReplacing, v1alpha1.CSVPhaseDeleting)
}

// AnnotationExcludeGlobal hides the global catalogs from the namespace of an OperatorGroup if it is "true".
const AnnotationExcludeGlobal = "olm.operatorframework.io/exclude-global-namespace-resolution"

func checkOperatorGroup(g *operatorsv1.OperatorGroup) flaws {
	ptr := jsontext.Pointer("/metadata/annotations").AppendToken(AnnotationExcludeGlobal)
	wrong := known(ptr, g.Annotations[AnnotationExcludeGlobal], `OLM takes it as "false"`, "true", "false")
	switch g.Spec.UpgradeStrategy {
	case "", operatorsv1.UpgradeStrategyDefault, operatorsv1.UpgradeStrategyUnsafeFailForward:
	default:
		wrong = append(wrong, flaw{"/spec/upgradeStrategy", fmt.Errorf("want %s or %s, found %q",
			operatorsv1.UpgradeStrategyDefault, operatorsv1.UpgradeStrategyUnsafeFailForward, g.Spec.UpgradeStrategy)})
	}
	return wrong
}

func checkOLMConfig(c *operatorsv1.OLMConfig) flaws {
	return known("/metadata/name", c.Name, "OLM ignores it", "cluster")
}

// flaws are the problems of an object that make it unusable, and its values of which OLM makes others.
type flaws []flaw

type flaw struct {
	ptr jsontext.Pointer
	err error
}

// accepted is the error about a value with which the object can be used.
type accepted struct{ error }

func (f flaw) isAccepted() bool { return errors.As(f.err, new(accepted)) }

// require adds a flaw if the value of a required field is empty.
func (f flaws) require(ptr jsontext.Pointer, value string) flaws {
	if value != "" {
		return f
	}
	return append(f, flaw{ptr, errors.New("required")})
}

// known returns a flaw with the effect of a value that is none of the known values. The empty value has a default.
func known[T ~string](ptr jsontext.Pointer, value T, effect string, all ...T) flaws {
	if value == "" || slices.Contains(all, value) {
		return nil
	}
	want := string(all[len(all)-1])
	for i, name := range slices.Backward(all[:len(all)-1]) {
		separator := ", "
		if i == len(all)-2 {
			separator = " or "
		}
		want = string(name) + separator + want
	}
	return flaws{{ptr, accepted{fmt.Errorf("want %s, found %q: %s", want, value, effect)}}}
}

// nameOf returns the kind and the name of an object.
func nameOf(o Kubernetes) string {
	name := strconv.Quote(o.GetName())
	if ns := o.GetNamespace(); ns != "" {
		name = strconv.Quote(ns + "/" + o.GetName())
	}
	return o.GetObjectKind().GroupVersionKind().Kind + " " + name
}

// An APIService registers the server of a group and version of APIs. It is declared here since the Go module that
// declares it has too many dependencies.
type APIService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   APIServiceSpec   `json:"spec"`
	Status APIServiceStatus `json:"status,omitzero"`
}

// An APIServiceSpec is a group and version and the Service that serves it. Without a Service, the API server itself
// does.
type APIServiceSpec struct {
	Service               *ServiceReference `json:"service,omitempty"`
	Group                 string            `json:"group,omitempty"`
	Version               string            `json:"version,omitempty"`
	InsecureSkipTLSVerify bool              `json:"insecureSkipTLSVerify,omitempty"`
	CABundle              []byte            `json:"caBundle,omitempty"`
	GroupPriorityMinimum  int32             `json:"groupPriorityMinimum"`
	VersionPriority       int32             `json:"versionPriority"`
}

// A ServiceReference names the Service of an APIService.
type ServiceReference struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Port      *int32 `json:"port,omitempty"`
}

// An APIServiceStatus has the condition Available.
type APIServiceStatus struct {
	Conditions []APIServiceCondition `json:"conditions,omitempty"`
}

// An APIServiceCondition is a condition of an APIService.
type APIServiceCondition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitzero"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
}

// DeepCopyObject returns a copy that shares the spec's Service and certificates, as runtime.Object requires.
func (a *APIService) DeepCopyObject() runtime.Object {
	clone := *a
	clone.ObjectMeta, clone.Status.Conditions = *a.ObjectMeta.DeepCopy(), slices.Clone(a.Status.Conditions)
	return &clone
}
