package simulate

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/pkg/crdcheck"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// definition creates or updates a CustomResourceDefinition. Its names are assumed to be accepted.
func (x *execution) definition(
	step *v1alpha1.Step, crd *apiextensionsv1.CustomResourceDefinition, b *contents,
) (v1alpha1.StepStatus, error) {
	if err := x.serves(crd.GroupVersionKind()); err != nil {
		return step.Status, err
	}
	crd = crd.DeepCopy()
	crd.APIVersion = apiextensionsv1.SchemeGroupVersion.String()
	crd.Labels = with(crd.Labels, labelManaged, "true")
	why := computed("InstallPlan " + x.plan.Name + " has it")
	if b.Partial {
		why = reason{why.why + "; its catalog does not have its manifests", NotEvaluable}
	}
	old, ok := x.State.CustomResourceDefinitions.Get("", crd.Name)
	if !ok {
		accept(crd)
		create(x.run, &x.State.CustomResourceDefinitions, crd, "versions "+versionsOf(crd), why)
		return v1alpha1.StepStatusCreated, nil
	}
	if b.Partial {
		addVersions(crd, old.Value)
	} else if err := x.refuse(old.Value, crd); err != nil {
		return step.Status, err
	}
	update(x.run, &x.State.CustomResourceDefinitions, old, func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec, c.Annotations = crd.Spec, crd.Annotations
		c.Labels = labels.Merge(c.Labels, crd.Labels)
		accept(c)
	}, "versions "+versionsOf(crd), why)
	return v1alpha1.StepStatusPresent, nil
}

// withoutV1beta1 is the first version of Kubernetes that does not serve definitions of v1beta1.
const withoutV1beta1 = "1.22.0"

// serves returns the error of an API server if it does not serve a version of definitions.
func (x *execution) serves(of schema.GroupVersionKind) error {
	if of.Version == apiextensionsv1.SchemeGroupVersion.Version {
		return nil
	}
	if x.opts.KubeVersion == "" {
		x.assume("the version of Kubernetes is not known: it is assumed not to serve apiextensions.k8s.io/v1beta1, " +
			"as since 1.22")
	} else if v, err := parseVersion(x.opts.KubeVersion); err == nil && v.LessThan(version.MustParse(withoutV1beta1)) {
		return nil
	}
	plural, _ := meta.UnsafeGuessKindToResource(of)
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "post", plural.GroupResource(), "", "", 0, true)
}

// refuse returns why OLM refuses to update a definition, nil if it does not.
func (x *execution) refuse(old, crd *apiextensionsv1.CustomResourceDefinition) error {
	resources, err := crdcheck.Resources(x.State, schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind})
	if err != nil {
		return err
	}
	if len(resources) == 0 && !equality.Semantic.DeepEqual(old.Spec.Versions, crd.Spec.Versions) {
		x.assume("custom resources that the state does not have fit the new schemas of their definitions")
	}
	for _, f := range crdcheck.Compare(graph.Classic, old, crd, resources) {
		if f.Severity != problem.Warning {
			return errors.New(f.Message)
		}
	}
	return nil
}

func isVersion(name string) func(apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name }
}

func versionsOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	var names []string
	for _, v := range crd.Spec.Versions {
		names = append(names, v.Name)
	}
	return strings.Join(names, ", ")
}

// addVersions keeps all that is known of the definition in the cluster, and adds only versions to it.
func addVersions(crd, old *apiextensionsv1.CustomResourceDefinition) {
	versions := slices.Clone(old.Spec.Versions)
	for _, v := range crd.Spec.Versions {
		if !slices.ContainsFunc(versions, isVersion(v.Name)) {
			v.Storage = false
			versions = append(versions, v)
		}
	}
	crd.Spec = *old.Spec.DeepCopy()
	crd.Spec.Versions, crd.Annotations = versions, old.Annotations
}

// accept sets the status that a cluster gives to a definition.
func accept(crd *apiextensionsv1.CustomResourceDefinition) {
	status := &crd.Status
	status.AcceptedNames = crd.Spec.Names
	for _, of := range []apiextensionsv1.CustomResourceDefinitionConditionType{
		apiextensionsv1.NamesAccepted, apiextensionsv1.Established,
	} {
		isIt := func(c apiextensionsv1.CustomResourceDefinitionCondition) bool { return c.Type == of }
		if !slices.ContainsFunc(status.Conditions, isIt) {
			status.Conditions = append(status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
				Type: of, Status: apiextensionsv1.ConditionTrue,
			})
		}
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage && !slices.Contains(status.StoredVersions, v.Name) {
			status.StoredVersions = append(status.StoredVersions, v.Name)
		}
	}
}
