package admission

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/operator-framework/api/crds"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/opm-toolchain/opm/internal/testing/golden"
)

// TestCSVSchema checks that the embedded schema is the one of the API of OLM.
func TestCSVSchema(t *testing.T) {
	props := crds.ClusterServiceVersion().Spec.Versions[0].Schema.OpenAPIV3Schema
	delete(props.Properties, "status")
	withoutDescriptions(props)
	text, err := json.Marshal(props)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "csvschema.json", append(text, '\n'))
}

func withoutDescriptions(props *apiextensionsv1.JSONSchemaProps) {
	props.Description = ""
	for key, p := range props.Properties {
		withoutDescriptions(&p)
		props.Properties[key] = p
	}
	if props.Items != nil && props.Items.Schema != nil {
		withoutDescriptions(props.Items.Schema)
	}
	if props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil {
		withoutDescriptions(props.AdditionalProperties.Schema)
	}
}

func TestCheckClusterServiceVersion(t *testing.T) {
	const twoContainers = `{"containers": [{"name": "a"}, {"name": "a"}]}`
	webhook := func(kind string) string {
		return `"webhookdefinitions": [{"type": "` + kind + `", "sideEffects": "None", "admissionReviewVersions": []}]`
	}
	for text, want := range map[string]string{
		`{"install": {"spec": {"deployments": []}}, ` + webhook("ConversionWebhook") + "}": "",

		`{}`: `spec.install.spec.deployments: Invalid value: "null": `,
		`{"install": {"spec": {"deployments": []}}, ` + webhook("A") + "}": "spec.webhookdefinitions[0].type: Unsupported value: ",
		`{"install": {"spec": {"deployments": [{"name": "a", "spec": {"selector": {}, "template": {"spec": ` + twoContainers +
			"}}}]}}}": "spec.install.spec.deployments[0].spec.template.spec.containers[1]: Duplicate value",
	} {
		csv := new(v1alpha1.ClusterServiceVersion)
		if err := json.Unmarshal([]byte(text), &csv.Spec); err != nil {
			t.Fatal(err)
		}
		errs := checkClusterServiceVersion(csv)
		if want == "" && len(errs) > 0 || want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want)) {
			t.Errorf("%s: got %v, want %s", text, errs, want)
		}
	}
}

func BenchmarkCSVSchema(b *testing.B) {
	csv := new(v1alpha1.ClusterServiceVersion)
	csv.Name = "kiln.v1.0.0"
	for b.Loop() {
		checkClusterServiceVersion(csv)
	}
}
