package store_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A listing is one bundle in one channel, found by reading the catalog.
type listing struct {
	pkg, channel string
	entry        declcfg.Entry
}

// listings returns all entries of all channels, in the order of lists.
func listings(t testing.TB, sources ...declcfg.Source) (all []listing, packages map[string]*declcfg.Package) {
	t.Helper()
	packages = map[string]*declcfg.Package{}
	meta := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
	for m, err := range declcfg.Map(t.Context(), meta, sources...) {
		if err != nil {
			t.Fatal(err)
		}
		v, err := m.Decode()
		if err != nil {
			t.Fatal(err)
		}
		switch v := v.(type) {
		case *declcfg.Package:
			packages[v.Name] = v
		case *declcfg.Channel:
			for _, e := range v.Entries {
				all = append(all, listing{v.Package, v.Name, e})
			}
		}
	}
	slices.SortFunc(all, func(a, b listing) int {
		return cmp.Or(cmp.Compare(a.channel, b.channel), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.entry.Name, b.entry.Name))
	})
	return all, packages
}

// collect decodes all messages of an iterator.
func collect[M proto.Message](t testing.TB, newMessage func() M, all iter.Seq2[[]byte, error]) ([]M, error) {
	t.Helper()
	var got []M
	for data, err := range all {
		if err != nil {
			return got, err
		}
		m := newMessage()
		if err := proto.Unmarshal(data, m); err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	return got, nil
}

func newBundle() *api.Bundle      { return &api.Bundle{} }
func newEntry() *api.ChannelEntry { return &api.ChannelEntry{} }
func newStruct() *structpb.Struct { return &structpb.Struct{} }

// getBundle decodes the response of GetBundle.
func getBundle(t testing.TB, s *store.Store, pkg, channel, name string) *api.Bundle {
	t.Helper()
	data, err := s.BundleMessage(pkg, channel, name)
	if err != nil {
		t.Fatal(err)
	}
	b := &api.Bundle{}
	if err := proto.Unmarshal(data, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBundlesOfPublishedCatalogs checks that lists are in their documented order and have the same bundles as
// GetBundle.
func TestBundlesOfPublishedCatalogs(t *testing.T) {
	shared.OneGoroutine(t)
	for _, dir := range publishedCatalogs(t) {
		want, _ := listings(t, dirSource(dir))
		s := publishedStore(t, dir)
		got, err := collect(t, newBundle, s.Bundles())
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %v, %d bundles, want %d", dir, err, len(got), len(want))
		}
		for i, w := range want {
			g := got[i]
			if g.PackageName != w.pkg || g.ChannelName != w.channel || g.CsvName != w.entry.Name ||
				g.Replaces != w.entry.Replaces || !slices.Equal(g.Skips, w.entry.Skips) || g.SkipRange != w.entry.SkipRange {
				t.Fatalf("%s: bundle %d is %v, want %+v", dir, i, g, w)
			}
			full := getBundle(t, s, w.pkg, w.channel, w.entry.Name)
			if full.CsvJson == "" || len(full.Object) == 0 || full.Replaces != "" || full.Skips != nil {
				t.Fatalf("%s: %v: CSV of %d bytes, %d objects, replaces %q", dir, w, len(full.CsvJson), len(full.Object), full.Replaces)
			}
			full.CsvJson, full.Object, full.Replaces, full.Skips = "", nil, w.entry.Replaces, w.entry.Skips
			if !proto.Equal(full, g) {
				t.Errorf("%s: %+v is listed as\n%v\nand otherwise\n%v", dir, w, g, full)
			}
		}
	}
}

// TestEntriesThatReplaceOfPublishedCatalogs compares the result with a search through all entries.
func TestEntriesThatReplaceOfPublishedCatalogs(t *testing.T) {
	for _, dir := range publishedCatalogs(t) {
		all, _ := listings(t, dirSource(dir))
		slices.SortStableFunc(all, func(a, b listing) int { return cmp.Compare(a.pkg, b.pkg) })
		s := publishedStore(t, dir)
		names := map[string]bool{}
		for _, l := range all {
			names[l.entry.Name], names[l.entry.Replaces] = true, true
			for _, skip := range l.entry.Skips {
				names[skip] = true
			}
		}
		for name := range names {
			var want []string
			for _, l := range all {
				for _, to := range append([]string{l.entry.Replaces}, l.entry.Skips...) {
					if to == name {
						want = append(want, fmt.Sprint(l.pkg, l.channel, l.entry.Name, l.entry.Replaces))
					}
					if l.entry.Replaces == name {
						break // an entry that replaces the bundle is not listed again for a skip
					}
				}
			}
			var got []string
			entries, err := collect(t, newEntry, s.EntriesThatReplace(name))
			for _, e := range entries {
				got = append(got, fmt.Sprint(e.PackageName, e.ChannelName, e.BundleName, e.Replaces))
			}
			if errors.Is(err, store.ErrNotFound) != (len(want) == 0) || !slices.Equal(got, want) {
				t.Errorf("%s: %s is replaced by %v, %v, want %v", dir, name, got, err, want)
			}
		}
	}
}

func TestPackage(t *testing.T) {
	s := build(t, store.BuildOptions{}, source("a.yaml", kiln))
	data, err := s.Package("kiln")
	got := &api.Package{}
	if err := cmp.Or(err, proto.Unmarshal(data, got)); err != nil {
		t.Fatal(err)
	}
	want := &api.Package{
		Name: "kiln", DefaultChannelName: "stable", Deprecation: &api.Deprecation{Message: "use oven"},
		Channels: []*api.Channel{
			{Name: "beta", CsvName: "kiln.v2", Deprecation: &api.Deprecation{Message: "use stable"}},
			{Name: "stable", CsvName: "kiln.v3"},
		},
	}
	if !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// kiln is a catalog with an object of every kind.
const kiln = `---
schema: olm.package
name: kiln
defaultChannel: stable
description: Burns <bricks>.
icon: {base64data: aGVsbG8=, mediatype: image/png}
---
schema: olm.channel
package: kiln
name: stable
entries:
- {name: kiln.v3, replaces: kiln.v1, skips: [kiln.v2, kiln.v1, gone], skipRange: '>=1.0.0 <3.0.0'}
- {name: kiln.v2, replaces: kiln.v1}
- {name: kiln.v1, replaces: kiln.v0}
---
schema: olm.channel
package: kiln
name: beta
entries:
- name: kiln.v2
---
schema: olm.bundle
package: kiln
name: kiln.v1
image: quay.io/kiln@sha256:1
properties:
- {type: olm.package, value: {packageName: kiln, version: 1.0.0}}
- {type: olm.gvk, value: {group: kiln.io, version: v1, kind: Kiln}}
- {type: olm.csv.metadata, value: {displayName: Kiln & co, annotations: {b: <1>, a: "2"}, description: Own.}}
---
schema: olm.bundle
package: kiln
name: kiln.v2
image: quay.io/kiln@sha256:2
relatedImages: [{name: '', image: quay.io/kiln@sha256:2}]
properties:
- {type: olm.package, value: {version: 2.0.0, release: '1', packageName: kiln}}
- {type: olm.gvk, value: {group: kiln.io, version: v1, kind: Kiln}}
- {type: olm.gvk, value: {group: kiln.io, version: v1, kind: Kiln}}
- {type: olm.gvk.required, value: {group: fire.io, version: v1, kind: Fire}}
- {type: olm.package.required, value: {packageName: fire, versionRange: '>=1.0.0'}}
- {type: olm.constraint, value: {b: [1, 1.50, 1e400], a: <x>}}
- {type: olm.csv.metadata, value: {}}
---
schema: olm.bundle
package: kiln
name: kiln.v3
properties:
- {type: olm.package, value: {packageName: kiln, version: 3.0.0}}
- {type: olm.gvk, value: {group: kiln.io, version: v1, kind: Kiln}}
# kind: Role, then { and a byte that is not UTF-8, then kind: ClusterServiceVersion with a blank, in JSON
- {type: olm.bundle.object, value: {data: a2luZDogUm9sZQ==}}
- {type: olm.bundle.object, value: {data: e/8=}}
- {type: olm.bundle.object, value: {data: eyJraW5kIjogIkNsdXN0ZXJTZXJ2aWNlVmVyc2lvbiJ9}}
---
schema: olm.deprecations
package: kiln
entries:
- {reference: {schema: olm.package}, message: use oven}
- {reference: {schema: olm.channel, name: beta}, message: use stable}
- {reference: {schema: olm.bundle, name: kiln.v1}, message: too old}
---
schema: kiln.docs
package: kiln
pages: [1, {b: null, a: true}, "x", false]
---
schema: kiln.docs
name: nobody's
huge: -1e400
---
schema: kiln.docs
package: kiln
name: second
`

func kilnStore(t testing.TB) *store.Store {
	t.Helper()
	return build(t, store.BuildOptions{HTTP: true}, source("a.yaml", kiln))
}

// checkMessage compares a message with the expected one in JSON.
func checkMessage(t *testing.T, what string, got, empty proto.Message, want string) {
	t.Helper()
	if err := protojson.Unmarshal([]byte(want), empty); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, empty) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, protojson.Format(got), protojson.Format(empty))
	}
}

