package resolve

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestDependencies checks that equal properties share one dependency, and that a bundle that cannot be installed does
// not satisfy it.
func TestDependencies(t *testing.T) {
	const text = `{"schema": "olm.package", "name": "p", "defaultChannel": "c"}
		{"schema": "olm.channel", "package": "p", "name": "c", "entries": [{"name": "v2", "replaces": "v1"}, {"name": "v1"}]}
		{"schema": "olm.channel", "package": "p", "name": "d", "entries": [{"name": "v1"}]}
		{"schema": "olm.bundle", "package": "p", "name": "v1", "properties": [
			{"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}},
			{"type": "olm.package.required", "value": {"packageName": "p", "versionRange": ">0.0.0"}}]}
		{"schema": "olm.bundle", "package": "p", "name": "v2", "properties": [
			{"type": "olm.package", "value": {"packageName": "p", "version": "2.0.0"}},
			{"type": "olm.deprecated", "value": {}},
			{"type": "olm.package.required", "value": {"packageName": "p", "versionRange": ">0.0.0"}},
			{"type": "olm.gvk.required", "value": {"group": "g", "version": "v1", "kind": "K"}}]}`
	c, err := ReadCatalog(t.Context(), declcfg.Source{FS: fstest.MapFS{"c.json": {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	bundles, d := c.Index.Package("p").Bundles, c.Dependencies()
	first, err := d.Of(t.Context(), bundles[0].Meta)
	if err != nil || len(first) != 1 || len(first[0].Providers) != 1 || first[0].Providers[0] != bundles[0].Meta {
		t.Fatalf("dependencies %v, error %v", first, err)
	}
	second, err := d.Of(t.Context(), bundles[1].Meta)
	if err != nil || len(second) != 2 || second[0] != first[0] || second[1].Providers != nil {
		t.Fatalf("dependencies %v, error %v", second, err)
	}
	if want := "providing an API with group: g, version: v1, kind: K"; second[1].Sentence != want {
		t.Errorf("sentence %q, want %q", second[1].Sentence, want)
	}
	for i, want := range []Dependency{
		{Requires: `package p ">0.0.0"`, SatisfiedBy: []string{"p"}},
		{Requires: "an operator that provides K (g/v1)", SatisfiedBy: []string{}},
	} {
		if got := second[i]; got.Requires != want.Requires || !slices.Equal(got.SatisfiedBy, want.SatisfiedBy) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
