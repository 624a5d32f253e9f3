package plain

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/bundle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spec is the spec of a ClusterServiceVersion with every field that becomes an object.
const spec = `
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions: {owned: [{name: kilns.pottery.example, version: v1, kind: Kiln}]}
  install:
    strategy: deployment
    spec:
      permissions:
      - serviceAccountName: kiln-operator
        rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
      clusterPermissions:
      - rules: [{apiGroups: [pottery.example], resources: [kilns], verbs: ["*"]}]
      - serviceAccountName: kiln-operator
        rules: [{apiGroups: [pottery.example], resources: [kilns], verbs: ["*"]}]
      deployments:
      - name: kiln.operator
        label: {app: kiln}
        spec:
          replicas: 1
          selector: {matchLabels: {app: kiln}}
          template:
            metadata: {annotations: {pod: "true"}, labels: {app: kiln}}
            spec:
              volumes: [{name: certs, emptyDir: {}}, {name: data, emptyDir: {}}]
              containers:
              - name: manager
                image: registry.example/kiln:v1
                volumeMounts:
                - {name: certs, mountPath: /tmp/k8s-webhook-server/serving-certs}
                - {name: data, mountPath: /data}
`

const webhooks = `
  webhookdefinitions:
  - {type: ValidatingAdmissionWebhook, generateName: vkiln, deploymentName: kiln.operator, containerPort: 443, targetPort: 9443,
     admissionReviewVersions: [v1], sideEffects: None, webhookPath: /validate}
  - {type: MutatingAdmissionWebhook, generateName: mkiln, deploymentName: kiln.operator, containerPort: 8443,
     admissionReviewVersions: [v1], sideEffects: None}
  - {type: ConversionWebhook, generateName: ckiln, deploymentName: kiln.operator, containerPort: 443, targetPort: 9443,
     admissionReviewVersions: [v1], sideEffects: None, conversionCRDs: [kilns.pottery.example]}
`

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kilns.pottery.example}
spec:
  group: pottery.example
  scope: Namespaced
  names: {kind: Kiln, plural: kilns}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// read reads a bundle whose ClusterServiceVersion has the given spec, with more files.
func read(t testing.TB, spec string, more map[string]string) *bundle.Contents {
	t.Helper()
	files := fstest.MapFS{
		"manifests/crd.yaml": {Data: []byte(definition)},
		"manifests/csv.yaml": {Data: []byte("apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n" +
			"metadata: {name: kiln.v1.0.0, annotations: {capabilities: Basic}}\nspec:" + spec)},
		"metadata/annotations.yaml": {Data: []byte("annotations: {operators.operatorframework.io.bundle.package.v1: kiln}")},
	}
	for name, text := range more {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	c, err := bundle.ReadContents(files, "kiln", bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// list returns objects as lines.
func list(objects []*unstructured.Unstructured) string {
	var text strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&text, "%s %s/%s\n", o.GetKind(), o.GetNamespace(), o.GetName())
	}
	return text.String()
}

func TestObjects(t *testing.T) {
	const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: glazes, namespace: elsewhere}}"
	c := read(t, spec+webhooks, map[string]string{
		"manifests/glazes.yaml": configMap,
		"manifests/role.yaml":   "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: potter}}",
	})
	objects, err := Objects(c, Options{Namespace: "studio", Certificates: CertManager})
	if err != nil {
		t.Fatal(err)
	}
	got := list(objects)
	for _, line := range []string{
		"ServiceAccount studio/kiln-operator\nClusterRole /kiln.v1.0.0-default-",
		"\nCustomResourceDefinition /kilns.pottery.example\nConfigMap studio/glazes\nClusterRole /potter\n" +
			"Deployment studio/kiln.operator\nValidatingWebhookConfiguration studio/vkiln\n" +
			"MutatingWebhookConfiguration studio/mkiln\nService studio/kiln-operator-service\n" +
			"Issuer studio/kiln-operator-service-cert-selfsigned-issuer\nCertificate studio/kiln-operator-service-cert\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("want %q in\n%s", line, got)
		}
	}
	if again, _ := Objects(c, Options{Namespace: "studio", Certificates: CertManager}); list(again) != got {
		t.Errorf("the second time\n%s", list(again))
	}
	strict(t, objects)
}

