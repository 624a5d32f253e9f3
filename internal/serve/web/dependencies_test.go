package web_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

type dependenciesView struct {
	All   []resolve.Dependency
	Error string
}

// viewOf returns the dependencies of a bundle that the page gets.
func viewOf(t *testing.T, h http.Handler, catalog, pkg, bundle string) dependenciesView {
	t.Helper()
	type view struct{ Dependencies dependenciesView }
	return decode[view](t, h, address("bundle", "catalog", catalog, "package", pkg, "name", bundle)).Dependencies
}

// TestPublishedDependencies compares the dependencies that the page gets with dependencies computed from the whole
// catalog.
func TestPublishedDependencies(t *testing.T) {
	shared.OneGoroutine(t)
	total := 0
	for _, dir := range shared.Catalogs(t) {
		source, name := dirSource(dir), filepath.Base(dir)
		c, err := resolve.ReadCatalog(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		h, d := handlerOf(t, catalogOf(t, name, source)), c.Dependencies()
		for _, p := range c.Index.Packages() {
			for _, b := range p.Bundles {
				if b.Value.Dependency == "" {
					continue
				}
				want, err := d.Of(t.Context(), b.Meta)
				got := viewOf(t, h, name, p.Name, b.Value.Name)
				if err != nil || got.Error != "" || len(got.All) != len(want) {
					t.Errorf("%s: %s: got %+v, want %d dependencies, %v", name, b.Value.Name, got, len(want), err)
					continue
				}
				for i := range want {
					total++
					if got.All[i].Requires != want[i].Requires || !slices.Equal(got.All[i].SatisfiedBy, want[i].SatisfiedBy) {
						t.Errorf("%s: %s: got %+v, want %+v", name, b.Value.Name, got.All[i], want[i])
					}
				}
			}
		}
	}
	if total == 0 {
		t.Error("no bundle has dependencies")
	}
}

// requiring is a bundle a.v1 with a property that requires something.
func requiring(property string) string {
	return `{"schema": "olm.package", "name": "a", "defaultChannel": "c"}
{"schema": "olm.channel", "package": "a", "name": "c", "entries": [{"name": "a.v1"}]}
{"schema": "olm.bundle", "package": "a", "name": "a.v1", "image": "example.com/a", "properties": [
 {"type": "olm.package", "value": {"packageName": "a", "version": "1.0.0"}}, ` + property + `]}
{"schema": "olm.package", "name": "b", "defaultChannel": "c"}
{"schema": "olm.channel", "package": "b", "name": "c", "entries": [{"name": "b.v2", "skips": ["b.v1"]}, {"name": "b.v1"}]}
{"schema": "olm.bundle", "package": "b", "name": "b.v1", "image": "example.com/b1", "properties": [
 {"type": "olm.package", "value": {"packageName": "b", "version": "1.0.0"}},
 {"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "Skipped"}}]}
{"schema": "olm.bundle", "package": "b", "name": "b.v2", "image": "example.com/b2", "properties": [
 {"type": "olm.package", "value": {"packageName": "b", "version": "2.0.0"}},
 {"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K"}}]}
`
}

func TestDependencies(t *testing.T) {
	const gvk = `{"gvk": {"group": "g", "version": "v1", "kind": "K"}}`
	for _, tt := range []struct{ name, property, want string }{
		{"an API", `{"type": "olm.gvk.required", "value": {"group": "g", "version": "v1", "kind": "K"}}`,
			`[{an operator that provides K (g/v1) [b]}]`},
		{"only what is skipped provides it", `{"type": "olm.gvk.required", "value": {"group": "g", "version": "v1", "kind": "Skipped"}}`,
			`[{an operator that provides Skipped (g/v1) []}]`},
		{"a range", `{"type": "olm.package.required", "value": {"packageName": "b", "versionRange": ">1.0.0"}}`,
			`[{package b ">1.0.0" [b]}]`},
		{"only what is skipped is in the range", `{"type": "olm.package.required", "value": {"packageName": "b", "versionRange": "<2.0.0"}}`,
			`[{package b "<2.0.0" []}]`},
		{"a package that is not there", `{"type": "olm.package.required", "value": {"packageName": "z", "versionRange": ">1.0.0"}}`,
			`[{package z ">1.0.0" []}]`},
		{"all", `{"type": "olm.constraint", "value": {"all": {"constraints": [` + gvk + `, {"cel": {"rule": "true"}}]}}}`,
			`[{an operator providing an API with group: g, version: v1, kind: K and with constraint: "true" and message: "" [b]}]`},
		{"any", `{"type": "olm.constraint", "value": {"any": {"constraints": [` + gvk + `, {"package": {"packageName": "a", "versionRange": "1.0.0"}}]}}}`,
			`[{an operator that provides K (g/v1) or package a "1.0.0" [a b]}]`},
		{"not", `{"type": "olm.constraint", "value": {"not": {"constraints": [` + gvk + `]}}}`,
			`[{an operator providing an API with group: g, version: v1, kind: K [a]}]`},
		{"two", `{"type": "olm.label.required", "value": {"label": "l"}},
			{"type": "olm.gvk.required", "value": {"group": "g", "version": "v1", "kind": "K"}}`,
			`[{an operator with label: l []} {an operator that provides K (g/v1) [b]}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := catalogOf(t, "c", textSource(requiring(tt.property)))
			for _, providing := range []bool{true, false} { // a store for HTTP only does not know what is provided
				if !providing {
					c.Providing = nil
				}
				v := viewOf(t, handlerOf(t, c), "c", "a", "a.v1")
				var got []string
				for _, d := range v.All {
					got = append(got, fmt.Sprintf("{%s %s}", d.Requires, d.SatisfiedBy))
				}
				if fmt.Sprint(got) != tt.want || v.Error != "" {
					t.Errorf("got  %s, error %q\nwant %s", got, v.Error, tt.want)
				}
			}
		})
	}
}

// What OLM cannot read is said on the page; the rest of the bundle is shown.
func TestUnreadableDependency(t *testing.T) {
	h := handlerOf(t, catalogOf(t, "c", textSource(requiring(`{"type": "olm.constraint", "value": {"cel": {"rule": "1"}}}`))))
	v := viewOf(t, h, "c", "a", "a.v1")
	if want := "convert olm.constraint to resolver predicate: cel expressions must have type Bool"; v.Error != want {
		t.Errorf("error %q, want %q", v.Error, want)
	}
}
