// Package operator has the rules by which OLM turns a ClusterServiceVersion into the objects of an operator: names and
// their hashes, labels and owners, roles, Services and certificates, and the last version of OpenShift it supports.
//
//	meta := metav1.ObjectMeta{Namespace: csv.Namespace, Name: operator.RoleName(csv, &p)}
//	role, binding := operator.Role(meta, p.Rules, operator.Subjects(csv.Namespace, p.ServiceAccountName))
//
// OLM Classic and OLM v1 differ in some of the rules. Functions with the rules of OLM v1 end in V1; the others are for
// OLM Classic, and for both if there is no function in V1. The comments name the sources: files of
// operator-lifecycle-manager for OLM Classic, and of operator-controller for OLM v1.
package operator

import (
	"errors"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultAccount is the service account that every namespace has.
const DefaultAccount = "default"

// errStrategy is OLM's error about an unknown install strategy.
var errStrategy = errors.New("unrecognized install strategy")

// Strategy returns the deployments and permissions of an operator. It fails if the strategy is not a deployment.
func Strategy(csv *v1alpha1.ClusterServiceVersion) (*v1alpha1.StrategyDetailsDeployment, error) {
	if csv.Spec.InstallStrategy.StrategyName != v1alpha1.InstallStrategyNameDeployment {
		return nil, errStrategy
	}
	return &csv.Spec.InstallStrategy.StrategySpec, nil
}

// The labels of objects that OLM Classic creates (pkg/lib/ownerutil/util.go).
const (
	LabelManaged        = "olm.managed"
	LabelOwner          = "olm.owner"
	LabelOwnerNamespace = "olm.owner.namespace"
	LabelOwnerKind      = "olm.owner.kind"
)

// OwnerLabels returns the labels of the objects that OLM Classic creates for an operator.
func OwnerLabels(csv *v1alpha1.ClusterServiceVersion) map[string]string {
	return map[string]string{
		LabelManaged: "true", LabelOwner: csv.Name, LabelOwnerNamespace: csv.Namespace,
		LabelOwnerKind: v1alpha1.ClusterServiceVersionKind,
	}
}

// IsOwned reports whether an object has the owner labels of an operator.
func IsOwned(o metav1.Object, csv *v1alpha1.ClusterServiceVersion) bool {
	labels := o.GetLabels()
	return labels[LabelOwner] == csv.Name && labels[LabelOwnerNamespace] == csv.Namespace &&
		labels[LabelOwnerKind] == v1alpha1.ClusterServiceVersionKind
}

// OwnedBy returns the reference to a ClusterServiceVersion in the objects that are deleted with it.
func OwnedBy(csv *v1alpha1.ClusterServiceVersion) []metav1.OwnerReference {
	return []metav1.OwnerReference{Owner(v1alpha1.SchemeGroupVersion.String(), v1alpha1.ClusterServiceVersionKind, csv)}
}

// Controlled returns the reference to an owner that is the controller, such as the owner of an OperatorCondition.
func Controlled(by metav1.OwnerReference) []metav1.OwnerReference {
	by.Controller = new(true)
	return []metav1.OwnerReference{by}
}

// Owner returns the reference to an owner that is not the controller.
func Owner(apiVersion, kind string, o metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: o.GetUID(),
		Controller: new(false), BlockOwnerDeletion: new(false),
	}
}