// TestRoleNames has names that operator-controller gave to roles.
func TestRoleNames(t *testing.T) {
	leases := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: all},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: all},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
	tests := []struct {
		csv, account, watch string
		want                string
	}{
		{
			"argocd-operator.v0.6.0", "argocd-operator-controller-manager", "argocd-system",
			"Role argocd-system/argocd-operator.v0-22gmilmgp91wu25is5i2ec598hni8owq3l71bbkl7iz3",
		},
		{
			"webhook-operator.v0.0.5", "webhook-operator-controller-manager", "",
			"ClusterRole /webhook-operator.v-1zfvwth88plw3th2midra1jqduroo1q7omiagjujsiu3",
		},
	}
	for _, tt := range tests {
		c := read(t, spec, nil)
		c.CSV.Name = tt.csv
		strategy := &c.CSV.Spec.InstallStrategy.StrategySpec
		strategy.ClusterPermissions = nil
		strategy.Permissions[0].ServiceAccountName, strategy.Permissions[0].Rules = tt.account, leases
		c.CSV.Spec.InstallModes[0].Type = "OwnNamespace"
		if tt.watch == "" {
			c.CSV.Spec.InstallModes[0].Type = "AllNamespaces"
		}
		objects, err := Objects(c, Options{Namespace: "argocd-system", Watch: tt.watch})
		if err != nil {
			t.Fatal(err)
		}
		if got := list(objects); !strings.Contains(got, tt.want+"\n") {
			t.Errorf("want %s in\n%s", tt.want, got)
		}
	}
}

var all = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

// TestNamespaces watches all namespaces, another namespace and the operator's own.
func TestNamespaces(t *testing.T) {
	const modes = "installModes: [{type: AllNamespaces, supported: true}"
	for _, tt := range []struct{ watch, want string }{
		{"", "ClusterRole ClusterRoleBinding ClusterRole ClusterRoleBinding ClusterRole ClusterRoleBinding"},
		{"kilns", "Role RoleBinding ClusterRole ClusterRoleBinding ClusterRole ClusterRoleBinding"},
		{"studio", "Role RoleBinding ClusterRole ClusterRoleBinding ClusterRole ClusterRoleBinding"},
	} {
		c := read(t, strings.Replace(spec, modes, modes+
			", {type: OwnNamespace, supported: true}, {type: SingleNamespace, supported: true}", 1), nil)
		objects, err := Objects(c, Options{Namespace: "studio", Watch: tt.watch})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, o := range objects {
			if strings.Contains(o.GetKind(), "Role") {
				kinds = append(kinds, o.GetKind())
			}
			if o.GetKind() == "Role" && o.GetNamespace() != tt.watch {
				t.Errorf("the role is in %q, want it in %q", o.GetNamespace(), tt.watch)
			}
			if o.GetKind() == "Deployment" {
				annotations, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "annotations")
				if got := fmt.Sprint(annotations); got != "map[capabilities:Basic olm.operatorNamespace:studio olm.targetNamespaces:"+tt.watch+" pod:true]" {
					t.Errorf("annotations of the pod: %s", got)
				}
			}
		}
		if got := strings.Join(kinds, " "); got != tt.want {
			t.Errorf("watching %q: got %s, want %s", tt.watch, got, tt.want)
		}
	}
}

func TestCertificate(t *testing.T) {
	objects, err := Objects(read(t, spec+webhooks, nil), Options{Namespace: "studio", Certificates: CertManager})
	if err != nil {
		t.Fatal(err)
	}
	const host = "kiln-operator-service.studio"
	want := "map[commonName:" + host + " dnsNames:[" + host + " " + host + ".svc " + host + ".svc.cluster.local] " +
		"duration:17520h0m0s issuerRef:map[name:kiln-operator-service-cert-selfsigned-issuer] renewBefore:24h0m0s " +
		"secretName:kiln-operator-service-cert usages:[server auth]]"
	if got := fmt.Sprint(objects[len(objects)-1].Object["spec"]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestPropertiesAnnotation checks the annotation olm.properties, which OLM v1 writes from metadata/properties.yaml.
func TestPropertiesAnnotation(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"", ""},
		{"properties: []", "null"},
		{"properties: [{type: color, value: red}]", `[{"type":"color","value":"red"}]`},
	} {
		more := map[string]string{}
		if tt.file != "" {
			more["metadata/properties.yaml"] = tt.file
		}
		if got := read(t, spec, more).CSV.Annotations["olm.properties"]; got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.file, got, tt.want)
		}
	}
}

