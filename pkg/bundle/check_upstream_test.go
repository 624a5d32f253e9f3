package bundle

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	upstreamBundle "github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	upstreamErrors "github.com/operator-framework/api/pkg/validation/errors"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// A verdict is the result of the checks of a ClusterServiceVersion or CustomResourceDefinition.
type verdict struct {
	rejected bool
	why      []string
}

// upstreamVerdict returns the verdict of the validators of upstream.
func upstreamVerdict(t testing.TB, m *manifest) verdict {
	t.Helper()
	var results []upstreamErrors.ManifestResult
	switch {
	case m.kind == kindCSV:
		csv := new(v1alpha1.ClusterServiceVersion)
		if err := json.Unmarshal(m.printed, csv); err != nil {
			return verdict{true, []string{err.Error()}}
		}
		results = validation.ClusterServiceVersionValidator.Validate(csv)
	case m.version() == "v1":
		crd := new(apiextensionsv1.CustomResourceDefinition)
		if err := json.Unmarshal(m.printed, crd); err != nil {
			return verdict{true, []string{err.Error()}}
		}
		results = validation.CustomResourceDefinitionValidator.Validate(crd)
	default:
		crd := new(apiextensionsv1beta1.CustomResourceDefinition)
		if err := json.Unmarshal(m.printed, crd); err != nil {
			return verdict{true, []string{err.Error()}}
		}
		results = validation.CustomResourceDefinitionValidator.Validate(crd)
	}
	var v verdict
	for _, result := range results {
		for _, err := range result.Errors {
			v.rejected = true
			v.why = append(v.why, err.Error())
		}
	}
	return v
}

// ourVerdict returns the verdict of this package.
func ourVerdict(t testing.TB, m *manifest) verdict {
	t.Helper()
	c := &checker{manifests: []*manifest{m}}
	c.checkManifest(m, MediaTypeRegistry)
	if c.csv != nil {
		c.checkCSV()
	}
	var v verdict
	for _, p := range c.problems {
		if p.Severity == problem.Error && p.Rule != "csv-release" && p.Rule != "refused" {
			v.rejected = true
			v.why = append(v.why, p.String())
		}
	}
	return v
}

func compareVerdicts(t *testing.T, what string, m *manifest) {
	t.Helper()
	got, want := ourVerdict(t, m), upstreamVerdict(t, m)
	if got.rejected != want.rejected {
		t.Errorf("%s:\n got %q\nwant %q", what, got.why, want.why)
	}
}

func manifestOf(t testing.TB, v any) *manifest {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, failed := readDocument("m.json", raw, nil)
	if failed != nil {
		t.Fatal(failed)
	}
	m := &manifest{document: doc, printed: new(parser).printManifest(doc.json)}
	m.apiVersion, m.kind = typeOf(m.printed)
	return m
}

// mutations yields root with one value changed or removed, except in schemas.
func mutations(root any, yield func(what string, root any)) {
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(mapKeys(v)) {
				if key == "openAPIV3Schema" || path == "" && (key == "kind" || key == "apiVersion") {
					continue
				}
				value, at := v[key], path+"/"+key
				delete(v, key)
				yield("no "+at, root)
				for _, other := range others(value) {
					v[key] = other
					yield(fmt.Sprintf("%s is %#v", at, other), root)
				}
				v[key] = value
				walk(at, value)
			}
		case []any:
			for i := range v {
				walk(fmt.Sprintf("%s/%d", path, i), v[i])
			}
		}
	}
	walk("", root)
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// others returns values that may be invalid in place of v.
func others(v any) []any {
	switch v.(type) {
	case string:
		return []any{"", "Not Valid!", "x", "v1", ".spec.x", nil, 1.0}
	case bool:
		return []any{true, false, "x"}
	case []any:
		return []any{[]any{}, []any{""}, nil}
	case map[string]any:
		return []any{map[string]any{}, nil}
	}
	return []any{0.0, "x", nil}
}

