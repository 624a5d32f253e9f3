package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// crd is a CustomResourceDefinition of the kind A, from line 1; the custom resources of tests follow at line 13.
const crd = `kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata: {name: as.x.io}
spec:
  group: x.io
  names: {plural: as, singular: a, kind: A, listKind: AList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, required: [size], properties: {size: {type: integer, maximum: 9, default: 1},
      names: {type: array, x-kubernetes-list-type: set, items: {type: string}}, level: {type: string, enum: [low, high]}, spec: {type: object, required: [x]}}}}}
  - {name: v2, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
---
`

// rules returns a CustomResourceDefinition of the kind A with a CEL rule about spec and one about the name; custom
// resources follow at line 4.
func rules(ofSpec string) string {
	return "{kind: CustomResourceDefinition, apiVersion: apiextensions.k8s.io/v1, metadata: {name: as.x.io},\n" +
		"spec: {group: x.io, names: {plural: as, singular: a, kind: A, listKind: AList}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-validations: [{rule: self.metadata.name != 'odd', message: odd name}, {rule: self == oldSelf}], properties: {spec: {type: object, x-kubernetes-validations: [{rule: '" +
		ofSpec + "'}], properties: {min: {type: integer}, max: {type: integer, default: 2}}}}}}}]}}\n---\n"
}