// A bundle without an image has its manifests in lists, too: JSON and texts that upstream takes for it unchanged, and
// YAML as JSON.
const kilnV3 = `"csvName": "kiln.v3", "packageName": "kiln", "channelName": "stable", "version": "3.0.0",
	"skipRange": ">=1.0.0 <3.0.0",
	"providedApis": [{"group": "kiln.io", "version": "v1", "kind": "Kiln"}],
	"properties": [
		{"type": "olm.package", "value": "{\"packageName\":\"kiln\",\"version\":\"3.0.0\"}"},
		{"type": "olm.gvk", "value": "{\"group\":\"kiln.io\",\"kind\":\"Kiln\",\"version\":\"v1\"}"}
	],
	"csvJson": "{\"kind\": \"ClusterServiceVersion\"}",
	"object": ["{\"kind\":\"Role\"}", "{\ufffd", "{\"kind\": \"ClusterServiceVersion\"}"]`

func TestBundle(t *testing.T) {
	s := kilnStore(t)
	for _, tt := range []struct{ channel, name, want string }{
		{"stable", "kiln.v3", `{` + kilnV3 + `}`},
		{"stable", "kiln.v1", `{
			"csvName": "kiln.v1", "packageName": "kiln", "channelName": "stable", "bundlePath": "quay.io/kiln@sha256:1",
			"version": "1.0.0", "deprecation": {"message": "too old"},
			"providedApis": [{"group": "kiln.io", "version": "v1", "kind": "Kiln"}],
			"properties": [
				{"type": "olm.package", "value": "{\"packageName\":\"kiln\",\"version\":\"1.0.0\"}"},
				{"type": "olm.gvk", "value": "{\"group\":\"kiln.io\",\"kind\":\"Kiln\",\"version\":\"v1\"}"}
			], ` + manifests(kilnV1) + `}`},
		{"beta", "kiln.v2", `{
			"csvName": "kiln.v2", "packageName": "kiln", "channelName": "beta", "bundlePath": "quay.io/kiln@sha256:2",
			"version": "2.0.0",
			"providedApis": [{"group": "kiln.io", "version": "v1", "kind": "Kiln"},
				{"group": "kiln.io", "version": "v1", "kind": "Kiln"}],
			"requiredApis": [{"group": "fire.io", "version": "v1", "kind": "Fire"}],
			"dependencies": [
				{"type": "olm.gvk", "value": "{\"group\":\"fire.io\",\"kind\":\"Fire\",\"version\":\"v1\"}"},
				{"type": "olm.package", "value": "{\"packageName\":\"fire\",\"version\":\">=1.0.0\"}"}
			],
			"properties": [
				{"type": "olm.package", "value": "{\"packageName\":\"kiln\",\"release\":\"1\",\"version\":\"2.0.0\"}"},
				{"type": "olm.gvk", "value": "{\"group\":\"kiln.io\",\"kind\":\"Kiln\",\"version\":\"v1\"}"},
				{"type": "olm.gvk", "value": "{\"group\":\"kiln.io\",\"kind\":\"Kiln\",\"version\":\"v1\"}"},
				{"type": "olm.gvk.required", "value": "{\"group\":\"fire.io\",\"kind\":\"Fire\",\"version\":\"v1\"}"},
				{"type": "olm.package.required", "value": "{\"packageName\":\"fire\",\"versionRange\":\">=1.0.0\"}"},
				{"type": "olm.constraint", "value": "{\"a\":\"<x>\",\"b\":[1,1.5,\"1e400\"]}"}
			], ` + manifests(kilnV2) + `}`},
	} {
		checkMessage(t, tt.name, getBundle(t, s, "kiln", tt.channel, tt.name), &api.Bundle{}, tt.want)
	}
}

