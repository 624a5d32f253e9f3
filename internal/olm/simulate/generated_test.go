package simulate

import (
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
)

// completeOperator is a file with an operator and all that OLM generates for its APIService and webhooks, and with
// objects that OLM did not create, one a line. The authority's certificate is "x".
const completeOperator = `---
{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: kiln.v1, namespace: ns}, spec: {install: {strategy: deployment, spec: {deployments: [{name: kiln, spec: {selector: {matchLabels: {app: kiln}}, template: {metadata: {labels: {app: kiln}}, spec: {serviceAccountName: potter, containers: [{name: kiln, image: kiln}]}}}}]}}, apiservicedefinitions: {owned: [{name: kilns, group: example.com, version: v1, kind: Kiln, deploymentName: kiln, containerPort: 443}]}, webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: glaze, deploymentName: kiln}, {type: ValidatingAdmissionWebhook, generateName: glaze, deploymentName: kiln}, {type: ConversionWebhook, generateName: fire, deploymentName: kiln, conversionCRDs: [clays.example.com]}]}, status: {phase: Succeeded}}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.com, labels: {olm.managed: "true"}}, spec: {group: example.com, version: v1, caBundle: eA==, service: {name: kiln-service, namespace: ns}}}
---
{apiVersion: v1, kind: Service, metadata: {name: kiln-service, namespace: ns, labels: {olm.managed: "true"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: kiln-service-cert, namespace: ns, labels: {olm.managed: "true"}, annotations: {olmcahash: 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: kiln, namespace: ns}, spec: {template: {metadata: {annotations: {olmcahash: 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881}}, spec: {serviceAccountName: potter}}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: potter, namespace: ns, labels: {olm.managed: "true"}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: kiln-service-cert, namespace: ns, labels: {olm.managed: "true"}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: kiln-service-cert, namespace: ns, labels: {olm.managed: "true"}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: "kiln-service-system:auth-delegator", labels: {olm.managed: "true"}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: kiln-service-auth-reader, namespace: kube-system, labels: {olm.managed: "true"}}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: glaze-x, labels: {olm.managed: "true", olm.owner: kiln.v1, olm.owner.namespace: ns, olm.owner.kind: ClusterServiceVersion, olm.webhook-description-generate-name: glaze}}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: glaze-y, labels: {olm.managed: "true", olm.owner: kiln.v1, olm.owner.namespace: ns, olm.owner.kind: ClusterServiceVersion, olm.webhook-description-generate-name: glaze}}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: clays.example.com}, spec: {group: example.com, scope: Cluster, names: {plural: clays, kind: Clay}, versions: [{name: v1, served: true, storage: true}], conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}}}
`

// foreignObjects are objects that OLM did not create: a file with them has all objects of their kinds.
const foreignObjects = `---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.}}
---
{apiVersion: v1, kind: Service, metadata: {name: kubernetes, namespace: default}}
---
{apiVersion: v1, kind: Secret, metadata: {name: pull, namespace: ns}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: ns}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: other, namespace: ns}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: other, namespace: ns}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: other}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: other, namespace: kube-system}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: other}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: other}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: pots.example.com}, spec: {group: example.com, scope: Cluster, names: {plural: pots, kind: Pot}, versions: [{name: v1, served: true, storage: true}]}}
`

// everythingRead is the object of a live cluster in which all kinds of generated objects were read.
const everythingRead = `---
{apiVersion: opm.operatorframework.io/v1, kind: ClusterInfo, metadata: {name: cluster}, read: [APIService.apiregistration.k8s.io, ClusterRoleBinding.rbac.authorization.k8s.io, CustomResourceDefinition.apiextensions.k8s.io, Deployment.apps, MutatingWebhookConfiguration.admissionregistration.k8s.io, Role.rbac.authorization.k8s.io, RoleBinding.rbac.authorization.k8s.io, Secret, Service, ServiceAccount, ValidatingWebhookConfiguration.admissionregistration.k8s.io]}
`

// someRead is the object of a live cluster in which only a namespace was read, with objects of it that OLM did not
// create.
const someRead = `---
{apiVersion: opm.operatorframework.io/v1, kind: ClusterInfo, metadata: {name: cluster}, namespaces: [ns], read: [Role.rbac.authorization.k8s.io, Secret, Service]}
---
{apiVersion: v1, kind: Service, metadata: {name: other, namespace: ns}}
---
{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: ns}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: other, namespace: ns}}
`

