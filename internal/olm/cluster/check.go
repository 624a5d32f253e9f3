package cluster

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/opm-toolchain/opm/internal/admission"
	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/olm/operatorgroup"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Check returns the problems for which a cluster would reject an object of the State, or could not use it: names,
// selectors of OperatorGroups, specs of CatalogSources, certificates, CustomResourceDefinitions, and custom resources
// that do not match their schema. The problems are sorted by position. The error is ctx.Err().
func (s *State) Check(ctx context.Context) ([]*declcfg.Error, error) {
	all := map[schema.GroupKind]*definition{}
	for o := range s.CustomResourceDefinitions.All() {
		of := schema.GroupKind{Group: o.Value.Spec.Group, Kind: o.Value.Spec.Names.Kind}
		all[of] = &definition{o.Value, map[string]*version{}}
	}
	c := checker{definitions: all, refused: map[string]bool{}}
	for o := range s.All() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.object = o
		c.checkName()
		switch v := o.Value.(type) {
		case *apiextensionsv1.CustomResourceDefinition:
			c.checkDefinition(v)
		case *operatorsv1.OperatorGroup:
			if _, err := operatorgroup.Targets(v, func(func(*corev1.Namespace) bool) {}); err != nil {
				c.fail("%w", err)
			}
		case *v1alpha1.CatalogSource:
			if err := catalogsource.Check(v); err != nil {
				c.fail("spec: %w", err)
			}
		case *Other:
			c.checkCustomResource(ctx, v)
		}
		for field, bundle := range certificates(o.Value) {
			if len(bytes.TrimSpace(bundle)) > 0 && !x509.NewCertPool().AppendCertsFromPEM(bundle) {
				c.fail("%s: contains no valid PEM certificate", field)
			}
		}
	}
	slices.SortFunc(c.problems, func(a, b *declcfg.Error) int { // the problems of a schema are in random order
		return cmp.Or(place.CompareErrors(a, b), strings.Compare(a.Error(), b.Error()))
	})
	return c.problems, nil
}

// A checker checks objects, one after the other.
type checker struct {
	definitions map[schema.GroupKind]*definition
	object      Object[Kubernetes]
	problems    []*declcfg.Error

	refused      map[string]bool // the names of the definitions that Kubernetes rejects
	rulesCost    int64           // of all CEL rules so far
	rulesSkipped bool
}

// fail records an error about the current object.
func (c *checker) fail(format string, args ...any) {
	err := fmt.Errorf("%s: %w", nameOf(c.object.Value), fmt.Errorf(format, args...))
	c.problems = append(c.problems, &declcfg.Error{Pos: c.object.Pos, Err: err})
}

// pathNamed are the kinds with a field in State, apart from roles and bindings, whose names only have to be valid path
// segments: an APIService is named VERSION.GROUP, and the group of the core API is empty.
var pathNamed = []schema.GroupKind{{Group: "apiregistration.k8s.io", Kind: "APIService"}}

// checkName checks the name and namespace of an object. The name of a kind without a field in State only has to be a
// valid path segment.
func (c *checker) checkName() {
	o := c.object.Value
	of := KindOf(o)
	form := k8sname.Subdomain
	if kindOf(of) == nil && c.definitions[of] == nil || of.Group == rbacv1.GroupName || slices.Contains(pathNamed, of) {
		form = pathSegment
	} else if of.Kind == "Namespace" {
		form = k8sname.Label
	}
	if err := form(o.GetName()); err != nil {
		c.fail("metadata.name: %w", err)
	}
	if ns := o.GetNamespace(); ns != "" {
		if err := k8sname.Label(ns); err != nil {
			c.fail("metadata.namespace: %w", err)
		}
	}
}

// pathSegment returns an error if a name is not a valid path segment.
func pathSegment(name string) error {
	if wrong := content.IsPathSegmentName(name); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, ", "))
	}
	return nil
}

// certificates returns the certificate bundles of an object by field path.
func certificates(o Kubernetes) map[string][]byte {
	found := map[string][]byte{}
	webhook := func(i int, config *admissionv1.WebhookClientConfig) {
		found[fmt.Sprintf("webhooks[%d].clientConfig.caBundle", i)] = config.CABundle
	}
	switch v := o.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		if to := v.Spec.Conversion; to != nil && to.Webhook != nil && to.Webhook.ClientConfig != nil {
			found["spec.conversion.webhook.clientConfig.caBundle"] = to.Webhook.ClientConfig.CABundle
		}
	case *APIService:
		found["spec.caBundle"] = v.Spec.CABundle
	case *admissionv1.MutatingWebhookConfiguration:
		for i := range v.Webhooks {
			webhook(i, &v.Webhooks[i].ClientConfig)
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		for i := range v.Webhooks {
			webhook(i, &v.Webhooks[i].ClientConfig)
		}
	}
	return found
}

// A definition is a CustomResourceDefinition with the compiled schemas of its versions.
type definition struct {
	*apiextensionsv1.CustomResourceDefinition
	versions map[string]*version
}

// A version is a served version of a custom resource with its compiled schema.
type version struct {
	schema *admission.Schema
	rules  *cel.Validator // nil if there are none
}

// checkDefinition checks a definition as Kubernetes does when it is created.
func (c *checker) checkDefinition(d *apiextensionsv1.CustomResourceDefinition) {
	errs := admission.Create(d)
	for _, err := range errs {
		if err.Field != "status.storedVersions" { // no version is the storage version, which is reported
			c.fail("%w", err)
		}
	}
	c.refused[d.Name] = len(errs) > 0
}

// hidingErrors are the types of schema errors that make Kubernetes skip the CEL rules.
var hidingErrors = []field.ErrorType{
	field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
}

// checkCustomResource checks a custom resource against the schema of its definition, if there is one, as Kubernetes
// does: with defaults, and without unknown fields.
func (c *checker) checkCustomResource(ctx context.Context, o *Other) {
	d := c.definitions[KindOf(o)]
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
	errs := v.schema.Check(content)
	hidesRules := func(err *field.Error) bool { return slices.Contains(hidingErrors, err.Type) }
	if !c.refused[d.Name] && v.rules != nil && !slices.ContainsFunc(errs, hidesRules) {
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

// maxRulesCost limits the total cost of the CEL rules of all custom resources to some seconds.
const maxRulesCost = 2 * celconfig.RuntimeCELCostBudget

// evaluate evaluates the CEL rules that apply to a new custom resource: the rules that do not use oldSelf.
func (c *checker) evaluate(ctx context.Context, content map[string]any, v *version) field.ErrorList {
	const each = celconfig.RuntimeCELCostBudget
	if c.rulesCost > maxRulesCost-each {
		if !c.rulesSkipped {
			c.fail("CEL rules take too long: not evaluated for this and later objects")
		}
		c.rulesSkipped = true
		return nil
	}
	errs, left := v.rules.Validate(ctx, nil, v.schema.Structural, content, nil, each)
	c.rulesCost += each - max(left, 0)
	return errs
}

// version returns a compiled version, nil if its schema is invalid. The error is about a version that is not served.
func (d *definition) version(name string) (*version, error) {
	v, ok := d.versions[name]
	if ok {
		return v, nil
	}
	if !apihelpers.HasServedCRDVersion(d.CustomResourceDefinition, name) {
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
	internal, err := admission.InternalDefinition(d.CustomResourceDefinition)
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
	if v.schema, err = admission.NewSchema(props.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	v.rules = cel.NewValidator(v.schema.Structural, true, celconfig.PerCallLimit)
	return v, nil
}