const richCRD = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "oaks.wood.k8s.io",
"labels": {"a": "b"}, "annotations": {"api-approved.kubernetes.io": "https://example.com/pull/1"}, "namespace": ""},
"spec": {"group": "wood.k8s.io", "scope": "Namespaced", "preserveUnknownFields": false,
"names": {"plural": "oaks", "singular": "oak", "kind": "Oak", "listKind": "OakList", "shortNames": ["o"], "categories": ["all"]},
"versions": [{"name": "v1", "served": true, "storage": true, "deprecated": true, "deprecationWarning": "old",
"additionalPrinterColumns": [{"name": "Age", "type": "date", "format": "date", "jsonPath": ".metadata.age"}],
"subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
"labelSelectorPath": ".status.selector"}}, "schema": {"openAPIV3Schema": {"type": "object"}}},
{"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object", "title": "2"}}}],
"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
"clientConfig": {"service": {"name": "a", "namespace": "b", "path": "/convert/all", "port": 443}}}}}}`

const richBeta = `{"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "metadata": {"name": "oaks.wood.com"},
"spec": {"group": "wood.com", "scope": "Cluster", "preserveUnknownFields": false, "version": "v1",
"names": {"plural": "oaks", "singular": "oak", "kind": "Oak", "listKind": "OakList"},
"versions": [{"name": "v1", "served": true, "storage": true}, {"name": "v2", "served": true, "storage": false}],
"validation": {"openAPIV3Schema": {"type": "object"}}, "subresources": {"status": {}},
"additionalPrinterColumns": [{"name": "Age", "type": "date", "JSONPath": ".metadata.age"}],
"conversion": {"strategy": "Webhook", "conversionReviewVersions": ["v1beta1"], "webhookClientConfig": {"url": "https://a.com/b"}}}}`

const richCSV = `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"name": "oak.v1.0.0",
"annotations": {"alm-examples": "[{\"apiVersion\": \"wood.com/v1\", \"kind\": \"Oak\"}]", "olm.skipRange": "<1.0.0"}},
"spec": {"displayName": "Oak", "version": "1.0.0", "minKubeVersion": "1.20.0", "replaces": "oak.v0.9.0",
"install": {"strategy": "deployment", "spec": {"deployments": [{"name": "oak", "spec": {"replicas": 1}}]}},
"installModes": [{"type": "AllNamespaces", "supported": true}, {"type": "OwnNamespace", "supported": false}],
"webhookdefinitions": [{"type": "ConversionWebhook", "conversionCRDs": ["oaks.wood.com"]}],
"customresourcedefinitions": {"owned": [{"name": "oaks.wood.com", "version": "v1", "kind": "Oak"}]},
"apiservicedefinitions": {"required": [{"name": "a", "group": "b"}]}}}`

// TestChecksAsUpstream changes each value of valid manifests, and compares our problems with upstream's.
func TestChecksAsUpstream(t *testing.T) {
	for _, text := range []string{richCSV, richCRD, richBeta} {
		var root any
		if err := json.Unmarshal([]byte(text), &root); err != nil {
			t.Fatal(err)
		}
		m := manifestOf(t, root)
		if v := upstreamVerdict(t, m); v.rejected {
			t.Errorf("upstream rejects the %s: %q", m.kind, v.why)
		}
		compareVerdicts(t, m.kind, m)
		count := 0
		mutations(root, func(what string, root any) {
			count++
			compareVerdicts(t, m.kind+": "+what, manifestOf(t, root))
		})
		t.Logf("%s: %d changes", m.kind, count)
	}
}

const hubCSV = `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"name": "oak.v1",
"annotations": {"categories": "Storage, Database", "capabilities": "Basic Install"}},
"spec": {"version": "1.0.0", "minKubeVersion": "1.20.0", "provider": {"name": "Wood"},
"maintainers": [{"name": "Ann", "email": "a@example.com"}], "links": [{"name": "a", "url": "https://example.com"}],
"icon": [{"base64data": "eA==", "mediatype": "image/png"}]}}`

// TestHubAsUpstream is TestChecksAsUpstream for the optional checks.
func TestHubAsUpstream(t *testing.T) {
	compare := func(what string, root any) {
		m := manifestOf(t, root)
		c := &checker{manifests: []*manifest{m}}
		c.checkCSVType(m)
		if c.csv == nil || c.csv.Spec.Icon != nil && len(c.csv.Spec.Icon) == 0 { // upstream panics on it
			return
		}
		c.checkHub()
		bundle := &upstreamBundle.Bundle{CSV: c.csv}
		var want bool
		for _, v := range []interfaces.Validator{
			validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
		} {
			want = want || slices.ContainsFunc(v.Validate(bundle), upstreamErrors.ManifestResult.HasError)
		}
		got := slices.ContainsFunc(c.problems, func(p *problem.Problem) bool { return p.Severity == problem.Error })
		if want != got && c.csv.Spec.MinKubeVersion == "1.20.0" { // another rule reports it
			t.Errorf("%s: got %v, want %v", what, c.problems, want)
		}
	}
	var root any
	if err := json.Unmarshal([]byte(hubCSV), &root); err != nil {
		t.Fatal(err)
	}
	compare("good", root)
	mutations(root, compare)
}

// TestObjectsAsUpstream is TestChecksAsUpstream for other manifests.
func TestObjectsAsUpstream(t *testing.T) {
	for _, text := range []string{
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","spec":{"maxUnavailable":%s}}`,
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","spec":{"minAvailable":%s}}`,
		`{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","globalDefault":%s}`,
		`{"kind":"Role","rules":[{"apiGroups":["policy"],"resources":["poddisruptionbudgets"],"verbs":[%s]}]}`,
		`{"kind":"ClusterRole","rules":[{"apiGroups":["security.openshift.io"],"resources":["securitycontextconstraints"],` +
			`"verbs":[%s],"resourceNames":["anyuid"]}]}`,
		`{"kind":"ClusterRole","rules":[{"apiGroups":["security.openshift.io"],"resources":["securitycontextconstraints"],` +
			`"verbs":["*"],"resourceNames":[%s]}]}`,
	} {
		for _, value := range []string{`0`, `1`, `"0%%"`, `"100%%"`, `"*"`, `"get"`, `"patch"`, `"delete"`, `"create"`, `true`, `"nonroot"`} {
			m := manifestOf(t, json.RawMessage(strings.ReplaceAll(fmt.Sprintf(text, value), "%%", "%")))
			c := &checker{opts: CheckOptions{BundleObjects: true}}
			c.checkObject(m)
			object := new(unstructured.Unstructured)
			if err := json.Unmarshal(m.printed, object); err != nil {
				t.Fatal(err)
			}
			results := validation.ObjectValidator.Validate(object)
			for _, severity := range []struct {
				severity problem.Severity
				upstream func(upstreamErrors.ManifestResult) bool
			}{{problem.Error, upstreamErrors.ManifestResult.HasError}, {problem.Warning, upstreamErrors.ManifestResult.HasWarn}} {
				want := slices.ContainsFunc(results, severity.upstream)
				got := slices.ContainsFunc(c.problems, func(p *problem.Problem) bool { return p.Severity == severity.severity })
				if got != want && !(value[0] == '"' && strings.Contains(text, "maxUnavailable")) { // upstream refuses all text there
					t.Errorf("%s: got %v, want %s %v", m.printed, c.problems, severity.severity, want)
				}
			}
		}
	}
}

