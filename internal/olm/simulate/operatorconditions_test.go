package simulate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestOperatorConditions covers the creation of OperatorConditions.
func TestOperatorConditions(t *testing.T) {
	runTable(t, "testdata/conditions.txtar", manifests(t, "OperatorCondition"), operatorConditions)
}

// TestReportedConditions checks that conditions reported by operators affect their updates in the same step.
func TestReportedConditions(t *testing.T) {
	runTable(t, "testdata/reported.txtar", outcome, reportedConditions, operators)
}

// TestConditionsWithoutTime checks that a condition has a lastTransitionTime only if a given object has it.
func TestConditionsWithoutTime(t *testing.T) {
	first, _ := withCondition(nil, metav1.Condition{Type: "A", Status: "True"})
	if !first[0].LastTransitionTime.IsZero() {
		t.Errorf("a new condition changed at %v", first[0].LastTransitionTime)
	}
	first[0].LastTransitionTime = metav1.Unix(1, 0)
	second, changed := withCondition(first, metav1.Condition{Type: "A", Status: "False"})
	if !changed || second[0].Status != "False" || second[0].LastTransitionTime != metav1.Unix(1, 0) {
		t.Errorf("changed %v: %v", changed, second)
	}
	if _, changed := withCondition(second, metav1.Condition{Type: "A", Status: "False"}); changed {
		t.Error("nothing has changed")
	}
}

// TestDeployments covers the changes that OLM makes to the deployments of operators.
func TestDeployments(t *testing.T) {
	runTable(t, "testdata/deployments.txtar", manifests(t, "Deployment"), operators)
}

// TestCertificates covers the objects for a deployment that serves webhooks or APIServices.
func TestCertificates(t *testing.T) {
	runTable(t, "testdata/certificates.txtar", manifests(t, "Service", "Secret"), operators)
}

// TestAuthority checks that clients of webhooks and APIServices trust the certificate authority of an existing Secret.
func TestAuthority(t *testing.T) {
	result := simulated(t, loaded(t, `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: kiln.v2, namespace: ns}
spec:
  install: {strategy: deployment, spec: {deployments: [{name: kiln, spec: {
    selector: {matchLabels: {app: kiln}},
    template: {metadata: {labels: {app: kiln}}, spec: {containers: [{name: kiln, image: local.test/kiln}]}}}}]}}
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions: {owned: [{name: kilns.x.io, version: v1, kind: Kiln}]}
  apiservicedefinitions: {owned: [{name: kilns, group: y.io, version: v1, kind: Kiln, deploymentName: kiln}]}
  webhookdefinitions:
  - {type: ValidatingAdmissionWebhook, generateName: v.x.io, deploymentName: kiln, sideEffects: None, admissionReviewVersions: [v1]}
  - {type: MutatingAdmissionWebhook, generateName: m.x.io, deploymentName: kiln, sideEffects: None, admissionReviewVersions: [v1]}
  - {type: ConversionWebhook, generateName: c.x.io, deploymentName: kiln, conversionCRDs: [kilns.x.io], admissionReviewVersions: [v1]}
status: {phase: InstallReady}
---
{apiVersion: v1, kind: Secret, metadata: {name: kiln-service-cert, namespace: ns}, data: {olmCAKey: Y2E=}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kilns.x.io}
spec: {group: x.io, names: {plural: kilns, kind: Kiln}, scope: Namespaced, versions: [{name: v1, served: true, storage: true}]}
`), Options{}, []controller{operators})
	found := map[string]int{}
	for o := range result.State.All() {
		found[o.Value.GetObjectKind().GroupVersionKind().Kind] += strings.Count(jsonText(o.Value), `"caBundle":"Y2E="`)
	}
	for _, kind := range []string{
		"APIService", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition",
	} {
		if found[kind] != 1 {
			t.Errorf("%s has %d CA bundles\n%s", kind, found[kind], timeline(result))
		}
	}
}

// TestGranted covers the permissions for OperatorConditions and certificates.
func TestGranted(t *testing.T) {
	show := manifests(t, "Role", "RoleBinding", "ClusterRoleBinding")
	runTable(t, "testdata/granted.txtar", show, operators, operatorConditions)
}

// manifests returns a function that shows the objects of some kinds that were created or updated. Kubernetes knows all
// of their fields.
func manifests(t *testing.T, kinds ...string) func(*Result) string {
	types := map[string]any{
		"OperatorCondition":  new(operatorsv2.OperatorCondition),
		"Role":               new(rbacv1.Role),
		"RoleBinding":        new(rbacv1.RoleBinding),
		"ClusterRoleBinding": new(rbacv1.ClusterRoleBinding),
		"Deployment":         new(appsv1.Deployment),
		"Service":            new(corev1.Service),
		"Secret":             new(corev1.Secret),
	}
	return func(r *Result) string {
		var all []string
		for o := range r.State.All() {
			ref := RefTo(o.Value)
			i := slices.IndexFunc(r.Events, func(e Event) bool { return e.Object == ref })
			if i < 0 || !slices.Contains(kinds, ref.Kind) {
				continue
			}
			text, err := yaml.JSONToYAML([]byte(jsonText(o.Value)))
			if err == nil {
				err = yaml.UnmarshalStrict(text, types[ref.Kind])
			}
			if err != nil {
				t.Errorf("%s: %v", ref, err)
			}
			all = append(all, fmt.Sprintf("# %s: %s\n%s", r.Events[i].Change, r.Events[i].Text, text))
		}
		return strings.Join(all, "---\n")
	}
}