// The first bundle has its own description, the second one has the description of the package.
const (
	kilnV1 = `{"kind":"ClusterServiceVersion","apiVersion":"operators.coreos.com/v1alpha1",` +
		`"metadata":{"name":"kiln.v1","annotations":{"a":"2","b":"\u003c1\u003e"}},` +
		`"spec":{"install":{"strategy":"deployment","spec":{"deployments":null}},"version":"1.0.0",` +
		`"customresourcedefinitions":{},"apiservicedefinitions":{},"displayName":"Kiln \u0026 co","description":"Own.",` +
		`"provider":{},"icon":[{"base64data":"aGVsbG8=","mediatype":"image/png"}],"cleanup":{"enabled":false}},` +
		`"status":{"cleanup":{}}}`
	kilnV2 = `{"kind":"ClusterServiceVersion","apiVersion":"operators.coreos.com/v1alpha1","metadata":{"name":"kiln.v2"},` +
		`"spec":{"install":{"strategy":"deployment","spec":{"deployments":null}},"version":"2.0.0",` +
		`"customresourcedefinitions":{},"apiservicedefinitions":{},"displayName":"",` +
		`"description":"Burns \u003cbricks\u003e.","provider":{},"icon":[{"base64data":"aGVsbG8=","mediatype":"image/png"}],` +
		`"cleanup":{"enabled":false},"relatedImages":[{"name":"","image":"quay.io/kiln@sha256:2"}]},` +
		`"status":{"cleanup":{}}}`
)

