package filter_test

import (
	"maps"
	"testing"

	"github.com/opm-toolchain/opm/internal/filter"
)

// TestDependencies checks that the dependencies of a bundle are kept, and their dependencies in turn.
func TestDependencies(t *testing.T) {
	packages := map[string]string{
		"a": "default stable; channel stable; a.v1",
		"b": "default stable; channel stable; b.v3 replaces b.v2; b.v2 replaces b.v1; b.v1" +
			"; channel fast; b.v4 replaces b.v3; b.v3",
		"c":   "default stable; channel stable; c.v2 replaces c.v1; c.v1",
		"d":   "default stable; channel stable; d.v1",
		"api": "default stable; channel stable; api.v2 replaces api.v1; api.v1",
		"apx": "default fast; channel fast; apx.v1",
	}
	const (
		provides = `, {"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K"}}`
		b2       = `{"packageName": "b", "versionRange": "<3.0.0"}`
	)
	constraint := func(value string) string { return `, {"type": "olm.constraint", "value": ` + value + `}` }
	for _, tt := range []struct {
		name, requires string // properties of a.v1
		more           map[string]string
		also           string // selected in addition to a
		want, changes  string
	}{
		{"nothing", "", nil, "", "", ""},
		{
			"a package", `, {"type": "olm.package.required", "value": {"packageName": "b", "versionRange": ">=0.0.0"}}`, nil, "",
			"\nb: stable* b.v3", `"b.v3" is kept, since "a.v1" requires it`,
		},
		{
			"a range", `, {"type": "olm.package.required", "value": ` + b2 + `}`, nil, "",
			"\nb: stable* b.v2", `"b.v2" is kept, since "a.v1" requires it; the head is "b.v2", was "b.v3"`,
		},
		{
			"only in another channel", `, {"type": "olm.package.required", "value": {"packageName": "b", "versionRange": ">3.0.0"}}`,
			nil, "", "\nb: fast* b.v4", `"b.v4" is kept, since "a.v1" requires it; the default channel is "fast", was "stable"`,
		},
		{
			"of a package that is kept", `, {"type": "olm.package.required", "value": {"packageName": "b", "versionRange": "1.0.0"}}`,
			nil, "b:stable", "\nb: stable* b.v3 b.v1",
			`"b.v1" is kept, since "a.v1" requires it; "b.v3" replaces "b.v1" and skips "b.v2", which it replaced`,
		},
		{
			"what is kept anyway", `, {"type": "olm.package.required", "value": {"packageName": "b", "versionRange": ">=3.0.0"}}`,
			nil, "b:fast", "\nb: fast* b.v4", `the default channel is "fast", was "stable"`,
		},
		{
			"an API, of two packages", `, {"type": "olm.gvk.required", "value": {"group": "g", "version": "v1", "kind": "K"}}`,
			map[string]string{"api.v1": provides, "api.v2": provides, "apx.v1": provides}, "",
			"\napi: stable* api.v2\napx: fast* apx.v1",
			`"api.v2" is kept, since "a.v1" requires it; "apx.v1" is kept, since "a.v1" requires it`,
		},
		{
			"over another one", constraint(`{"package": ` + b2 + `}`),
			map[string]string{"b.v2": constraint(`{"package": {"packageName": "c", "versionRange": ">=1.0.0"}}`)}, "",
			"\nb: stable* b.v2\nc: stable* c.v2",
			`"b.v2" is kept, since "a.v1" requires it; the head is "b.v2", was "b.v3"; "c.v2" is kept, since "b.v2" requires it`,
		},
		{
			"all of several", constraint(`{"all": {"constraints": [{"package": ` + b2 + `}, {"cel": {"rule": "properties.exists(p, p.type == 'x')"}}]}}`),
			map[string]string{"b.v1": `, {"type": "x", "value": {}}`, "d.v1": `, {"type": "x", "value": {}}`}, "",
			"\nb: stable* b.v1", `"b.v1" is kept, since "a.v1" requires it; the head is "b.v1", was "b.v3"`,
		},
		{
			"any of several, of which one is kept", constraint(`{"any": {"constraints": [{"package": ` + b2 + `}, {"package": {"packageName": "d", "versionRange": "1.0.0"}}]}}`),
			nil, "d", "\nd: stable* d.v1", "",
		},
		{
			"no provider", `, {"type": "olm.package.required", "value": {"packageName": "e", "versionRange": "1.0.0"}}` +
				constraint(`{"cel": {"rule": "true"}}`) + constraint(`{"not": {"constraints": [{"package": `+b2+`}]}}`),
			nil, "", "", `"a.v1" requires an operator with package: e and with version in range: 1.0.0, and the catalog has none`,
		},
		{
			"prohibited", `, {"type": "olm.package.required", "value": {"packageName": "b", "versionRange": ">=0.0.0"}}`,
			map[string]string{"b.v3": `, {"type": "olm.deprecated", "value": true}`}, "",
			"\nb: stable* b.v2", `"b.v2" is kept, since "a.v1" requires it; the head is "b.v2", was "b.v3"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			properties := map[string]string{"a.v1": tt.requires}
			maps.Copy(properties, tt.more)
			texts := []string{"a"}
			if tt.also != "" {
				texts = append(texts, tt.also)
			}
			wanted, err := filter.ParsePackages(texts...)
			if err != nil {
				t.Fatal(err)
			}
			c := withDependencies(t, catalogOf(t, packages, properties))
			got, err := apply(t, c, filter.Selection{Packages: wanted})
			if err != nil {
				t.Fatal(err)
			}
			if want := "a: stable* a.v1" + tt.want; got.String() != want {
				t.Errorf("kept\n%s\nwant\n%s", got, want)
			}
			if changes := changesOf(got); changes != tt.changes {
				t.Errorf("changes: %s\nwant %s", changes, tt.changes)
			}
		})
	}
}