// TestRealBundlesAsUpstream checks that this package and upstream report the same number of problems of each kind for
// published bundles.
func TestRealBundlesAsUpstream(t *testing.T) {
	for _, dir := range realBundles(t) {
		b := upstreamOf(t, dir)
		got := make(map[string]int)
		for _, f := range Check(os.DirFS(dir), dir, CheckOptions{OperatorHub: true, BundleObjects: true}) {
			got[f.Rule]++
			if f.Pos.Line == 0 {
				t.Errorf("%v: no line", f)
			}
		}
		for _, what := range []struct {
			objects   []any
			validator interfaces.Validator
			rules     []string
		}{
			{[]any{b.CSV}, validation.ClusterServiceVersionValidator, []string{
				"csv-name", "csv-field-missing", "csv-install-modes", "csv-install-mode-twice", "csv-min-kube-version",
				"csv-no-min-kube-version", "csv-examples", "csv-no-examples", "csv-annotation-case", "csv-properties"}},
			{definitionsOf(b), validation.CustomResourceDefinitionValidator, []string{"crd"}},
			{[]any{b}, validation.BundleValidator, []string{
				"crd-missing", "crd-not-owned", "crd-twice", "service-account", "image-reference", "related-image-empty",
				"bundle-name", "bundle-size"}},
			{objectsOf(b), validation.ObjectValidator, []string{"object", "object-permission"}},
			{[]any{b}, validation.OperatorHubV2Validator, []string{"hub", "hub-icon", "csv-no-min-kube-version"}},
		} {
			ours := 0
			for _, rule := range what.rules {
				ours += got[rule]
			}
			theirs := upstreamSays(what.validator, what.objects)
			if ours != len(theirs) {
				t.Errorf("%s: %v: found %d, upstream %q", dir, what.rules, ours, theirs)
			}
		}
	}
}

