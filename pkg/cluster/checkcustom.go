package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// A definition is a CustomResourceDefinition and what its custom resources are checked with.
type definition struct {
	*apiextensionsv1.CustomResourceDefinition
	versions map[string]*version
}

// A version is a version of an API whose schema is ready for use.
type version struct {
	validator validation.SchemaValidator
	schema    *structural.Structural
	rules     *cel.Validator // nil if there are none
}

// definitions returns the definitions of all custom resources, by kind.
func (s *State) definitions() map[schema.GroupKind]*definition {
	all := map[schema.GroupKind]*definition{}
	for o := range s.CustomResourceDefinitions.All() {
		of := schema.GroupKind{Group: o.Value.Spec.Group, Kind: o.Value.Spec.Names.Kind}
		all[of] = &definition{o.Value, map[string]*version{}}
	}
	return all
}

// checkDefinition checks what Kubernetes checks when a definition is created.
func (c *checker) checkDefinition(ctx context.Context, d *apiextensionsv1.CustomResourceDefinition) {
	before := len(c.problems)
	defer func() { c.refused[d.Name] = len(c.problems) > before }()
	internal, err := internalDefinition(d)
	if err != nil {
		c.fail("%w", err)
		return
	}
	for _, err := range crdvalidation.ValidateCustomResourceDefinition(ctx, internal) {
		if err.Field != "status.storedVersions" || len(internal.Status.StoredVersions) > 0 {
			c.fail("%w", err)
		} // else no version is marked as the one to store, which is reported
	}
}

func internalDefinition(d *apiextensionsv1.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, error) {
	d, internal := d.DeepCopy(), new(apiextensions.CustomResourceDefinition)
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(d)
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(d, internal, nil)
	return internal, err
}

// checkCustomResource checks a custom resource against the schema of its definition, if there is one, as Kubernetes
// does: with defaults, and without unknown fields.
func (c *checker) checkCustomResource(ctx context.Context, o *Other) {
	d := c.definitions[kindAndGroup(o)]
	if d == nil {
		return
	}
	v, err := d.version(o.GroupVersionKind().Version)
	if err != nil {
		c.fail("%w", err)
		return
	}
	if v == nil {
		return // the definition is reported
	}
	content, err := o.Content()
	if err != nil {
		c.fail("%w", err)
		return
	}
	c.checkContent(ctx, content, v, !c.refused[d.Name])
}

func (c *checker) checkContent(ctx context.Context, content map[string]any, v *version, evaluate bool) {
	pruning.Prune(content, v.schema, true)
	defaulting.Default(content, v.schema)
	errs := validation.ValidateCustomResource(nil, content, v.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.schema, content)...)
	if evaluate && v.rules != nil && !slices.ContainsFunc(errs, hidesRules) {
		errs = append(errs, c.evaluate(ctx, content, v)...)
	}
	for _, err := range errs {
		if err.Field == (*field.Path)(nil).String() { // the object as a whole
			c.fail("%s", err.ErrorBody())
			continue
		}
		c.fail("%w", err)
	}
}

// hidesRules reports whether Kubernetes evaluates no rules where there is such an error.
func hidesRules(err *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
	}, err.Type)
}

// maxRulesCost limits the rules of all custom resources to some seconds.
const maxRulesCost = 2 * celconfig.RuntimeCELCostBudget

// evaluate evaluates the CEL rules about a new custom resource, those without oldSelf.
func (c *checker) evaluate(ctx context.Context, content map[string]any, v *version) field.ErrorList {
	const each = celconfig.RuntimeCELCostBudget
	if c.rulesCost > maxRulesCost-each {
		if !c.rulesSkipped {
			c.fail("CEL rules take too long: they are not evaluated for this object and those after it")
		}
		c.rulesSkipped = true
		return nil
	}
	errs, left := v.rules.Validate(ctx, nil, v.schema, content, nil, each)
	c.rulesCost += each - max(left, 0)
	return errs
}

// version returns a version, nil if its schema cannot be used. The error is about versions that are not there.
func (d *definition) version(name string) (*version, error) {
	v, ok := d.versions[name]
	if ok {
		return v, nil
	}
	if !slices.ContainsFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == name && v.Served
	}) {
		return nil, fmt.Errorf("apiVersion: CustomResourceDefinition %q does not serve version %q", d.Name, name)
	}
	v, err := d.compile(name)
	if err != nil {
		v = nil
	}
	d.versions[name] = v
	return v, nil
}

func (d *definition) compile(name string) (*version, error) {
	internal, err := internalDefinition(d.CustomResourceDefinition)
	if err != nil {
		return nil, err
	}
	props, err := apiextensions.GetSchemaForVersion(internal, name)
	if err != nil {
		return nil, err
	}
	if props == nil || props.OpenAPIV3Schema == nil {
		return nil, errors.New("no schema")
	}
	v := new(version)
	if v.validator, _, err = validation.NewSchemaValidator(props.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	if v.schema, err = structural.NewStructural(props.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	v.rules = cel.NewValidator(v.schema, true, celconfig.PerCallLimit)
	return v, nil
}