func TestCheck(t *testing.T) {
	long := strings.Repeat("a", 254)
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", everyKind, ""},
		{"a custom resource", crd + "{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}, unknown: 1, level: low, names: [a, b]}", ""},
		{"a wrong type", crd + "{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}, size: big}",
			`-:13:1: A "ns/a": size: Invalid value: "string": size in body must be of type integer: "string"`},
		{"several", crd + "{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}, size: 10, level: middle, names: [a, a], spec: {}}",
			`-:13:1: A "ns/a": level: Unsupported value: "middle": supported values: "low", "high"
-:13:1: A "ns/a": names[1]: Duplicate value: "a"
-:13:1: A "ns/a": size: Invalid value: 10: size in body should be less than or equal to 9
-:13:1: A "ns/a": spec.x: Required value`},
		{"rules", rules("self.min <= self.max") + "{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}, spec: {min: 1}}\n---\n" +
			"{kind: A, apiVersion: x.io/v1, metadata: {name: b, namespace: ns}, spec: {min: 3}}\n---\n" +
			"{kind: A, apiVersion: x.io/v1, metadata: {name: odd, namespace: ns}, spec: {min: 1}}\n---\n" +
			"{kind: A, apiVersion: x.io/v1, metadata: {name: c, namespace: ns}, spec: {min: big}}",
			`-:6:1: A "ns/b": spec: Invalid value: failed rule: self.min <= self.max
-:8:1: A "ns/odd": Invalid value: odd name
-:10:1: A "ns/c": spec.min: Invalid value: "string": spec.min in body must be of type integer: "string"`},
		{"a rule that is no CEL", rules("self.") + "{kind: A, apiVersion: x.io/v1, metadata: {name: odd, namespace: ns}, spec: {min: 3}}",
			`-:1:1: CustomResourceDefinition "as.x.io": spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: ` +
				`{"Rule":"self.","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: ` +
				"compilation failed: ERROR: <input>:1:6: Syntax error: no viable alternative at input '.'\n | self.\n | .....^"},
		{"a version that is not served", crd + "{kind: A, apiVersion: x.io/v2, metadata: {name: a, namespace: ns}}",
			`-:13:1: A "ns/a": apiVersion: CustomResourceDefinition "as.x.io" does not serve version "v2"`},
		{"the name of a custom resource", crd + "{kind: A, apiVersion: x.io/v1, metadata: {name: A, namespace: ns}}",
			`-:13:1: A "ns/A": metadata.name: want lower-case letters, digits, hyphens and dots, a letter or digit around each dot`},
		{"a definition", "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: bs.x.io}\n" +
			"spec: {group: x.io, names: {plural: as, singular: a, kind: A, listKind: AList}, scope: Namespaced, versions: " +
			"[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n" +
			"---\n{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}}",
			`-:1:1: CustomResourceDefinition "bs.x.io": metadata.name: Invalid value: "bs.x.io": must be spec.names.plural+"."+spec.group`},
		{"a schema that is not structural", "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: as.x.io}\n" +
			"spec: {group: x.io, names: {plural: as, singular: a, kind: A, listKind: AList}, scope: Namespaced, versions: " +
			"[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {properties: {a: {}}}}}]}\n" +
			"---\n{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}}",
			`-:1:1: CustomResourceDefinition "as.x.io": spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields
-:1:1: CustomResourceDefinition "as.x.io": spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root`},
		{"the API of the core", "{kind: APIService, apiVersion: apiregistration.k8s.io/v1, metadata: {name: v1.}, spec: {version: v1}}", ""},
		{"a namespace", "{kind: Namespace, apiVersion: v1, metadata: {name: a.b}}",
			`-:1:1: Namespace "a.b": metadata.name: want lower-case letters, digits and hyphens, a letter or digit first and last`},
		{"long names", "{kind: ServiceAccount, apiVersion: v1, metadata: {name: " + long + ", namespace: " + long + "}}",
			`-:1:1: ServiceAccount "` + long + "/" + long + `": metadata.name: 254 characters, want at most 253
-:1:1: ServiceAccount "` + long + "/" + long + `": metadata.namespace: 254 characters, want at most 63`},
		{"roles and unknown kinds have other names", `{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: "system:A"}}
---
{kind: User, apiVersion: user.openshift.io/v1, metadata: {name: "kube:admin"}}`, ""},
		{"a name that is no part of a path", "{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: a/b}}",
			`-:1:1: ClusterRole "a/b": metadata.name: may not contain '/'`},
		{"a selector", "{kind: OperatorGroup, apiVersion: operators.coreos.com/v1, metadata: {name: g, namespace: ns}, spec: {selector: {matchExpressions: [{key: a, operator: Like}]}}}",
			`-:1:1: OperatorGroup "ns/g": "Like" is not a valid label selector operator`},
		{"catalog sources", "{kind: CatalogSource, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: a, namespace: ns}, spec: {sourceType: gprc}}\n---\n" +
			"{kind: CatalogSource, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: b, namespace: ns}, spec: {sourceType: grpc}}\n---\n" +
			"{kind: CatalogSource, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: c, namespace: ns}, spec: {sourceType: internal}}",
			`-:1:1: CatalogSource "ns/a": spec: unknown sourcetype: gprc
-:3:1: CatalogSource "ns/b": spec: image and address unset: at least one must be set for sourcetype: grpc
-:5:1: CatalogSource "ns/c": spec: configmap name unset: must be set for sourcetype: internal`},
		{"a definition without versions", "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: as.x.io}\n" +
			"spec: {group: x.io, names: {plural: as, singular: a, kind: A, listKind: AList}, scope: Namespaced, versions: []}",
			`-:1:1: CustomResourceDefinition "as.x.io": spec.versions: Invalid value: []: must have exactly one version marked as storage version`},
		{"a conversion webhook", "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: as.x.io}\n" +
			"spec: {group: x.io, names: {plural: as, singular: a, kind: A, listKind: AList}, scope: Namespaced, conversion: {strategy: Webhook, webhook: " +
			"{conversionReviewVersions: [v1], clientConfig: {caBundle: YQ==, service: {name: a, namespace: ns}}}}, versions: " +
			"[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n",
			`-:1:1: CustomResourceDefinition "as.x.io": spec.conversion.webhook.clientConfig.caBundle: contains no valid PEM certificate`},
		{"a conversion by nothing", "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: as.x.io}\n" +
			"spec: {group: x.io, names: {plural: as, singular: a, kind: A, listKind: AList}, scope: Namespaced, conversion: {strategy: Webhook, webhook: " +
			"{conversionReviewVersions: [v1]}}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n",
			`-:1:1: CustomResourceDefinition "as.x.io": spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook`},
		{"certificates", "{kind: APIService, apiVersion: apiregistration.k8s.io/v1, metadata: {name: v1.y.io}, spec: {group: y.io, version: v1, caBundle: YQ==}}\n---\n" +
			"{kind: MutatingWebhookConfiguration, apiVersion: admissionregistration.k8s.io/v1, metadata: {name: m}, webhooks: [{name: a, clientConfig: {caBundle: Cg==}}, {name: b, clientConfig: {caBundle: YQ==}}]}\n---\n" +
			"{kind: ValidatingWebhookConfiguration, apiVersion: admissionregistration.k8s.io/v1, metadata: {name: v}, webhooks: [{name: a, clientConfig: {caBundle: LS0t}}]}",
			`-:1:1: APIService "v1.y.io": spec.caBundle: contains no valid PEM certificate
-:3:1: MutatingWebhookConfiguration "m": webhooks[1].clientConfig.caBundle: contains no valid PEM certificate
-:5:1: ValidatingWebhookConfiguration "v": webhooks[0].clientConfig.caBundle: contains no valid PEM certificate`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			problems, err := load(t, tt.text).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, p := range problems {
				lines = append(lines, p.Error())
			}
			if got := strings.Join(lines, "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestExpensiveRules checks that evaluation stops for all further objects when CEL rules have become too expensive.
func TestExpensiveRules(t *testing.T) {
	rule := "{rule: '!self.contains(\"" + strings.Repeat("b", 90) + "\")'}"
	text := "{kind: CustomResourceDefinition, apiVersion: apiextensions.k8s.io/v1, metadata: {name: as.x.io}, " +
		"spec: {group: x.io, names: {plural: as, singular: a, kind: A, listKind: AList}, scope: Cluster, versions: [{name: v1, served: true, storage: true, " +
		"schema: {openAPIV3Schema: {type: object, properties: {text: {type: string, maxLength: 1000000, " +
		"x-kubernetes-validations: [" + strings.Repeat(rule+", ", 10) + rule + "]}}}}}]}}\n"
	for i := range 4 {
		text += fmt.Sprintf("---\n{kind: A, apiVersion: x.io/v1, metadata: {name: a%d}, text: %s}\n", i, strings.Repeat("a", 1_000_000))
	}
	problems, err := load(t, text).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const want = `-:7:1: A "a2": CEL rules take too long: not evaluated for this and later objects`
	if len(problems) != 1 || problems[0].Error() != want {
		t.Errorf("got %v", problems)
	}
}

func TestCheckIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := load(t, everyKind).Check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
