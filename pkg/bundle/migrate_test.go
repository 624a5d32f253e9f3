package bundle

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const (
	oak = `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"oak.v1.0.0",` +
		`"annotations":{"b":"<2>","a":"1"}},"spec":{"displayName":"Oak","version":"1.0.0","keywords":["tree"],` +
		`"provider":{"name":"Wood"},"customresourcedefinitions":{"owned":[{"name":"oaks.wood.example.com","kind":"Oak",` +
		`"version":"v1"}]},"installModes":[{"type":"AllNamespaces","supported":true}]}}`
	oakMetadata = `{"annotations":{"a":"1","b":"<2>"},"apiServiceDefinitions":{},"crdDescriptions":{"owned":[` +
		`{"name":"oaks.wood.example.com","version":"v1","kind":"Oak"}]},"displayName":"Oak",` +
		`"installModes":[{"type":"AllNamespaces","supported":true}],"keywords":["tree"],"provider":{"name":"Wood"}}`
	configMap = `{"kind":"ConfigMap"}`
	almond    = "kind: ClusterServiceVersion\nspec: {displayName: Almond}\n"
	nothing   = `"apiServiceDefinitions":{},"crdDescriptions":{}`
)

func property(typ, value string) declcfg.Property {
	return declcfg.Property{Type: typ, Value: jsontext.Value(value)}
}

func ordered(typ, value string) declcfg.Property {
	p := property(typ, value)
	p.Ordered = true
	return p
}

func object(manifest string) declcfg.Property {
	data := base64.StdEncoding.EncodeToString([]byte(manifest))
	return property(declcfg.PropertyBundleObject, fmt.Sprintf(`{"data":%q}`, data))
}

func TestMigrateToCSVMetadata(t *testing.T) {
	pkg := property(declcfg.PropertyPackage, `{"packageName":"oak","version":"1.0.0"}`)
	other := property("other", `1`)
	metadata := ordered(declcfg.PropertyCSVMetadata, oakMetadata)
	almondMetadata := ordered(declcfg.PropertyCSVMetadata, `{`+nothing+`,"displayName":"Almond","provider":{}}`)
	type list = []declcfg.Property
	for _, test := range []struct {
		name, image string
		from, to    list // to is nil if the migration changes nothing
	}{
		{"json", "i", list{object(oak), pkg, object(configMap), other}, list{pkg, other, metadata}},
		{"yaml", "i", list{object(configMap), object(almond), pkg}, list{pkg, almondMetadata}},
		{"two", "i", list{object(oak), object(almond)}, list{metadata}},
		{"last kind counts", "i", list{object(`{"kind":"A","kind":"ClusterServiceVersion"}`)},
			list{ordered(declcfg.PropertyCSVMetadata, `{`+nothing+`,"provider":{}}`)}},
		{"no image", "", list{object(oak)}, nil},
		{"no csv", "i", list{object(configMap), pkg}, nil},
		{"other kinds", "i", list{object(`{"Kind":"ClusterServiceVersion"}`), object(`{"kind":1}`), object(`[]`)}, nil},
		{"reference", "i", list{property(declcfg.PropertyBundleObject, `{"ref":"csv.yaml"}`)}, nil},
		{"both", "i", list{object(oak), metadata}, nil},
		{"none", "i", nil, nil},
	} {
		b := &declcfg.Bundle{Image: test.image, Properties: test.from}
		before := fmt.Sprint(test.from)
		changed, err := MigrateToCSVMetadata(b)
		if err != nil || changed != (test.to != nil) {
			t.Errorf("%s: got %v, %v", test.name, changed, err)
		}
		want := test.to
		if want == nil {
			want = test.from
		}
		if got := fmt.Sprint(b.Properties); got != fmt.Sprint(want) {
			t.Errorf("%s:\n got %s\nwant %v", test.name, got, want)
		}
		if fmt.Sprint(test.from) != before {
			t.Errorf("%s: wrote to the old slice", test.name)
		}
	}
}

func TestMigrateToCSVMetadataErrors(t *testing.T) {
	for _, test := range []struct {
		properties []declcfg.Property
		want       string
	}{
		{[]declcfg.Property{property("a", "1"), property(declcfg.PropertyBundleObject, `{"data":1}`)},
			"properties[1]: olm.bundle.object: /data: "},
		{[]declcfg.Property{object("a: b: c")}, "properties[0]: "},
		{[]declcfg.Property{object("{"), object(`{"kind":"ClusterServiceVersion","spec":{"version":"banana"}}`)},
			"decode ClusterServiceVersion: "}, // upstream ignores the first one
		{[]declcfg.Property{object(`{"kind":"ClusterServiceVersion","spec":{"version":"banana"}}`)},
			"decode ClusterServiceVersion: "},
	} {
		b := &declcfg.Bundle{Image: "i", Properties: test.properties}
		changed, err := MigrateToCSVMetadata(b)
		if changed || err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("got %v, %v, want %s", changed, err, test.want)
		}
		if !reflect.DeepEqual(b.Properties, test.properties) {
			t.Errorf("%s: the bundle changed", test.want)
		}
	}
}

// TestPublished migrates bundles of a published catalog that contains their manifests, and compares them with the same
// bundles of a catalog that opm migrated.
func TestPublished(t *testing.T) {
	migrated := publishedBundles(t, "v4.20")
	var compared int
	for name, b := range publishedBundles(t, "v4.12") {
		other, ok := migrated[name]
		if changed, err := MigrateToCSVMetadata(b); err != nil || !changed {
			t.Errorf("%s: %v, %v", name, changed, err)
		}
		if !ok {
			continue
		}
		compared++
		if got, want := csvMetadata(t, b), csvMetadata(t, other); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
	}
	if compared == 0 {
		t.Error("no bundle is in both catalogs")
	}
	t.Logf("%d bundles compared", compared)
}

func csvMetadata(t *testing.T, b *declcfg.Bundle) any {
	for _, p := range b.Properties {
		if p.Type == declcfg.PropertyCSVMetadata {
			var v any
			if err := json.Unmarshal(p.Value, &v); err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	return nil
}

func publishedFiles(t *testing.T, platform string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shared.Catalog(t, platform), "*", "catalog.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files, %v", err)
	}
	return files
}

func publishedBundles(t *testing.T, platform string) map[string]*declcfg.Bundle {
	bundles := map[string]*declcfg.Bundle{}
	for _, file := range publishedFiles(t, platform) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		maps.Insert(bundles, maps.All(bundlesOf(t, string(text))))
	}
	return bundles
}

func bundlesOf(t *testing.T, catalog string) map[string]*declcfg.Bundle {
	bundles := map[string]*declcfg.Bundle{}
	for doc := range strings.SplitSeq(catalog, "\n---\n") {
		text, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		b := new(declcfg.Bundle)
		if err := json.Unmarshal(text, b); err == nil && b.Schema == declcfg.SchemaBundle {
			bundles[b.Name] = b
		}
	}
	return bundles
}
