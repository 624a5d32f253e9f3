package bundle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// strictOf returns the type that upstream converts a manifest into, by its kind and version.
func strictOf(printed jsontext.Value) (strictType, bool) {
	m := &manifest{}
	m.apiVersion, m.kind = typeOf(printed)
	switch {
	case m.kind == kindCSV:
		return strictCSV(), true
	case m.kind == kindCRD && m.isKnownDefinition():
		return strictCRDs[m.version()](), true
	}
	return strictType{}, false
}

// checkStrict compares the verdict about a manifest with the one of the types of Kubernetes.
func checkStrict(t *testing.T, printed jsontext.Value) {
	t.Helper()
	typ, ok := strictOf(printed)
	if !ok {
		return
	}
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON(printed); err != nil {
		return
	}
	want := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typ.build())
	if _, err := typ.check(printed); (err == nil) != (want == nil) {
		t.Errorf("got %v, upstream %v:\n%s", err, want, printed)
	}
}

// TestStrictPublished checks that published manifests are accepted, nearly all of them by their shape.
func TestStrictPublished(t *testing.T) {
	total, converted := 0, 0
	publishedManifests(t, func(printed jsontext.Value) {
		typ, ok := strictOf(printed)
		if !ok {
			return
		}
		total++
		if cursor := skim.New(printed); !cursor.SkipAs(typ.shape) {
			converted++
		}
		if ptr, err := typ.check(printed); err != nil {
			t.Errorf("%s: %v", ptr, err)
		}
	})
	if total < 250 || converted*20 > total {
		t.Errorf("%d of %d manifests had to be converted", converted, total)
	}
}

// publishedManifests calls do with each manifest of the published bundles, as opm prints it.
func publishedManifests(t testing.TB, do func(jsontext.Value)) {
	files, err := filepath.Glob(shared.Path(t, "data/operators") + "/*/*/manifests/*")
	if err != nil {
		t.Fatal(err)
	}
	p := new(parser)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if doc, err := readDocument(file, text, nil); err == nil {
			do(p.printManifest(doc.json))
		}
	}
}

// FuzzStrict checks that mutated ClusterServiceVersions and CustomResourceDefinitions are refused if and only if the
// types of Kubernetes refuse them. The seeds are manifests, and a number that chooses the mutations.
func FuzzStrict(f *testing.F) {
	for _, text := range []string{
		`{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"name": "a.v1", "labels": {"a": "b"},
			"creationTimestamp": null, "ownerReferences": [{"name": "x", "controller": true}]}, "spec": {"version": "1.0.0"}}`,
		`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "as.x.io", "generation": 1},
			"spec": {"group": "x.io", "names": {"kind": "A", "plural": "as", "shortNames": ["a"]}, "scope": "Namespaced", "versions": [
			{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
			"type": "array", "minItems": 1, "maximum": 1.5, "items": {"type": "string", "enum": ["a", 1], "default": {}},
			"additionalProperties": false, "x-kubernetes-validations": [{"rule": "true"}]}}}},
			"additionalPrinterColumns": [{"name": "A", "type": "string", "priority": 1}], "subresources": {"status": {}}}],
			"conversion": {"strategy": "None"}}, "status": {"conditions": [], "storedVersions": ["v1"]}}`,
		`{"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "metadata": {"name": "as.x.io"},
			"spec": {"group": "x.io", "version": "v1", "validation": {"openAPIV3Schema": {"items": [{"type": "string"}],
			"additionalProperties": {"type": "string"}, "dependencies": {"a": ["b"]}}}}}`,
	} {
		for seed := range uint64(50) {
			f.Add([]byte(text), seed)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		var tree any
		if json.Unmarshal(text, &tree) != nil {
			return
		}
		random := rand.New(rand.NewPCG(seed, 0))
		for range 1 + seed%3 {
			tree = mutate(tree, random)
		}
		mutated, err := json.Marshal(tree, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		checkStrict(t, format.AppendCompact(nil, mutated))
	})
}

// mutate changes one value or one key of a tree, or nothing.
func mutate(tree any, random *rand.Rand) any {
	if random.IntN(4) == 0 {
		values := []any{
			nil, true, "", "null", "yes", "1", 0.0, 5.0, -1.5, 1e30, []any{}, []any{nil}, []any{1.0}, map[string]any{},
			map[string]any{"a": nil}, map[string]any{"type": 5.0},
		}
		return values[random.IntN(len(values))]
	}
	switch v := tree.(type) {
	case map[string]any:
		keys := sortedKeys(v)
		if len(keys) == 0 {
			break
		}
		key := keys[random.IntN(len(keys))]
		if random.IntN(8) == 0 {
			v[strings.ToUpper(key)], v[key] = v[key], nil
			return v
		}
		v[key] = mutate(v[key], random)
	case []any:
		if len(v) > 0 {
			i := random.IntN(len(v))
			v[i] = mutate(v[i], random)
		}
	}
	return tree
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// TestStrictPlaces checks where a broken manifest is refused. Upstream refuses each of them.
func TestStrictPlaces(t *testing.T) {
	const crd = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", `
	for _, tt := range []struct{ manifest, want string }{
		{
			crd + `"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": {"type": 5}}}}}]}}`,
			"/spec/versions/0/schema/openAPIV3Schema/properties/a/type: want a string, found a number; put it in quotes",
		},
		{
			crd + `"spec": {"versions": [{"schema": {"openAPIV3Schema": {"items": {"type": 5}}}}]}}`,
			"/spec/versions/0/schema/openAPIV3Schema/items/type: want a string, found a number; put it in quotes",
		},
		{crd + `"spec": {"versions": [{"served": "yes"}]}}`, "/spec/versions/0/served: want true or false, found a string"},
		{crd + `"spec": {"versions": {}}}`, "/spec/versions: want a list, found an object"},
		{crd + `"status": {"conditions": 5}}`, "/status/conditions: want a list, found a number"},
		{crd + `"metadata": {"creationTimestamp": "null"}}`, "/metadata/creationTimestamp: parsing time"},
		{`{"apiVersion": 1, "kind": "ClusterServiceVersion"}`, "/apiVersion: want a string, found a number; put it in quotes"},
		{
			`{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"labels": {"a": true}}}`,
			"/metadata/labels/a: want a string, found true; put it in quotes",
		},
	} {
		printed := format.AppendCompact(nil, []byte(tt.manifest))
		typ, _ := strictOf(printed)
		ptr, err := typ.check(printed)
		if got := fmt.Sprintf("%s: %v", ptr, err); !strings.HasPrefix(got, tt.want) {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
		checkStrict(t, printed)
	}
}
