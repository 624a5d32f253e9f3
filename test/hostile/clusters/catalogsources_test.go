package clusters

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// catalogSource writes a CatalogSource in JSON.
func catalogSource(w *bufio.Writer, name, annotations, spec string) {
	fmt.Fprintf(w, `{"kind": "CatalogSource", "apiVersion": "operators.coreos.com/v1alpha1", "metadata": {"name": %q, `+
		"\"namespace\": \"olm\", \"annotations\": {%s}}, \"spec\": {%s}}\n---\n", name, annotations, spec)
}

// TestManyCatalogSources checks the time and memory for 10,000 CatalogSources that all namespaces see, a third of each
// type.
func TestManyCatalogSources(t *testing.T) {
	specs := []string{`"sourceType": "grpc", "image": "q.io/c:v1"`, `"sourceType": "configmap", "configMap": "m"`, `"sourceType": "odd"`}
	state := stateFile(t, func(w *bufio.Writer) {
		for i := range 10_000 {
			catalogSource(w, fmt.Sprint("c", i), "", specs[i%len(specs)])
		}
		fmt.Fprintln(w, "{kind: Subscription, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: a, namespace: ns}, "+
			"spec: {name: a, source: c0, sourceNamespace: olm}}")
	})
	r := program.Call{Args: []string{"simulate", "--timeline", state}, Limit: attack.TooLong}.Bounded(t, 500*attack.MB)
	if r.Code != 1 || !strings.Contains(r.Stdout, "Subscription ns/a waits for a change, since it is not resolved") {
		t.Errorf("exit status %d, stdout %.500s, stderr %.500s", r.Code, r.Stdout, r.Stderr)
	}
}

// TestHostileCatalogSources checks that opm escapes the fields of CatalogSources with malicious values when it prints
// them.
func TestHostileCatalogSources(t *testing.T) {
	const image = `"sourceType": "grpc", "image": "q.io/c:v1"`
	poll := func(interval string) string {
		return image + fmt.Sprintf(`, "updateStrategy": {"registryPoll": {"interval": %q}}`, interval)
	}
	template := func(text string) string { return fmt.Sprintf(`"olm.catalogImageTemplate": %q`, text) }
	for _, tt := range []struct{ name, annotations, spec, want string }{
		{"a template of tokens", template("q.io/c:" + strings.Repeat("{kube_minor_version}", 50_000)), image, "UnableToResolve"},
		{"a template of braces", template(strings.Repeat("{", 1<<20)), image, "UnableToResolve"},
		{"a template of unknown tokens", template(strings.Repeat("{a}", 1<<18)), image, "UnableToResolve"},
		{"years between polls", "", poll("876000h"), "registryService c"},
		{"more than time has", "", poll("9999999999h"), "InvalidIntervalError"},
		{"an interval of letters", "", poll(strings.Repeat("h", 1<<20)), "InvalidIntervalError"},
		{"an address with control characters", "", `"sourceType": "grpc", "address": "\u001b[31m\nred\u202e:1"`, "connection to"},
		{"a long address", "", `"sourceType": "grpc", "address": "` + strings.Repeat("a", 1<<20) + `"`, "connection to"},
		{"an odd type", "", `"sourceType": "\u001b[31m` + strings.Repeat("a", 1<<20) + `"`, "SpecInvalidError"},
		{"a long ConfigMap", "", `"sourceType": "configmap", "configMap": "` + strings.Repeat("m", 1<<20) + `"`, "registryService c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state := stateFile(t, func(w *bufio.Writer) { catalogSource(w, "c", tt.annotations, tt.spec) })
			args := []string{"simulate", "--timeline", state, "--kube-version", "1.34.1", "--catalog-down", "c"}
			r := program.Call{Args: args, Limit: attack.TooLong}.Bounded(t, 300*attack.MB)
			if r.Code > 1 || !strings.Contains(r.Stdout, tt.want) {
				t.Errorf("exit status %d, stdout %.500s, stderr %.500s", r.Code, r.Stdout, r.Stderr)
			}
			if all := r.Stdout + r.Stderr; strings.ContainsAny(all, "\x1b\u202e") || len(all) > 100_000 {
				t.Errorf("%d bytes, or control characters: %.300q", len(all), all)
			}
		})
	}
}

// TestHostileCertificate checks the time and memory for a bundle of certificates of 10 MB, none of which is valid.
func TestHostileCertificate(t *testing.T) {
	text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 750)))
	block := "-----BEGIN CERTIFICATE-----\n" + text + "\n-----END CERTIFICATE-----\n"
	bundle := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(block, 10<<20/len(block))))
	state := stateFile(t, func(w *bufio.Writer) {
		fmt.Fprintf(w, "{kind: ValidatingWebhookConfiguration, apiVersion: admissionregistration.k8s.io/v1, metadata: {name: v}, "+
			"webhooks: [{name: a, clientConfig: {caBundle: %s}}]}\n", bundle)
	})
	r := program.Call{Args: []string{"simulate", "--timeline", state}, Limit: attack.TooLong}.Bounded(t, 500*attack.MB)
	const want = `state.yaml:1:1: error: ValidatingWebhookConfiguration "v": webhooks[0].clientConfig.caBundle: ` +
		`contains no valid PEM certificate`
	if r.Code != 1 || !strings.Contains(r.Stderr, want) || len(r.Stderr) > 1000 {
		t.Errorf("exit status %d, stdout %.300s, stderr %.500s", r.Code, r.Stdout, r.Stderr)
	}
}
