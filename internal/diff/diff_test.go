package diff_test

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// base is a catalog that the rows of test tables modify.
const base = `schema: olm.package
name: kiln
defaultChannel: stable
description: Fires clay
---
schema: olm.channel
package: kiln
name: stable
entries:
- name: kiln.v1
- name: kiln.v2
  replaces: kiln.v1
---
schema: olm.channel
package: kiln
name: fast
entries:
- name: kiln.v2
  skips: [kiln.v0]
  skipRange: <2.0.0
---
schema: olm.bundle
package: kiln
name: kiln.v1
image: registry.example/kiln@sha256:1111111111111111111111111111111111111111111111111111111111111111
properties:
- type: olm.package
  value: {packageName: kiln, version: 1.0.0}
- type: olm.csv.metadata
  value: {displayName: Kiln}
relatedImages:
- name: a
  image: registry.example/a:1
---
schema: olm.bundle
package: kiln
name: kiln.v2
image: registry.example/kiln@sha256:2222222222222222222222222222222222222222222222222222222222222222
properties:
- type: olm.package
  value: {packageName: kiln, version: 2.0.0}
---
schema: olm.deprecations
package: kiln
entries:
- reference: {schema: olm.channel, name: fast}
  message: Use stable.
---
schema: example.note
package: kiln
name: handbook
text: Read it.
`

// v3 is a new version of base, without a channel.
const v3 = `---
schema: olm.bundle
package: kiln
name: kiln.v3
image: registry.example/kiln:v3
properties:
- type: olm.package
  value: {packageName: kiln, version: 3.0.0}
`

