package search_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/search"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const trees = `{schema: olm.package, name: pine}
---
schema: olm.bundle
package: oak
name: oak.v2.0.0
image: registry.example/oak:v2
relatedImages: [{name: a, image: "registry.example/thing:v1"}, {name: b, image: "registry.example/thing:v1"}]
properties:
- {type: olm.package, value: {packageName: oak, version: 2.0.0}}
- {type: olm.gvk, value: {group: g.example, version: v1, kind: Acorn}}
- {type: olm.csv.metadata, value: {displayName: Ökonomie, keywords: [wood, Wood], provider: {name: Nursery}}}
---
schema: olm.bundle
package: oak
name: oak.v10.0.0
relatedImages: [{name: a, image: "registry.example/thing:v1"}]
properties:
- {type: olm.package, value: {packageName: oak, version: 10.0.0}}
- {type: olm.gvk, value: 5}
- type: olm.csv.metadata
  value: {displayName: Oak, annotations: {categories: "Shade, Furniture", description: A tall tree.}, description: Drops acorns.}
---
{schema: olm.bundle, package: oak, name: nut.v1, properties: []}
---
{schema: olm.channel, package: oak, name: wood, entries: [{name: nut.v1}]}
---
{schema: olm.package, name: gale}
---
schema: olm.bundle
package: ash
name: ash.v1.0.0
properties:
- {type: olm.gvk, value: {group: ash, version: v1, kind: Gale}}
- {type: olm.csv.metadata, value: {provider: {name: Sapling}}}
---
schema: olm.bundle
package: elm
name: elm.v1.0.0
properties:
- {type: olm.csv.metadata, value: {displayName: Gale, description: Sapling}}
`

// rowsOf returns matches as lines of PACKAGE FIELD VALUE BUNDLES.
func rowsOf(all []search.Match) string {
	var rows strings.Builder
	for _, m := range all {
		fmt.Fprintf(&rows, "%s %s %s", m.Package, m.Field, m.Value)
		for _, b := range m.Bundles {
			fmt.Fprintf(&rows, " %s", strings.TrimSuffix(b.Name+"@"+b.Version, "@"))
		}
		rows.WriteByte('\n')
	}
	return rows.String()
}

func TestSearch(t *testing.T) {
	source := declcfg.Source{Name: "trees", FS: fstest.MapFS{"c.yaml": {Data: []byte(trees)}}}
	x := indexOf(t, source)
	for _, tt := range []struct{ text, pkg, want string }{
		{"PiNe", "", "pine name pine\n"},
		{"pine", "oak", ""},
		{"ÖKO", "", "oak displayName Ökonomie oak.v2.0.0@2.0.0\n"},
		{"nursery", "oak", "oak provider Nursery oak.v2.0.0@2.0.0\n"},
		{"wood", "", "oak keyword Wood oak.v2.0.0@2.0.0\noak keyword wood oak.v2.0.0@2.0.0\n"}, // does not match the channel
		{"g.example/V1/acorn", "", "oak api g.example/v1/Acorn oak.v2.0.0@2.0.0\n"},
		{"acorn.g", "", "oak api g.example/v1/Acorn oak.v2.0.0@2.0.0\n"},
		{"acorn.v1.g", "", "oak api g.example/v1/Acorn oak.v2.0.0@2.0.0\n"},
		{"thing", "", "oak image registry.example/thing:v1 oak.v10.0.0@10.0.0 oak.v2.0.0@2.0.0\n"},
		{"ut.v", "", "oak bundle nut.v1 nut.v1\n"},              //nolint:dupword // its own name
		{"oak", "", "oak displayName Oak oak.v10.0.0@10.0.0\n"}, // does not match the names and images of its bundles
		{"birch", "", ""},
		{"furniture", "", "oak category Furniture oak.v10.0.0@10.0.0\n"},
		{"tall", "", "oak description A tall tree. oak.v10.0.0@10.0.0\n"},
		{"shade, f", "", ""},
		// The words of a text that no value contains as a whole.
		{"wood NURSERY", "", "oak provider Nursery oak.v2.0.0@2.0.0\noak keyword Wood oak.v2.0.0@2.0.0\n" +
			"oak keyword wood oak.v2.0.0@2.0.0\n"},
		{"nursery tree tall", "", "oak provider Nursery oak.v2.0.0@2.0.0\noak description A tall tree. oak.v10.0.0@10.0.0\n"},
		{"oak nursery thing", "", "oak displayName Oak oak.v10.0.0@10.0.0\noak provider Nursery oak.v2.0.0@2.0.0\n" +
			"oak image registry.example/thing:v1 oak.v10.0.0@10.0.0 oak.v2.0.0@2.0.0\n"},
		// By the field: a name before an API. Of several words, the one in the last field counts.
		{"gale", "", "gale name gale\nelm displayName Gale elm.v1.0.0\nash api ash/v1/Gale ash.v1.0.0\n"},
		{"sapling gale", "", "ash provider Sapling ash.v1.0.0\nash api ash/v1/Gale ash.v1.0.0\n" +
			"elm displayName Gale elm.v1.0.0\nelm description Sapling elm.v1.0.0\n"},
		{"nursery pine", "", ""}, // the words are in two packages
		{"nursery birch", "", ""},
		{strings.Repeat("o ", 65), "", ""},
		{" ", "", "oak description A tall tree. oak.v10.0.0@10.0.0\noak description Drops acorns. oak.v10.0.0@10.0.0\n"},
	} {
		got, _, err := search.Search(t.Context(), tt.text, tt.pkg, source)
		if err != nil || rowsOf(got) != tt.want {
			t.Errorf("%s: got %v\n%swant\n%s", tt.text, err, rowsOf(got), tt.want)
		}
		checkIndex(t, x, tt.text, tt.pkg, got)
	}
	if _, _, err := search.Search(t.Context(), "oak", "oaks", source); !errors.Is(err, declcfg.ErrNotFound) {
		t.Errorf("got %v for a package that does not exist", err)
	}
	bad := declcfg.Source{Name: "bad", FS: fstest.MapFS{"c.yaml": {Data: []byte("{schema: olm.bundle, name: 5}\n---\na: [")}}}
	_, _, err := search.Search(t.Context(), "oak", "oaks", bad)
	if err == nil || errors.Is(err, declcfg.ErrNotFound) || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want two unreadable objects", err)
	}
}

// TestSearchIsThatOfBruteForce compares searches in published catalogs with a comparison of every value.
func TestSearchIsThatOfBruteForce(t *testing.T) {
	shared.OneGoroutine(t)
	for _, dir := range shared.Catalogs(t) {
		source := declcfg.Source{Name: dir, FS: os.DirFS(dir)}
		all := everything(t, source)
		for _, text := range []string{"quay.io", "red hat", "v1alpha1", "cluster", "1.0", "."} {
			want := map[string]bool{}
			byName := map[string]bool{} // packages with a match
			for row := range all {
				value := strings.ToLower(row.value)
				named := row.field == search.FieldBundle || row.field == search.FieldImage
				if strings.Contains(value, text) && (!named || !strings.Contains(strings.ToLower(row.pkg), text)) {
					want[fmt.Sprint(row)] = true
					byName[row.pkg] = true
				}
			}
			if len(want) == 0 && strings.Contains(text, " ") {
				continue // then its words are searched
			}
			matches, _, err := search.Search(t.Context(), text, "", source)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for i, m := range matches {
				if m.Field == search.FieldDescription {
					isLast := !slices.ContainsFunc(matches[i:], func(m search.Match) bool { return m.Field != search.FieldDescription })
					if byName[m.Package] || !isLast || !strings.Contains(strings.ToLower(m.Value), text) || len(m.Value) > 200 {
						t.Errorf("%s: %q: %+v", dir, text, m)
					}
					continue
				}
				if m.Field == search.FieldName {
					got[fmt.Sprint(searched{m.Package, "", m.Field, m.Value})] = true
				}
				for _, b := range m.Bundles {
					got[fmt.Sprint(searched{m.Package, b.Name, m.Field, m.Value})] = true
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: %q: got %d rows, want %d", dir, text, len(got), len(want))
			}
		}
	}
}

// A searched is a value that a search may find.
type searched struct {
	pkg, bundle string
	field       search.Field
	value       string
}

// everything returns all values of a catalog, in which every bundle must be readable.
func everything(t *testing.T, source declcfg.Source) map[searched]bool {
	t.Helper()
	values := func(o *declcfg.Object) ([]searched, error) {
		v, err := o.Decode()
		if b, ok := v.(*declcfg.Bundle); ok {
			return valuesOf(b)
		}
		if o.Schema != declcfg.SchemaPackage {
			return nil, err
		}
		return []searched{{o.Name, "", search.FieldName, o.Name}}, err
	}
	all := map[searched]bool{}
	for some, err := range declcfg.Map(t.Context(), values, source) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range some {
			all[s] = true
		}
	}
	return all
}

func valuesOf(b *declcfg.Bundle) (all []searched, err error) {
	add := func(field search.Field, values ...string) {
		for _, value := range values { // value shares memory with the object
			all = append(all, searched{strings.Clone(b.Package), strings.Clone(b.Name), field, strings.Clone(value)})
		}
	}
	add(search.FieldBundle, b.Name)
	add(search.FieldImage, b.Image)
	for _, image := range b.RelatedImages {
		add(search.FieldImage, image.Image)
	}
	m := b.CSVMetadata() // from manifests
	for _, p := range b.Properties {
		switch p.Type {
		case declcfg.PropertyGVK:
			var api declcfg.GVK
			err = errors.Join(err, p.Unmarshal(&api))
			add(search.FieldAPI, api.Group+"/"+api.Version+"/"+api.Kind)
		case declcfg.PropertyCSVMetadata:
			m = new(declcfg.CSVMetadata)
			err = errors.Join(err, p.Unmarshal(m))
		}
	}
	add(search.FieldDisplayName, m.DisplayName)
	add(search.FieldProvider, m.Provider.Name)
	add(search.FieldKeyword, m.Keywords...)
	return all, err
}

// BenchmarkSearch searches a published catalog, and the catalog at the path OPM_BIG_CATALOG, for values of few and of
// most bundles.
func BenchmarkSearch(b *testing.B) {
	dirs := shared.Glob(b, "data/catalogs/v4.20")
	if big := os.Getenv("OPM_BIG_CATALOG"); big != "" {
		dirs = slices.Concat(dirs, []string{big})
	}
	for i, dir := range dirs {
		for _, text := range []string{"vault", "o"} {
			b.Run(fmt.Sprintf("%s/%s", []string{"published", "big"}[i], text), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := search.Search(b.Context(), text, "", declcfg.Source{Name: dir, FS: os.DirFS(dir)}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
