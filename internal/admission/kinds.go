package admission

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
)

// kinds has the rules. The comments name the functions of Kubernetes 1.36 that they come from, in pkg/apis/GROUP/
// validation unless another directory is given. The kinds that OLM installs and that are not here are custom resources.
var kinds = []kind{
	// core: ValidateConfigMap, ValidateConfigMapUpdate
	newKind(corev1.SchemeGroupVersion, "ConfigMap", checkConfigMap, changedConfigMap),
	// core: ValidateSecret, ValidateSecretUpdate
	newKind(corev1.SchemeGroupVersion, "Secret", checkSecret, changedSecret),
	// core: ValidateService, ValidateServiceUpdate
	newKind(corev1.SchemeGroupVersion, "Service", checkService, changedService).
		named(validation.NameIsDNS1035Label),
	// core: ValidateServiceAccount
	newKind[corev1.ServiceAccount](corev1.SchemeGroupVersion, "ServiceAccount", nil, nil),
	// apps: ValidateDeployment; pkg/registry/apps/deployment: ValidateUpdate
	newKind(appsv1.SchemeGroupVersion, "Deployment", checkDeployment, changedDeployment),
	// rbac: ValidateRole, ValidateClusterRole, ValidateRoleBinding, ValidateClusterRoleBinding, and their updates
	newKind(rbacv1.SchemeGroupVersion, "Role", checkRole, nil).named(pathSegment).orBeta(),
	newKind(rbacv1.SchemeGroupVersion, "ClusterRole", checkClusterRole, nil).named(pathSegment).
		orBeta(),
	newKind(rbacv1.SchemeGroupVersion, "RoleBinding", checkRoleBinding, changedRoleBinding).
		named(pathSegment).orBeta(),
	newKind(rbacv1.SchemeGroupVersion, "ClusterRoleBinding", checkClusterRoleBinding, changedClusterRoleBinding).
		named(pathSegment).orBeta(),
	// policy: ValidatePodDisruptionBudget
	newKind(policyv1.SchemeGroupVersion, "PodDisruptionBudget", checkDisruptionBudget, nil).
		orBeta(),
	// scheduling: ValidatePriorityClass, ValidatePriorityClassUpdate
	newKind(schedulingv1.SchemeGroupVersion, "PriorityClass", checkPriorityClass, changedPriorityClass).
		orBeta().forChangesOnly(),
	// networking: ValidateNetworkPolicy
	newKind(networkingv1.SchemeGroupVersion, "NetworkPolicy", checkNetworkPolicy, nil),
	// k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation
	newKind(apiextensionsv1.SchemeGroupVersion, "CustomResourceDefinition", checkDefinition, changedDefinition).
		named(nil).forChangesOnly(),
	// a custom resource
	newKind[v1alpha1.ClusterServiceVersion](
		v1alpha1.SchemeGroupVersion, v1alpha1.ClusterServiceVersionKind, checkClusterServiceVersion, nil),
}

// pathSegment checks the name of an object of RBAC.
func pathSegment(name string, _ bool) []string { return content.IsPathSegmentName(name) }
