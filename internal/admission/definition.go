package admission

import (
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Definition returns the errors with which an API server refuses to create a CustomResourceDefinition, as [Create] does
// for one of version v1.
func Definition(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	crd = crd.DeepCopy()
	crd.Status.StoredVersions = nil
	store(crd)
	return crdvalidation.ValidateCustomResourceDefinition(context.Background(), crd)
}

// store adds the storage version to the stored versions, as the API server does before it validates a definition.
func store(crd *apiextensions.CustomResourceDefinition) {
	for _, v := range crd.Spec.Versions {
		if v.Storage && !slices.Contains(crd.Status.StoredVersions, v.Name) {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, v.Name)
		}
	}
}

func checkDefinition(crd *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	internal, err := InternalDefinition(crd)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return Definition(internal)
}

func changedDefinition(crd, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	after, err := InternalDefinition(crd)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	before, err := InternalDefinition(old)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	// The API server accepts more changes, such as one of the scope, until a definition is established.
	apiextensions.SetCRDCondition(before, apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.Established, Status: apiextensions.ConditionTrue,
	})
	after.Status = *before.Status.DeepCopy()
	after.ResourceVersion, before.ResourceVersion = "1", "1" // the update is not based on an older state
	after.UID, after.CreationTimestamp, after.Generation = before.UID, before.CreationTimestamp, before.Generation
	store(after)
	return crdvalidation.ValidateCustomResourceDefinitionUpdate(context.Background(), after, before)
}

// InternalDefinition returns a copy of a definition, with defaults, as the type that Kubernetes validates.
func InternalDefinition(
	crd *apiextensionsv1.CustomResourceDefinition,
) (*apiextensions.CustomResourceDefinition, error) {
	crd = crd.DeepCopy()
	crd.OwnerReferences, crd.ManagedFields = nil, nil
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
	internal := new(apiextensions.CustomResourceDefinition)
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
		crd, internal, nil)
	return internal, err
}
