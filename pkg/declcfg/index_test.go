package declcfg_test

import (
	"reflect"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const indexed = `
{schema: olm.bundle, package: b, name: b.v1, image: i, properties: [{type: olm.package, value: {packageName: b, version: 1.0.0, release: "2"}}]}
---
{schema: olm.package, name: b, defaultChannel: c, description: d, icon: {}, properties: [], more: 1}
---
{schema: olm.channel, package: b, name: c, entries: [{name: b.v1}], properties: [], more: 1}
---
{schema: olm.deprecations, package: b, entries: [{reference: {schema: olm.package, more: 1}, message: m, more: 1}], more: 1}
---
{schema: olm.channel, name: lost}
---
{schema: olm.bundle, package: a, name: a.v1, image: []}
---
{schema: other, package: c, name: o}
`

func TestIndex(t *testing.T) {
	var x declcfg.Index
	if x.Packages() != nil || x.Package("b") != nil {
		t.Error("the zero index is not empty")
	}
	for _, m := range metas(t, source("a.yaml", indexed)) {
		v, _ := m.Decode()
		x.Add(m, declcfg.Slim(v))
	}
	var names []string
	for _, p := range x.Packages() {
		names = append(names, p.Name)
	}
	expect(t, names, []string{"", "a", "b"})
	if lost := x.Package("").Channels; len(lost) != 1 || lost[0].Meta.Name != "lost" {
		t.Errorf("without a package there are %v", lost)
	}
	if a := x.Package("a").Bundles; len(a) != 1 || a[0].Value != nil || a[0].Meta.Name != "a.v1" {
		t.Errorf("what cannot be decoded is %v", a)
	}
	if x.Package("c") != nil {
		t.Error("objects of other schemas are in the index")
	}

	b := x.Package("b")
	if len(b.Packages) != 1 || len(b.Channels) != 1 || len(b.Bundles) != 1 || len(b.Deprecations) != 1 {
		t.Fatalf("package b is %+v", b)
	}
	version, err := declcfg.ParseVersion("1.0.0", "2")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ got, want any }{
		{b.Packages[0].Value, &declcfg.Package{Schema: "olm.package", Name: "b", DefaultChannel: "c"}},
		{b.Channels[0].Value, &declcfg.Channel{
			Schema: "olm.channel", Package: "b", Name: "c", Entries: []declcfg.Entry{{Name: "b.v1"}},
		}},
		{b.Bundles[0].Value, &declcfg.BundleSummary{Name: "b.v1", Image: "i", Version: &version}},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("got %+v, want %+v", tt.got, tt.want)
		}
	}
	if d := b.Deprecations[0].Value.Entries[0]; d.Reference.Schema != "olm.package" || d.Message != "m" || d.Unknown != nil {
		t.Errorf("deprecation %+v", d)
	}
	var all []string
	for _, m := range b.Metas() {
		all = append(all, m.Schema)
	}
	expect(t, all, []string{"olm.package", "olm.channel", "olm.bundle", "olm.deprecations"})
}

func TestBundleVersion(t *testing.T) {
	for _, tt := range []struct{ properties, version, err string }{
		{`{type: olm.package, value: {version: 1.2.3}}`, "1.2.3", ""},
		{`{type: olm.package, value: {version: 1.2.3, release: a.1}}, {type: olm.gvk}`, "1.2.3-a.1", ""},
		{``, "", "want exactly one property of type olm.package, found 0"},
		{`{type: olm.package}, {type: olm.package}`, "", "want exactly one property of type olm.package, found 2"},
		{`{type: olm.package}`, "", "olm.package: no value"},
		{`{type: olm.package, value: {version: v1.0.0}}`, "", `version "v1.0.0" is not a semantic version: want "1.0.0"`},
	} {
		v, err := one(t, "{schema: olm.bundle, package: p, properties: ["+tt.properties+"]}").Decode()
		if err != nil {
			t.Fatal(err)
		}
		b := v.(*declcfg.Bundle)
		version, err := b.Version()
		summary := b.Summarize()
		if (err == nil) != (summary.Version != nil) {
			t.Errorf("%s: version %v in the summary, but %v", tt.properties, summary.Version, err)
		}
		switch {
		case tt.err != "":
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: error %v, want %s", tt.properties, err, tt.err)
			}
		case err != nil || version.String() != tt.version:
			t.Errorf("%s: version %v, %v, want %s", tt.properties, version, err, tt.version)
		}
	}
}
