package admission_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/admission"
)

// object returns the object of testdata/KIND.yaml after a change, which replaces its first string in the file by its
// second one; "" for none.
func object(t *testing.T, kind string, change [2]string) admission.Object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", kind+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), change[0]) {
		t.Fatalf("%s.yaml does not have %q", kind, change[0])
	}
	text = []byte(strings.Replace(string(text), change[0], change[1], 1))
	u := new(unstructured.Unstructured)
	if err := yaml.Unmarshal(text, &u.Object); err != nil {
		t.Fatal(err)
	}
	o := admission.New(u.GroupVersionKind())
	if o == nil {
		return u
	}
	if err := yaml.Unmarshal(text, o); err != nil {
		t.Fatal(err)
	}
	return o
}

func text(o admission.Object, errs field.ErrorList) string {
	err := admission.Invalid(o, errs)
	if err == nil {
		return ""
	}
	prefix := fmt.Sprintf("%s %q is invalid: ", o.GetObjectKind().GroupVersionKind().GroupKind(), o.GetName())
	return strings.TrimPrefix(err.Error(), prefix)
}

// TestCreate checks the creation of valid objects with one change.
func TestCreate(t *testing.T) {
	for _, test := range []struct {
		kind     string
		old, new string
		want     string
	}{
		{"ConfigMap", "", "", ""},
		{"ConfigMap", "name: settings", "name: Settings", "metadata.name: Invalid value: \"Settings\": a lowercase RFC 1123"},
		{"ConfigMap", "a: text", "a/b: text", "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of"},
		{"ConfigMap", "binaryData: {}", "binaryData: {a: aGk=}", "[data[a]: Invalid value: \"a\": duplicate of key present in " +
			"binaryData, binaryData[a]: Invalid value: \"a\": duplicate of key present in data]"},
		{"ConfigMap", "labels: {app: x}", "labels: {app: x y}", "metadata.labels: Invalid value: \"x y\": a valid label must be"},
		{"Secret", "", "", ""},
		{"Secret", "tls.key: ''", "other: ''", "data[tls.key]: Required value"},
		{"Secret", "kubernetes.io/tls", "kubernetes.io/basic-auth",
			"[data[username]: Required value, data[password]: Required value]"},
		{"Service", "", "", ""},
		{"Service", "name: web", "name: 1web", "metadata.name: Invalid value: \"1web\": a DNS-1035 label must"},
		{"Service", "ports: [{port: 80, name: http}]", "ports: []", "spec.ports: Required value"},
		{"Service", "[{port: 80, name: http}]", "[{port: 80}, {port: 81}]",
			"[spec.ports[0].name: Required value, spec.ports[1].name: Required value]"},
		{"Service", "port: 80", "port: 0", "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"},
		{"Service", "name: http}", "name: http, nodePort: 30000}",
			"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
		{"Deployment", "", "", ""},
		{"Deployment", "selector: {matchLabels: {app: web}}", "paused: false", "[spec.selector: Required value, " +
			"spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`]"},
		{"Deployment", "labels: {app: web}", "labels: {app: other}", "spec.template.metadata.labels: Invalid value: " +
			"{\"app\":\"other\"}: `selector` does not match template `labels`"},
		{"Deployment", "image: local.test/web", "image: ''", "spec.template.spec.containers[0].image: Required value"},
		{"Deployment", "- name: main", "- name: Main",
			"spec.template.spec.containers[0].name: Invalid value: \"Main\": a lowercase RFC 1123 label"},
		{"Deployment", "name: data, mountPath", "name: other, mountPath",
			"spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"other\""},
		{"Deployment", "emptyDir: {}", "emptyDir: {}, hostPath: {path: /}",
			"spec.template.spec.volumes[0].emptyDir: Forbidden: may not specify more than 1 volume type"},
		{"Deployment", ", emptyDir: {}", "", ""}, // the default
		{"Deployment", "cpu: 1m", "cpu: 3m",
			"spec.template.spec.containers[0].resources.requests: Invalid value: \"3m\": must be less than or equal to cpu limit of 2m"},
		{"Deployment", "name: VARIABLE", "name: A=B",
			"spec.template.spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid environment variable name"},
		{"Deployment", "httpGet: {port: 8080}", "periodSeconds: 3",
			"spec.template.spec.containers[0].livenessProbe: Required value: must specify a handler type"},
		{"Role", "", "", ""},
		{"Role", "verbs: [get]", "verbs: []", "rules[0].verbs: Required value: verbs must contain at least one value"},
		{"Role", "resources: [pods]", "nonResourceURLs: [/metrics]", "[rules[0].nonResourceURLs: Invalid value: " +
			"[\"/metrics\"]: namespaced rules cannot apply to non-resource URLs, rules[0].nonResourceURLs: Invalid value: " +
			"[\"/metrics\"]: rules cannot apply to both regular resources and non-resource URLs]"},
		{"Role", "name: system:web", "name: a/b", "metadata.name: Invalid value: \"a/b\": may not contain '/'"},
		{"ClusterRoleBinding", "", "", ""},
		{"ClusterRoleBinding", "kind: ClusterRole,", "kind: Role,",
			"roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\""},
		{"ClusterRoleBinding", ", namespace: work", "", "subjects[0].namespace: Required value"},
		{"PodDisruptionBudget", "", "", ""},
		{"PodDisruptionBudget", "minAvailable: 1", "minAvailable: -1",
			"spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"},
		{"PodDisruptionBudget", "minAvailable: 1", "minAvailable: 101%",
			"spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%"},
		{"PodDisruptionBudget", "minAvailable: 1", "minAvailable: 1\n  maxUnavailable: 1", "spec: Invalid value: " +
			"{\"MinAvailable\":1,\"Selector\":{\"matchLabels\":{\"a\":\"b\"}},\"MaxUnavailable\":1," +
			"\"UnhealthyPodEvictionPolicy\":null}: minAvailable and maxUnavailable cannot be both set"},
		{"PriorityClass", "", "", ""},
		{"PriorityClass", "name: first", "name: system-first", "metadata.name: Forbidden: priority class names with 'system-'"},
		{"PriorityClass", "value: 5", "value: 1000000001",
			"value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
		{"NetworkPolicy", "", "", ""},
		{"NetworkPolicy", "from: [{podSelector: {}}]", "from: [{}]", "spec.ingress[0].from[0]: Required value: must specify a peer"},
		{"NetworkPolicy", "podSelector: {}}]", "podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]",
			"spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"},
		{"NetworkPolicy", "port: 80", "endPort: 80",
			"spec.ingress[0].ports[0].port: Required value: must be specified if `endPort` is specified"},
		{"CustomResourceDefinition", "", "", ""},
		{"CustomResourceDefinition", "name: weaves.", "name: looms.",
			"metadata.name: Invalid value: \"looms.textile.example\": must be spec.names.plural+\".\"+spec.group"},
		{"CustomResourceDefinition", "size: {type: integer}", "size: {}",
			"spec.validation.openAPIV3Schema.properties[spec].properties[size].type: Required value: " +
				"must not be empty for specified object fields"},
		{"Other", "", "", ""},
		{"Other", "labels: {app: x}", "labels: {-a: x}", "metadata.labels: Invalid value: \"-a\": name part must consist of"},
	} {
		o := object(t, test.kind, [2]string{test.old, test.new})
		if got := text(o, admission.Create(o)); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s with %q: got %s\nwant the prefix %s", test.kind, test.new, got, test.want)
		}
	}
}

// TestUpdate checks updates of valid objects by one change.
func TestUpdate(t *testing.T) {
	for _, test := range []struct {
		kind     string
		old, new string
		want     string
	}{
		{"ConfigMap", "a: text", "a: other", "data: Forbidden: field is immutable when `immutable` is set"},
		{"ConfigMap", "immutable: true", "immutable: false", "immutable: Forbidden: field is immutable when `immutable` is set"},
		{"ConfigMap", "{app: x}", "{app: y}", ""},
		{"Secret", "kubernetes.io/tls", "Opaque", "type: Invalid value: \"Opaque\": field is immutable"},
		{"Secret", "tls.key: ''", "tls.key: aGk=", "data: Forbidden: field is immutable when `immutable` is set"},
		{"Service", "clusterIP: 10.0.0.1", "clusterIP: None",
			"spec.clusterIPs[0]: Invalid value: [\"None\"]: may not change once set"},
		{"Service", "clusterIP: 10.0.0.1", "clusterIP: ''", ""},
		{"Deployment", "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: Exists}]}",
			"spec.selector: Invalid value: {\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}: field is immutable"},
		{"Deployment", "image: local.test/web", "image: local.test/new", ""},
		{"Role", "verbs: [get]", "verbs: []", "rules[0].verbs: Required value: verbs must contain at least one value"},
		{"ClusterRoleBinding", "name: reader", "name: writer", "roleRef: Invalid value: {\"APIGroup\":" +
			"\"rbac.authorization.k8s.io\",\"Kind\":\"ClusterRole\",\"Name\":\"writer\"}: cannot change roleRef"},
		{"ClusterRoleBinding", "apiGroup: rbac.authorization.k8s.io, ", "", ""},
		{"PodDisruptionBudget", "minAvailable: 1", "minAvailable: 2", ""},
		{"PriorityClass", "value: 5", "value: 6", "value: Forbidden: may not be changed in an update."},
		{"PriorityClass", "value: 5", "value: 5\npreemptionPolicy: Never",
			"preemptionPolicy: Invalid value: \"Never\": field is immutable"},
		{"CustomResourceDefinition", "scope: Namespaced", "scope: Cluster",
			"spec.scope: Invalid value: \"Cluster\": field is immutable"},
		{"CustomResourceDefinition", "{name: v1, served: true", "{name: v2, served: true",
			"status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions"},
		{"CustomResourceDefinition", "size: {type: integer}", "size: {type: string}", ""},
		{"Other", "value: 1", "value: 2", ""},
	} {
		old, o := object(t, test.kind, [2]string{}), object(t, test.kind, [2]string{test.old, test.new})
		if got := text(o, admission.Update(o, old)); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s with %q: got %s\nwant the prefix %s", test.kind, test.new, got, test.want)
		}
	}
}