// TestNoPackage checks the error about a bundle without a package.
func TestNoPackage(t *testing.T) {
	c := read(t, spec, map[string]string{"metadata/annotations.yaml": "annotations: {}\n"})
	const want = "kiln/metadata/annotations.yaml:1:14: annotations: package name is empty"
	if _, err := Objects(c, Options{Namespace: "studio"}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// find returns the object of a kind.
func find[T any](t testing.TB, objects []*unstructured.Unstructured, kind string) *T {
	t.Helper()
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	if i < 0 {
		t.Fatalf("no %s", kind)
	}
	v := new(T)
	decodeStrict(t, objects[i], v)
	return v
}

func TestWebhooks(t *testing.T) {
	c := read(t, spec+webhooks, nil)
	for _, tt := range []struct {
		certificates              Certificates
		onWebhook, onService, end string
	}{
		{CertManager, "map[cert-manager.io/inject-ca-from:studio/kiln-operator-service-cert]", "map[]", "Certificate"},
		{
			ServiceCA, "map[service.beta.openshift.io/inject-cabundle:true]",
			"map[service.beta.openshift.io/serving-cert-secret-name:kiln-operator-service-cert]", "Service",
		},
	} {
		objects, err := Objects(c, Options{Namespace: "studio", Certificates: tt.certificates})
		if err != nil {
			t.Fatal(err)
		}
		if got := objects[len(objects)-1].GetKind(); got != tt.end {
			t.Errorf("the last object is a %s, want a %s", got, tt.end)
		}
		crd := find[apiextensionsv1.CustomResourceDefinition](t, objects, "CustomResourceDefinition")
		validating := find[admissionv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration")
		mutating := find[admissionv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration")
		service := find[corev1.Service](t, objects, "Service")
		for what, annotations := range map[string]map[string]string{
			"the definition": crd.Annotations, "the validating": validating.Annotations, "the mutating": mutating.Annotations,
		} {
			if got := fmt.Sprint(annotations); got != tt.onWebhook {
				t.Errorf("annotations of %s: %s, want %s", what, got, tt.onWebhook)
			}
		}
		if got := fmt.Sprint(service.Annotations); got != tt.onService {
			t.Errorf("annotations of the service: %s, want %s", got, tt.onService)
		}
		client := crd.Spec.Conversion.Webhook.ClientConfig.Service
		if got := fmt.Sprintf("%s/%s:%d%s", client.Namespace, client.Name, *client.Port, *client.Path); got !=
			"studio/kiln-operator-service:443/" {
			t.Errorf("the definition is converted at %s", got)
		}
		var ports []string
		for _, p := range service.Spec.Ports {
			ports = append(ports, fmt.Sprintf("%s %d %s", p.Name, p.Port, p.TargetPort.String()))
		}
		if want := []string{"443 443 9443", "8443 8443 8443"}; !slices.Equal(ports, want) {
			t.Errorf("ports %q, want %q", ports, want)
		}
		pod := find[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec
		var mounts []string
		for i, m := range pod.Containers[0].VolumeMounts {
			mounts = append(mounts, m.Name+"="+pod.Volumes[i].Name+" "+m.MountPath)
		}
		if want := []string{
			"data=data /data", "webhook-cert=webhook-cert /tmp/k8s-webhook-server/serving-certs",
			"apiservice-cert=apiservice-cert /apiserver.local.config/certificates",
		}; !slices.Equal(mounts, want) {
			t.Errorf("mounts %q, want %q", mounts, want)
		}
	}
}

func TestProperties(t *testing.T) {
	text, err := os.ReadFile("testdata/openshift.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Value   string `json:"value"`
		Current string `json:"current"`
		Blocks  string `json:"blocks"`
	}
	if err := yaml.UnmarshalStrict(text, &rows); err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, tt := range rows {
		c := read(t, spec, map[string]string{
			"metadata/properties.yaml": "properties: [{type: other, value: 1}, {type: olm.maxOpenShiftVersion, value: " + tt.Value + "}]",
		})
		current, err := platform.ParseVersion(tt.Current)
		if err != nil {
			t.Fatal(err)
		}
		e := BlocksOpenShift(c, current)
		if (e == nil) != (tt.Blocks == "") || e != nil && !strings.HasSuffix(e.Error(), tt.Blocks) {
			t.Errorf("%s with %s: got %v, want %q", tt.Value, tt.Current, e, tt.Blocks)
		}
	}
}