// upstreamSays returns the findings of a validator, except for removed APIs, which it reports only once.
func upstreamSays(v interfaces.Validator, objects []any) (all []string) {
	for _, result := range v.Validate(objects...) {
		for _, err := range append(result.Errors, result.Warnings...) {
			if !strings.Contains(err.Detail, "deprecated and removed") {
				all = append(all, err.Error())
			}
		}
	}
	return all
}

// upstreamOf reads a bundle for the validators of upstream.
func upstreamOf(t *testing.T, dir string) *upstreamBundle.Bundle {
	t.Helper()
	c := &checker{parser: parser{fsys: os.DirFS(dir), name: dir}}
	c.readAll()
	b := &upstreamBundle.Bundle{Name: dir, Size: 1, CompressedSize: 1}
	for _, m := range c.manifests {
		object := new(unstructured.Unstructured)
		if err := json.Unmarshal(m.printed, object); err != nil {
			t.Fatal(err)
		}
		b.Objects = append(b.Objects, object)
		if m.kind == kindCSV || m.kind == kindCRD {
			addUpstream(t, b, m)
		}
	}
	return b
}

func definitionsOf(b *upstreamBundle.Bundle) (all []any) {
	for _, crd := range b.V1CRDs {
		all = append(all, crd)
	}
	for _, crd := range b.V1beta1CRDs {
		all = append(all, crd)
	}
	return all
}

func objectsOf(b *upstreamBundle.Bundle) (all []any) {
	for _, object := range b.Objects {
		all = append(all, object)
	}
	return all
}

func addUpstream(t *testing.T, b *upstreamBundle.Bundle, m *manifest) {
	var err error
	switch {
	case m.kind == kindCSV:
		b.CSV = new(v1alpha1.ClusterServiceVersion)
		err = json.Unmarshal(m.printed, b.CSV)
	case m.version() == "v1":
		crd := new(apiextensionsv1.CustomResourceDefinition)
		err = json.Unmarshal(m.printed, crd)
		b.V1CRDs = append(b.V1CRDs, crd)
	default:
		crd := new(apiextensionsv1beta1.CustomResourceDefinition)
		err = json.Unmarshal(m.printed, crd)
		b.V1beta1CRDs = append(b.V1beta1CRDs, crd)
	}
	if err != nil {
		t.Error(err)
	}
}
