package updatecheck

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// operatorOf returns a ClusterServiceVersion with a Deployment, whose pods have these labels and this image.
func operatorOf(labels, image string) string {
	return fmt.Sprintf(`{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: kiln},
		spec: {install: {strategy: deployment, spec: {deployments: [{name: kiln, spec: {selector: {matchLabels: %[1]s},
		template: {metadata: {labels: %[1]s}, spec: {containers: [{name: kiln, image: "%[2]s"}]}}}}]}}}}`, labels, image)
}

// operatorWith returns a ClusterServiceVersion with more fields of its install strategy and of its spec.
func operatorWith(strategy, spec string) string {
	text := strings.Replace(operatorOf("{app: kiln}", "local.test/kiln"), "spec: {deployments", "spec: {"+strategy+"deployments", 1)
	return strings.Replace(text, "spec: {install", "spec: {"+spec+"install", 1)
}

// TestObjects checks updates of bundles with a ClusterServiceVersion and at most one other object.
func TestObjects(t *testing.T) {
	operator := operatorOf("{app: kiln}", "local.test/kiln")
	const (
		class   = "{apiVersion: scheduling.k8s.io/%s, kind: PriorityClass, metadata: {name: a}, value: %d}"
		binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, " +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %s}}"
		settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, immutable: %t, data: {a: %s}}"
		service  = "{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {clusterIP: %s, ports: [{port: %d}]}}"
		crd      = head + "\n  scope: %s\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: %s}}]"
	)
	for _, test := range []struct {
		name          string
		before, after []string
		want          string // the beginning of the error; "" for none
	}{
		{"image", []string{operator}, []string{operatorOf("{app: kiln}", "local.test/new")}, ""},
		{"selector", []string{operator}, []string{operatorOf("{app: oven}", "local.test/kiln")},
			`Deployment.apps "kiln" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"oven"}}: field is immutable`},
		{"invalid", []string{operator}, []string{operatorOf("{app: kiln}", "")},
			`Deployment.apps "kiln" is invalid: spec.template.spec.containers[0].image: Required value`},
		{"priority", []string{operator, fmt.Sprintf(class, "v1", 1)}, []string{operator, fmt.Sprintf(class, "v1", 2)},
			`PriorityClass.scheduling.k8s.io "a" is invalid: value: Forbidden: may not be changed in an update.`},
		{"priority of another API version", []string{operator, fmt.Sprintf(class, "v1beta1", 1)},
			[]string{operator, fmt.Sprintf(class, "v1", 2)},
			`PriorityClass.scheduling.k8s.io "a" is invalid: value: Forbidden: may not be changed in an update.`},
		{"API version", []string{operator, fmt.Sprintf(class, "v1beta1", 1)}, []string{operator, fmt.Sprintf(class, "v1", 1)}, ""},
		{"role", []string{operator, fmt.Sprintf(binding, "b")}, []string{operator, fmt.Sprintf(binding, "c")},
			`RoleBinding.rbac.authorization.k8s.io "a" is invalid: roleRef: Invalid value: `},
		{"immutable", []string{operator, fmt.Sprintf(settings, "a", true, "b")},
			[]string{operator, fmt.Sprintf(settings, "a", true, "c")},
			"ConfigMap \"a\" is invalid: data: Forbidden: field is immutable when `immutable` is set"},
		{"data", []string{operator, fmt.Sprintf(settings, "a", false, "b")},
			[]string{operator, fmt.Sprintf(settings, "a", false, "c")}, ""},
		{"another name", []string{operator, fmt.Sprintf(settings, "a", true, "b")},
			[]string{operator, fmt.Sprintf(settings, "b", true, "c")}, ""},
		{"address", []string{operator, fmt.Sprintf(service, "a", "None", 80)},
			[]string{operator, fmt.Sprintf(service, "a", "10.0.0.1", 80)},
			`Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["10.0.0.1"]: may not change once set`},
		{"new and invalid", []string{operator}, []string{operator, fmt.Sprintf(service, "a", "None", 0)},
			`Service "a" is invalid: spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive`},
		{"removed", []string{operator, fmt.Sprintf(service, "a", "None", 0)}, []string{operator}, ""},
		{"of the wrong type", []string{operator}, []string{operator,
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: []}"}, `ConfigMap "a": `},
		{"labels of a custom resource", []string{operator}, []string{operator,
			"{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: a, labels: {-a: b}}}"},
			`ServiceMonitor.monitoring.coreos.com "a" is invalid: metadata.labels: Invalid value: "-a"`},
		{"a Service with two ports of one name", []string{operator}, []string{operatorWith("", `webhookdefinitions: [
			{type: ValidatingAdmissionWebhook, generateName: a, deploymentName: kiln, containerPort: 443, targetPort: 1},
			{type: ValidatingAdmissionWebhook, generateName: b, deploymentName: kiln, containerPort: 443, targetPort: 2}], `)},
			`Service "kiln-service" is invalid: [spec.ports[1].name: Duplicate value: "443"`},
		{"a service account", []string{operator},
			[]string{operatorWith("permissions: [{serviceAccountName: A_b, rules: []}], ", "")},
			`ServiceAccount "A_b" is invalid: metadata.name: Invalid value: "A_b"`},
		{"a Role", []string{operator}, []string{operatorWith(
			"permissions: [{serviceAccountName: kiln, rules: [{nonResourceURLs: [/a], verbs: [get]}]}], ", "")},
			`Role.rbac.authorization.k8s.io "`},
		{"a ClusterRole", []string{operator}, []string{operatorWith(
			"clusterPermissions: [{serviceAccountName: kiln, rules: [{nonResourceURLs: [/a], verbs: [get]}]}], ", "")}, ""},
		{"scope", []string{operator, fmt.Sprintf(crd, "Namespaced", "{type: object}")},
			[]string{operator, fmt.Sprintf(crd, "Cluster", "{type: object}")},
			`CustomResourceDefinition.apiextensions.k8s.io "kilns.pottery.example" is invalid: spec.scope: Invalid value: "Cluster"`},
		{"a new definition", []string{operator}, []string{operator, fmt.Sprintf(crd, "Namespaced", "{}")},
			`CustomResourceDefinition.apiextensions.k8s.io "kilns.pottery.example" is invalid: spec.validation.openAPIV3Schema.type: `},
	} {
		catalog := "{schema: olm.channel, package: kiln, name: stable, entries: [{name: v1}, {name: v2, replaces: v1}]}\n"
		for i, manifests := range [][]string{test.before, test.after} {
			var properties []string
			for _, text := range manifests {
				raw, err := yaml.YAMLToJSON([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				properties = append(properties, fmt.Sprintf("{type: olm.bundle.object, value: {data: %s}}",
					base64.StdEncoding.EncodeToString(raw)))
			}
			catalog += fmt.Sprintf("---\n{schema: olm.bundle, package: kiln, name: v%d, properties: [%s]}\n",
				i+1, strings.Join(properties, ", "))
		}
		report, err := checkCatalog(t, catalog, Options{OLM: []graph.Semantics{graph.Classic}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range report.Problems {
			if p.Rule == ruleRefused.Name {
				got += strings.TrimPrefix(p.Message, `OLM Classic cannot finish the update from "v1": `)
			}
		}
		refused := report.Refused[graph.Classic] == 1
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") || refused != (got != "") {
			t.Errorf("%s: got %q, want the prefix %q; refused: %t", test.name, got, test.want, refused)
		}
	}
}
