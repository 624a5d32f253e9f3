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
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/pkg/cluster/catalogsource"
	"github.com/opm-toolchain/opm/pkg/cluster/operatorgroup"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Check returns what a cluster refuses, or cannot use, although it can be read: names, selectors of OperatorGroups,
// specs of CatalogSources, certificates, CustomResourceDefinitions, and custom resources that do not fit the schema of
// theirs. The problems are sorted by place. The error is that of ctx.
func (s *State) Check(ctx context.Context) ([]*declcfg.Error, error) {
	c := checker{definitions: s.definitions(), refused: map[string]bool{}}
	for o := range s.All() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.object = o
		c.checkName()
		switch v := o.Value.(type) {
		case *apiextensionsv1.CustomResourceDefinition:
			c.checkDefinition(ctx, v)
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
				c.fail("%s: no certificate can be read from it", field)
			}
		}
	}
	slices.SortFunc(c.problems, func(a, b *declcfg.Error) int { // those of a schema are in random order
		return cmp.Or(declcfg.CompareErrors(a, b), strings.Compare(a.Error(), b.Error()))
	})
	return c.problems, nil
}

// A checker checks objects, one after the other.
type checker struct {
	definitions map[schema.GroupKind]*definition
	object      Object[Kubernetes]
	problems    []*declcfg.Error

	refused      map[string]bool // definitions, by name, by Kubernetes
	rulesCost    int64           // of all CEL rules so far
	rulesSkipped bool
}

// fail reports an error about the object.
func (c *checker) fail(format string, args ...any) {
	err := fmt.Errorf("%s: %w", nameOf(c.object.Value), fmt.Errorf(format, args...))
	c.problems = append(c.problems, &declcfg.Error{Pos: c.object.Pos, Err: err})
}

// pathNamed are the known kinds whose names may be anything that fits into a path, apart from roles and their bindings:
// a cluster names an APIService after the version and the group, which is empty for the core of Kubernetes.
var pathNamed = []schema.GroupKind{{Group: "apiregistration.k8s.io", Kind: "APIService"}}

// checkName checks the names of an object. Those of kinds that are not known may be anything that fits into a path.
func (c *checker) checkName() {
	o := c.object.Value
	of := kindAndGroup(o)
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

// pathSegment returns what keeps a name from being part of a path.
func pathSegment(name string) error {
	if wrong := content.IsPathSegmentName(name); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, ", "))
	}
	return nil
}

// certificates returns the certificates in an object, by field.
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