// newSecret is a Secret of another operator that a simulation created: its certificate is not known.
const newSecret = `---
{apiVersion: v1, kind: Secret, metadata: {name: loom-service-cert, namespace: ns, labels: {olm.managed: "true"}, annotations: {olmcahash: ""}}}
`

// TestLacksGenerated removes or changes each object that OLM generates for an operator: OLM notices it if the state has
// all objects of the kind, and otherwise the object may exist.
func TestLacksGenerated(t *testing.T) {
	const hash = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	for _, test := range []struct {
		line     string // the beginning of the line to change
		old, now string // the change; the line is removed if both are ""
		want     string
	}{
		{want: ""},
		{line: "apiregistration.k8s.io/v1, kind: APIService", want: `apiservice.apiregistration.k8s.io "v1.example.com" not found`},
		{"apiregistration", "name: kiln-service", "name: other", "found APIService and service reference mismatch"},
		{"apiregistration", "namespace: ns", "namespace: other", "found APIService and service reference mismatch"},
		{"apiregistration", "caBundle: eA==", "caBundle: eQ==", "secret kiln-service-cert CA cert hash does not match expected"},
		{"apiregistration", "caBundle: eA==, ", "", ""},
		{line: "v1, kind: Service,", want: `service "kiln-service" not found`},
		{line: "v1, kind: Secret", want: `secret "kiln-service-cert" not found`},
		{"v1, kind: Secret", hash, "z", "secret kiln-service-cert CA cert hash does not match expected"},
		{"v1, kind: Secret", hash, `""`, ""},
		{line: "apps/v1", want: `deployment.apps "kiln" not found`},
		{"apps/v1", hash, "z", "deployment kiln CA cert hash does not match expected"},
		{"apps/v1", "serviceAccountName: potter", "", ""},
		{"apps/v1", "serviceAccountName: potter", "serviceAccountName: default", ""},
		{line: "v1, kind: ServiceAccount", want: `serviceaccounts "potter" not found`},
		{line: "rbac.authorization.k8s.io/v1, kind: Role,", want: `role.rbac.authorization.k8s.io "kiln-service-cert" not found`},
		{
			line: "rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: kiln-service-cert",
			want: `rolebinding.rbac.authorization.k8s.io "kiln-service-cert" not found`,
		},
		{
			line: "rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding",
			want: `clusterrolebinding.rbac.authorization.k8s.io "kiln-service-system:auth-delegator" not found`,
		},
		{
			line: "rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: kiln-service-auth-reader",
			want: `rolebinding.rbac.authorization.k8s.io "kiln-service-auth-reader" not found`,
		},
		{line: "admissionregistration.k8s.io/v1, kind: Mutating", want: calculatedBad},
		{line: "admissionregistration.k8s.io/v1, kind: Validating", want: calculatedBad},
		{"admissionregistration.k8s.io/v1, kind: Validating", "name: glaze}", "name: other}", calculatedBad},
		{line: "apiextensions", want: calculatedBad},
		{"apiextensions", "webhook: {conversionReviewVersions: [v1]}", "", calculatedBad},
	} {
		lines := strings.SplitAfter(completeOperator, "\n---\n")
		for i, line := range lines {
			switch {
			case test.line == "" || !strings.Contains(line, "{apiVersion: "+test.line):
			case test.old == "":
				lines[i] = ""
			default:
				lines[i] = strings.Replace(line, test.old, test.now, 1)
			}
		}
		text := strings.TrimSuffix(strings.Join(lines, ""), "---\n")
		if text == completeOperator && test.line != "" {
			t.Fatalf("no change in the line %q", test.line)
		}
		for of, state := range map[string]string{
			"a file": text + foreignObjects, "a cluster": text + everythingRead,
		} {
			if got := lackOf(loaded(t, state)); got != test.want {
				t.Errorf("%s, %s -> %s: from %s, got %q, want %q", test.line, test.old, test.now, of, got, test.want)
			}
		}
		if test.old != "" || test.line == "apps/v1" { // a missing Deployment is known by the service accounts
			continue
		}
		for of, state := range map[string]string{
			"a file":    text,
			"a result":  text + newSecret,
			"a cluster": text + someRead,
		} {
			if got := lackOf(loaded(t, state)); got != "" {
				t.Errorf("without %s, from %s without all objects, got %q", test.line, of, got)
			}
		}
	}
}

// lackOf returns the message about the missing generated objects of the only operator of a state.
func lackOf(state *cluster.State) string {
	r := newRun(state, Options{})
	ns := r.installedIn("ns")
	ns.configured = r.webhooks
	_, message := ns.lacksGenerated(ns.all[0].Value)
	return message
}