// TestCompare makes one change to a catalog and checks the sections of the report.
func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name     string
		from, to string // text replaced in base
		want     string
	}{
		{"default channel", "defaultChannel: stable", "defaultChannel: fast", `
kiln: 1 package has another default channel
  default channel: stable -> fast`},
		{"description", "Fires clay", "Fires all clay", `
kiln: other changes
  the package has another description`},
		{"channel key", "name: fast\n", "name: fast\nproperties: [{type: a, value: b}]\n", `
kiln: 1 channel changed
  channel fast: another properties`},
		{"new version", "---\nschema: olm.deprecations", v3 + "---\nschema: olm.deprecations", `
kiln: 1 bundle added
  1 bundle added: kiln.v3`},
		{"channel removed", "schema: olm.channel\npackage: kiln\nname: fast\n", "schema: example\npackage: kiln\nname: x\n", `
kiln: 2 stranded installs, 1 channel removed
  2 installs lose their update path in channel fast, since the channel is gone: kiln.v2; ` +
			`and 1 version that is no longer in the catalog (kiln.v0)
  channel fast removed, with 1 entry, head kiln.v2
  object of schema example, x: added`},
		{"channel added", "---\nschema: example.note",
			"---\n{schema: olm.channel, package: kiln, name: slow, entries: [{name: kiln.v1}]}\n---\nschema: example.note", `
kiln: 1 channel added
  channel slow added, with 1 entry, head kiln.v1`},
		{"edges", "  skips: [kiln.v0]\n  skipRange: <2.0.0", "  replaces: kiln.v1\n  skips: [a, b]\n  skipRange: <1.5.0", `
kiln: 1 stranded install, 1 channel changed
  1 install loses its update path in channel fast, since no update leads on: ` +
			`1 version that is no longer in the catalog (kiln.v0)
  channel fast: kiln.v2: replaces none -> kiln.v1; skips also a, b; skips no longer kiln.v0; skipRange <2.0.0 -> <1.5.0`},
		{"unknown key of an entry", "  skipRange: <2.0.0", "  skipRange: <2.0.0\n  reason: none", `
kiln: 1 channel changed
  channel fast: kiln.v2: other keys`},
		{"promotion", "- name: kiln.v2\n  skips", "- name: kiln.v1\n- name: kiln.v2\n  replaces: kiln.v1\n  skips", `
kiln: 1 channel changed
  channel fast: 1 entry added (not new to the catalog: kiln.v1)
  channel fast: kiln.v2: replaces none -> kiln.v1`},
		{"second head", "  skipRange: <2.0.0", "  skipRange: <2.0.0\n- name: kiln.v1", `
kiln: 2 stranded installs, 1 channel changed
  2 installs lose their update path in channel fast by OLM Classic only, since OLM refuses the channel ` +
			`(a unique replacement chain within a channel is required to determine the relative order between channel ` +
			`entries, but 2 replacement chains were found in channel "fast" of package "kiln": kiln.v2, kiln.v1): kiln.v2; ` +
			`and 1 version that is no longer in the catalog (kiln.v0)
  channel fast: head kiln.v2 -> kiln.v1, kiln.v2; 1 entry added (not new to the catalog: kiln.v1)`},
		{"image", "2222222222222222222222222222222222222222222222222222222222222222",
			"3333333333333333333333333333333333333333333333333333333333333333", `
kiln: 1 bundle changed
  1 published bundle changed, kiln.v2: image registry.example/kiln@sha256:222222222222 -> registry.example/kiln@sha256:333333333333`},
		{"end of a digest", "2222222222222222222222222222222222222222222222222222222222222222",
			"2222222222222222222222222222222222222222222222222222222222222223", `
kiln: 1 bundle changed
  1 published bundle changed, kiln.v2: image ` +
				"registry.example/kiln@sha256:2222222222222222222222222222222222222222222222222222222222222222 -> " +
				"registry.example/kiln@sha256:2222222222222222222222222222222222222222222222222222222222222223"},
		{"property", "displayName: Kiln", "displayName: Oven", `
kiln: 1 bundle changed
  1 published bundle changed, kiln.v1: properties olm.csv.metadata`},
		{"related image", "registry.example/a:1", "registry.example/a:2", `
kiln: 1 bundle changed
  1 published bundle changed, kiln.v1: relatedImages`},
		{"both bundles", "schema: olm.bundle\n", "schema: olm.bundle\nnote: new\n", `
kiln: 2 bundles changed
  2 published bundles changed, kiln.v1, kiln.v2: note`},
		{"metadata in the other form", "- type: olm.csv.metadata\n  value: {displayName: Kiln}",
			"- type: olm.bundle.object\n  value: {data: e30=}\n- type: olm.bundle.object\n  value: {data: e30K}", `
Metadata in another form, and otherwise the same
  kiln: 1 bundle, olm.csv.metadata -> olm.bundle.object`},
		{"metadata in both forms", "- type: olm.csv.metadata\n",
			"- type: olm.bundle.object\n  value: {data: e30=}\n- type: olm.csv.metadata\n", `
kiln: 1 bundle changed
  1 published bundle changed, kiln.v1: properties olm.bundle.object`},
		{"deprecation changed", "Use stable.", "Use <stable>.", `
kiln: 1 deprecation is new, gone or changed
  channel fast is still deprecated, in other words: Use <stable>.`},
		{"deprecations", "{schema: olm.channel, name: fast}", "{schema: olm.package}", `
kiln: 2 deprecations are new, gone or changed
  the package is deprecated now: Use stable.
  channel fast is no longer deprecated`},
		{"deprecation with another key", "message: Use stable.", "message: Use stable.\n  since: 2026", `
kiln: 1 deprecation is new, gone or changed
  channel fast is still deprecated, with other keys`},
		{"deprecation of a reference with another key", "name: fast}\n  message: Use stable.",
			"name: fast, since: 2026}\n  message: Use slow.", `
kiln: 1 deprecation is new, gone or changed
  channel fast is still deprecated, with other keys and in other words: Use slow.`},
		{"further key of the deprecations", "schema: olm.deprecations\n", "schema: olm.deprecations\nreview: {by: potters}\n", `
kiln: other changes
  the deprecations have another review`},
		{"name of the deprecations", "schema: olm.deprecations\n", "schema: olm.deprecations\nname: old\n", "no changes"},
		{"other schema", "Read it.", "Read it well.", `
kiln: other changes
  object of schema example.note, handbook: changed`},
		{"demotion", "- name: kiln.v1\n- name: kiln.v2\n  replaces: kiln.v1", "- name: kiln.v2\n  replaces: kiln.v1", `
kiln: 1 channel changed
  channel stable: 1 entry removed (still in the catalog: kiln.v1)`},
		{"bundle and version gone", "name: kiln.v1\nimage", "name: kiln.v9\nimage", `
kiln: 1 bundle added, 1 bundle removed
  1 bundle removed: kiln.v1
  1 bundle added: kiln.v9`},
		{"everything", base, "schema: olm.package\nname: loom\ndefaultChannel: ''\n", `
1 package removed
  kiln: 2 channels (fast, stable), 2 bundles, the highest kiln.v2; ` +
			`3 installs lose their update path

1 package added
  loom: 0 channels, 0 bundles`},
		{"without a package", "package: kiln\nname: handbook", "name: handbook", `
kiln: other changes
  object of schema example.note, handbook: removed

1 package added
  objects without a package: 0 channels, 0 bundles; object of schema example.note, handbook: added`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(base, test.from) {
				t.Fatalf("%q does not stand in the catalog", test.from)
			}
			text := written(t, (*report.Report).Text, compare(t, base, strings.ReplaceAll(base, test.from, test.to)))
			_, got, found := strings.Cut(text, "\n\n")
			if !found {
				got = text
			}
			if want := strings.TrimPrefix(test.want, "\n") + "\n"; got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestSame checks that differences without a meaning are not reported as changes.
func TestSame(t *testing.T) {
	for _, test := range []struct{ name, from, to string }{
		{"nothing", "", ""},
		{"comment", "schema: example.note", "# a note\nschema: example.note"},
		{"order of keys", "name: handbook\ntext: Read it.", "text: Read it.\nname: handbook"},
		{"order of keys in a value", "{packageName: kiln, version: 1.0.0}", "{version: 1.0.0, packageName: kiln}"},
		{"order of properties", `- type: olm.package
  value: {packageName: kiln, version: 1.0.0}
- type: olm.csv.metadata
  value: {displayName: Kiln}
`, `- value: {displayName: Kiln}
  type: olm.csv.metadata
- type: olm.package
  value: {packageName: kiln, version: 1.0.0}
`},
		{"spelling", "Fires clay", `"Fires cl\u0061y"`},
		{"what is empty", "description: Fires clay", "description: Fires clay\nproperties: []\nicon: null"},
		{"names of related images", "- name: a\n  image: registry.example/a:1",
			"- name: a\n  image: registry.example/a:1\n  comment: ''"},
		{"order of entries", "- name: kiln.v1\n- name: kiln.v2\n  replaces: kiln.v1\n",
			"- name: kiln.v2\n  replaces: kiln.v1\n- name: kiln.v1\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := compare(t, base, strings.Replace(base, test.from, test.to, 1))
			if got := written(t, (*report.Report).Text, r); got != "no changes\n" || len(r.Packages) > 0 {
				t.Errorf("got %s", got)
			}
			if got := written(t, (*report.Report).Markdown, r); got != "### Catalog: no changes\n" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestPublishedRewritten checks that rewriting a package, with opm or in the other format, is not reported as a change.
func TestPublishedRewritten(t *testing.T) {
	for _, name := range []string{"v4.12", "v4.20"} {
		before := publishedCatalog(t, name)
		var metas []*declcfg.Meta
		for m, err := range declcfg.Map(t.Context(), func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }, before...) {
			if err != nil {
				t.Fatal(err)
			}
			metas = append(metas, m)
		}
		declcfg.Sort(metas)
		pipe, in := io.Pipe()
		var json strings.Builder
		go func() { in.CloseWithError(declcfg.Write(t.Context(), in, metas, declcfg.WriteOptions{})) }()
		if _, err := io.Copy(&json, pipe); err != nil {
			t.Fatal(err)
		}
		if got := written(t, (*report.Report).Text, compareSources(t, before, catalog(json.String()))); got != "no changes\n" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestPublished compares catalogs of two versions of OpenShift.
func TestPublished(t *testing.T) {
	before, after := publishedCatalog(t, "v4.12"), publishedCatalog(t, "v4.20")
	r := compareSources(t, before, after)
	want := diff.Summary{
		Packages: diff.Counts{Added: 28, Removed: 1, Changed: 4},
		Channels: diff.Counts{Added: 71, Removed: 3, Changed: 3},
		Bundles:  diff.Counts{Added: 643, Removed: 4},
		Reformed: 160, DefaultChannels: 1, Heads: 3, Edges: 1, Stranded: 7, Rerouted: 1,
	}
	if r.Summary != want {
		t.Errorf("summary %+v\nwant %+v", r.Summary, want)
	}
	if again := compareSources(t, before, after); !reflect.DeepEqual(r, again) {
		t.Error("a second comparison says something else")
	}
	for kind, want := range map[diff.Kind]int{diff.LostPath: 7, diff.Gone: 8, diff.Replaced: 0, "": 0} {
		if got := r.Count(kind); got != want {
			t.Errorf("%d changes of kind %q, want %d", got, kind, want)
		}
	}
}

// TestRepeated checks that the first of several objects with the same name is used, except that objects of other
// schemas are compared together, in any order.
func TestRepeated(t *testing.T) {
	const note = "---\n{schema: example.note, package: kiln, name: handbook, text: More.}\n"
	second := "---\n" + strings.Replace(bundle("kiln.v1", "7.0.0"), "package: p", "package: kiln", 1)
	if r := compare(t, base, base+second); len(r.Packages) > 0 {
		t.Errorf("a second bundle of the same name makes %+v", r.Packages)
	}
	if r := compare(t, base+note, note+"---\n"+base); len(r.Packages) > 0 {
		t.Errorf("another order of notes makes %+v", r.Packages)
	}
	if r := compare(t, base, base+note); len(r.Packages) != 1 || len(r.Packages[0].Objects) != 1 {
		t.Errorf("a second note makes %+v", r.Packages)
	}
}

// TestCompareErrors checks that Compare reads both catalogs before it fails, and that every error has a position.
func TestCompareErrors(t *testing.T) {
	_, err := diff.Compare(t.Context(), catalog("- a\n"), catalog("schema: olm.channel\npackage: p\nentries: 5\n"))
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"catalog/catalog.yaml:1:1: want an object, found a list",
		"catalog/catalog.yaml:3:10: entries: want a list, found a number",
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
