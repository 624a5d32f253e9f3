package catalogsource

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/operator"
)

// ConfigMapImage is the image that serves a catalog from a ConfigMap, unless the arguments of OLM have another one.
const ConfigMapImage = "quay.io/operator-framework/configmap-operator-registry:latest"

// labelConfigMapVersion is the label of a pod with the resourceVersion of the ConfigMap that the pod serves.
const labelConfigMapVersion = "olm.configMapResourceVersion"

// FromConfigMap reports whether the catalog of a valid CatalogSource is in a ConfigMap.
func FromConfigMap(source *v1alpha1.CatalogSource) bool {
	return source.Spec.SourceType != v1alpha1.SourceTypeGrpc
}

// Adopt makes a CatalogSource an owner of its ConfigMap, and labels the ConfigMap as not managed by OLM.
func Adopt(configMap metav1.Object, source *v1alpha1.CatalogSource) {
	reference := owner(source)
	owners := configMap.GetOwnerReferences()
	if slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool {
		return o.Kind == reference.Kind && o.Name == reference.Name && o.UID == reference.UID
	}) {
		return
	}
	configMap.SetOwnerReferences(append(slices.Clone(owners), reference))
	meta := metav1.ObjectMeta{Labels: configMap.GetLabels()}
	metav1.SetMetaDataLabel(&meta, operator.LabelManaged, "false")
	configMap.SetLabels(meta.Labels)
}

func configMapAccount(source *v1alpha1.CatalogSource) string {
	return source.Name + "-configmap-server"
}

func configMapVersion(source *v1alpha1.CatalogSource) string {
	if of := source.Status.ConfigMapResource; of != nil {
		return of.ResourceVersion
	}
	return ""
}

// Permissions returns the Role with which a pod reads its ConfigMap, and its binding.
func Permissions(source *v1alpha1.CatalogSource) (*rbacv1.Role, *rbacv1.RoleBinding) {
	rule := operator.Rule([]string{"get"}, "", "configmaps")
	rule.ResourceNames = []string{source.Spec.ConfigMap}
	m := meta(source, source.Name+"-configmap-reader")
	m.Labels = managed()
	subjects := operator.Subjects(source.Namespace, configMapAccount(source))
	role, binding := operator.Role(m, []rbacv1.PolicyRule{rule}, subjects)
	binding.Name = source.Name + "-server-configmap-reader"
	return role, binding
}