// manifests returns the JSON members of an api.Bundle with a made-up ClusterServiceVersion.
func manifests(csv string) string {
	text, _ := json.Marshal(csv)
	return fmt.Sprintf(`"csvJson": %s, "object": [%s]`, text, text)
}

func TestBundles(t *testing.T) {
	got, err := collect(t, newBundle, kilnStore(t).Bundles())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range got {
		names = append(names, b.ChannelName+" "+b.CsvName)
		if b.BundlePath != "" && (b.CsvJson != "" || b.Object != nil) {
			t.Errorf("%s is listed with manifests", b.CsvName)
		}
	}
	want := []string{"beta kiln.v2", "stable kiln.v1", "stable kiln.v2", "stable kiln.v3"}
	if !slices.Equal(names, want) {
		t.Fatalf("got %v, want %v", names, want)
	}
	checkMessage(t, "kiln.v3", got[3], &api.Bundle{},
		`{`+kilnV3+`, "replaces": "kiln.v1", "skips": ["kiln.v2", "kiln.v1", "gone"]}`)
}

func TestEntries(t *testing.T) {
	s := kilnStore(t)
	for _, tt := range []struct {
		what string
		got  iter.Seq2[[]byte, error]
		want []string
	}{
		{"replace kiln.v1", s.EntriesThatReplace("kiln.v1"), []string{"stable kiln.v2 kiln.v1", "stable kiln.v3 kiln.v1"}},
		{"replace gone", s.EntriesThatReplace("gone"), []string{"stable kiln.v3 kiln.v1"}},
		{"replace kiln.v3", s.EntriesThatReplace("kiln.v3"), []string{"no channel entries found that replace kiln.v3"}},
		{"provide", s.EntriesThatProvide("kiln.io", "v1", "Kiln", false), []string{
			"beta kiln.v2 ", "stable kiln.v1 kiln.v0", "stable kiln.v2 kiln.v1",
			"stable kiln.v3 kiln.v1", "stable kiln.v3 kiln.v2", "stable kiln.v3 gone",
		}},
		{"provide the latest", s.EntriesThatProvide("kiln.io", "v1", "Kiln", true), []string{
			"beta kiln.v2 ", "stable kiln.v3 kiln.v1", "stable kiln.v3 kiln.v2",
		}},
		{"provide what is required", s.EntriesThatProvide("fire.io", "v1", "Fire", false), []string{
			`no channel entries found that provide group:"fire.io" version:"v1" kind:"Fire"`,
		}},
		{"provide strings out of place", s.EntriesThatProvide("v1", "kiln.io", "Kiln", true), []string{
			`no channel entries found that provide group:"v1" version:"kiln.io" kind:"Kiln"`,
		}},
	} {
		var got []string
		entries, err := collect(t, newEntry, tt.got)
		for _, e := range entries {
			got = append(got, e.ChannelName+" "+e.BundleName+" "+e.Replaces)
		}
		if err != nil {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v is not ErrNotFound", tt.what, err)
			}
			got = append(got, err.Error())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

func TestNotFound(t *testing.T) {
	s := kilnStore(t)
	bundle := func(pkg, channel, name string) error {
		_, err := s.Bundle(pkg, channel, name)
		return err
	}
	_, pkg := s.Package("oven")
	_, head := s.ChannelHead("kiln", "alpha")
	_, replacement := s.Replacement("kiln.v3", "kiln", "stable")
	_, otherChannel := s.Replacement("kiln.v1", "kiln", "beta")
	_, _, _, provider := s.DefaultProvider("kiln.io", "v2", "Kiln")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{pkg, `package "oven" not found`},
		{head, `package "kiln", channel "alpha" not found`},
		{bundle("oven", "stable", "kiln.v1"), `package "oven" not found`},
		{bundle("kiln", "kiln", "kiln.v1"), `package "kiln", channel "kiln" not found`},
		{bundle("kiln", "stable", "stable"), `package "kiln", channel "stable", bundle "stable" not found`},
		{bundle("kiln", "beta", "kiln.v1"), `package "kiln", channel "beta", bundle "kiln.v1" not found`},
		{replacement, `no entry found for package "kiln", channel "stable"`},
		{otherChannel, `no entry found for package "kiln", channel "beta"`},
		{provider, `no entry found that provides group:"kiln.io" version:"v2" kind:"Kiln"`},
	} {
		if tt.err == nil || tt.err.Error() != tt.want || !errors.Is(tt.err, store.ErrNotFound) {
			t.Errorf("got %v, want %s", tt.err, tt.want)
		}
	}
}

func TestPackagesProviding(t *testing.T) {
	s := kilnStore(t)
	if got := s.PackagesProviding(declcfg.GVK{Group: "kiln.io", Version: "v1", Kind: "Kiln"}); !slices.Equal(got, []string{"kiln"}) {
		t.Errorf("got %v, want kiln", got)
	}
	if got := s.PackagesProviding(declcfg.GVK{Group: "fire.io", Version: "v1", Kind: "Fire"}); got != nil {
		t.Errorf("got %v, want none", got)
	}
}

func TestDefaultProvider(t *testing.T) {
	pkg, channel, bundle, err := kilnStore(t).DefaultProvider("kiln.io", "v1", "Kiln")
	if err != nil || pkg != "kiln" || channel != "stable" || bundle != "kiln.v3" {
		t.Errorf("got %s %s %s, %v", pkg, channel, bundle, err)
	}
}

// TestReplacement checks that the replacement nearest to the head is returned.
func TestReplacement(t *testing.T) {
	for _, tt := range []struct{ name, entries, want string }{
		{"the only one", `[{name: b, replaces: x}]`, "b"},
		{"head before chain", `[{name: c, replaces: b, skips: [x]}, {name: b, replaces: x}]`, "c"},
		{"chain before what is skipped", `[{name: d, replaces: c, skips: [a]}, {name: c, replaces: b}, {name: b, replaces: x},
			{name: a, replaces: x}]`, "b"},
		{"the nearer of the skipped", `[{name: d, replaces: c, skips: [b, a]}, {name: c}, {name: a, replaces: x},
			{name: b, skips: [x]}]`, "a"},
		{"fewer edges", `[{name: d, skips: [c, b]}, {name: b, skips: [a, x]}, {name: c}, {name: a, replaces: x}]`, "b"},
	} {
		var catalog strings.Builder
		fmt.Fprintf(&catalog, "schema: olm.package\nname: p\ndefaultChannel: s\n---\nschema: olm.channel\npackage: p\nname: s\nentries: %s\n",
			tt.entries)
		for i, name := range []string{"a", "b", "c", "d"} {
			if strings.Contains(tt.entries, "name: "+name) {
				fmt.Fprintf(&catalog, "---\nschema: olm.bundle\npackage: p\nname: %s\nimage: i\nproperties:\n"+
					"- {type: olm.package, value: {packageName: p, version: %d.0.0}}\n", name, i)
			}
		}
		got, err := build(t, store.BuildOptions{}, source("a.yaml", catalog.String())).Replacement("x", "p", "s")
		if err != nil || got != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestCustomMetas(t *testing.T) {
	s := kilnStore(t)
	for _, tt := range []struct {
		schema, pkg string
		want        []string
	}{
		{"kiln.docs", "kiln", []string{
			`{"schema": "kiln.docs", "package": "kiln", "pages": [1, {"a": true, "b": null}, "x", false]}`,
			`{"schema": "kiln.docs", "package": "kiln", "name": "second"}`,
		}},
		{"kiln.docs", "", []string{`{"schema": "kiln.docs", "name": "nobody's", "huge": -1.7976931348623157e308}`}},
		{"kiln.docs", "oven", nil},
		{"olm.package", "", nil},
		{"olm.bundle", "kiln", nil},
		{"", "", nil},
	} {
		got, err := collect(t, newStruct, s.CustomMetas(tt.schema, tt.pkg))
		if err != nil || len(got) != len(tt.want) {
			t.Errorf("%s of %q: %v, %v", tt.schema, tt.pkg, got, err)
			continue
		}
		for i := range got {
			checkMessage(t, tt.schema, got[i], &structpb.Struct{}, tt.want[i])
		}
	}
}

func TestStats(t *testing.T) {
	s := kilnStore(t)
	got := s.Stats()
	if got.Bytes == 0 {
		t.Error("the store has no bytes")
	}
	got.Bytes = 0
	if want := (store.Stats{Packages: 1, Channels: 2, Bundles: 3, Entries: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if names := s.PackageNames(); !slices.Equal(names, []string{"kiln"}) {
		t.Errorf("packages %v", names)
	}
}

// TestEmpty checks that an empty catalog can be served.
func TestEmpty(t *testing.T) {
	s := build(t, store.BuildOptions{HTTP: true}, source())
	for range s.Bundles() {
		t.Error("there is a bundle")
	}
	if _, err := s.Package(""); !errors.Is(err, store.ErrNotFound) || len(s.PackageNames()) > 0 {
		t.Errorf("%v, packages %v", err, s.PackageNames())
	}
	if c := s.Catalogs(); len(c) != 1 || c[0].Size() != 0 {
		t.Errorf("catalogs %v", c)
	}
}
