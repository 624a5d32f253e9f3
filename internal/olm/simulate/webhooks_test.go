package simulate

import (
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestInstallWebhooks installs the webhooks of an operator again: they are for all namespaces without a group, and for
// a group without a UID, and keep their certificate if a new one is not known.
func TestInstallWebhooks(t *testing.T) {
	const webhook = `, webhooks: [{name: glaze, clientConfig: {caBundle: b2xk}, sideEffects: None, ` +
		`admissionReviewVersions: [v1]}]}`
	text := strings.ReplaceAll(completeOperator, "generate-name: glaze}}}", "generate-name: glaze}}"+webhook)
	text = strings.Replace(text, "conversionReviewVersions", "clientConfig: {caBundle: b2xk}, conversionReviewVersions", 1)
	without := strings.ReplaceAll(completeOperator, "olm.webhook-description-generate-name: glaze", "other: x")
	for _, tt := range []struct {
		name, state string
		group       *operatorsv1.OperatorGroup
		ca          string // of the certificate; "" if it is not known
		want        string // the caBundle of the webhooks
		converts    string // the caBundle of the conversion
	}{
		{"unknown", text, nil, "", "old", "old"},
		{"new", text, nil, "new", "new", "new"},
		{"created", without, nil, "new", "new", "new"},
		{"created, unknown", without, new(operatorsv1.OperatorGroup), "", "", ""},
		{"of a group", text, new(operatorsv1.OperatorGroup), "", "old", "old"},
	} {
		r := newRun(loaded(t, tt.state), Options{})
		found, _ := r.State.ClusterServiceVersions.Get("ns", "kiln.v1")
		csv := found.Value
		csv.Spec.CustomResourceDefinitions.Owned = []v1alpha1.CRDDescription{{Name: "clays.example.com"}}
		i := &installation{
			installed: &installed{run: r, namespace: "ns", group: tt.group}, csv: csv,
			certificates: map[string]*certificate{"kiln": {ca: []byte(tt.ca)}},
		}
		if err := i.installWebhooks(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		check := func(selector *metav1.LabelSelector, client admissionv1.WebhookClientConfig) {
			if got := string(client.CABundle); got != tt.want || selector == nil || len(selector.MatchLabels) > 0 {
				t.Errorf("%s: got %q for %v, want %q for all namespaces", tt.name, got, selector, tt.want)
			}
		}
		checked := 0
		for o := range configurations(&r.State.ValidatingWebhooks, csv, "glaze") {
			check(o.Value.Webhooks[0].NamespaceSelector, o.Value.Webhooks[0].ClientConfig)
			checked++
		}
		for o := range configurations(&r.State.MutatingWebhooks, csv, "glaze") {
			check(o.Value.Webhooks[0].NamespaceSelector, o.Value.Webhooks[0].ClientConfig)
			checked++
		}
		if checked != 2 {
			t.Errorf("%s: %d configurations", tt.name, checked)
		}
		crd, _ := r.State.CustomResourceDefinitions.Get("", "clays.example.com")
		if got := string(crd.Value.Spec.Conversion.Webhook.ClientConfig.CABundle); got != tt.converts {
			t.Errorf("%s: conversion by %q, want %q", tt.name, got, tt.converts)
		}
	}
}
