package cluster

import (
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/kube"
)

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
