package resolve

import (
	"errors"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestClassic checks details that the observed outcomes do not cover.
func TestClassic(t *testing.T) {
	const (
		sa   = "sub sa a stable\n"
		no   = "constraints not satisfiable: "
		head = "c/a/stable/a.v2.0.0(replaces a.v1.1.0)"
		inst = "installed a.v1.0.0 like\nsub sa a stable installed=a.v1.0.0\n"
		got  = "c/a/stable/a.v2.0.0(replaces a.v1.0.0)"
	)
	for _, tt := range []struct{ name, scenario, want string }{
		{"visible: another catalog", "sub sa a stable catalog=g\ncatalog g 0 ns\nchannel a stable* a.v7", "g/a/stable/a.v7"},
		{"installed: the version is that of the CSV, not of a property",
			"range a.v2.0.0 >=5.0.0\ninstalled a.v5 olm.package={\"packageName\":\"a\",\"version\":\"1.0.0\"}\n" +
				"sub sa a stable installed=a.v5", "c/a/stable/a.v2.0.0(replaces a.v5)"},
		{"installed: a Subscription elsewhere", "installed z.v1 gvk=K\nsub sz z s installed=z.v1\n",
			no + "no operators found in package z in the catalog referenced by subscription sz, subscription sz exists"},
		{"two installed operators of a package", "installed a.v1.0.0 like\ninstalled a.v1.1.0 like\n",
			no + "@existing/ns//a.v1.0.0 and @existing/ns//a.v1.1.0 originate from package a, " +
				"clusterserviceversion a.v1.0.0 exists and is not referenced by a subscription, " +
				"clusterserviceversion a.v1.1.0 exists and is not referenced by a subscription"},
		{"the same package in two channels", "sub s1 d stable\nsub s2 d beta\n",
			no + "c/ns/beta/d.v1.0.0, c/ns/beta/d.v3.0.0, c/ns/stable/d.v1.0.0 and c/ns/stable/d.v2.0.0 originate from package d, " +
				"subscription s1 exists, subscription s1 requires at least one of c/ns/stable/d.v2.0.0 or c/ns/stable/d.v1.0.0, " +
				"subscription s2 exists, subscription s2 requires at least one of c/ns/beta/d.v3.0.0 or c/ns/beta/d.v1.0.0"},

		{"candidates: a skipped bundle by startingCSV",
			"channel a stable* a.v1.0.0 a.v1.1.0<a.v1.0.0 a.v2.0.0<a.v1.1.0~a.v1.1.0\nsub sa a stable starting=a.v1.1.0",
			"c/a/stable/a.v1.1.0(replaces a.v1.0.0)"},
		{"candidates: startingCSV is ignored once installed",
			"installed a.v1.1.0 like\nsub sa a stable starting=a.v1.0.0 installed=a.v1.1.0", head},
		{"candidates: skips", "channel a stable* a.v1.0.0 a.v2.0.0~a.v1.0.0\n" + inst, got},
		{"candidates: skips of another package", "channel a stable* a.v1.0.0 a.v2.0.0<a.v1.0.0~old.v9\n" +
			"installed old.v9\nsub sa a stable installed=old.v9", "c/a/stable/a.v2.0.0(replaces old.v9)"},
		{"candidates: skipRange, the nearest to the head", "range a.v2.0.0 <2.0.0\n" + inst, got},
		{"candidates: an invalid skipRange is none", "range a.v2.0.0 bogus\n" + inst, "c/a/stable/a.v1.1.0(replaces a.v1.0.0)"},
		{"candidates: the order of channels is by name, not by version",
			"channel d 10 d.v5\nchannel d 9 d.v6\nchannel d stable d.v1.0.0\nchannel d beta d.v1.0.0\n" +
				"range d.v5 <5.0.0\nrange d.v6 <5.0.0\ninstalled d.v1.0.0 like\nsub sd d - installed=d.v1.0.0",
			"c/d/10/d.v5(replaces d.v1.0.0)"},
		{"candidates: in any of several channels",
			"channel d stable* d.v1.0.0\nchannel d beta d.v1.0.0\nhas d.v1.0.0 requires-gvk=X\nsub sd d -",
			no + "bundle d.v1.0.0 requires an operator providing an API with group: g.io, version: v1, kind: X, " +
				"bundle d.v1.0.0 requires an operator providing an API with group: g.io, version: v1, kind: X, subscription sd exists, " +
				"subscription sd requires at least one of c/ns/stable/d.v1.0.0, c/ns/beta/d.v1.0.0, " +
				"c/ns/stable/d.v1.0.0 or c/ns/beta/d.v1.0.0"},

		{"order: no head", "channel a stable* a.v1.0.0<a.v2.0.0 a.v2.0.0<a.v1.0.0\n" + sa,
			`no channel heads (entries not replaced by another entry) found in channel "stable" of package "a"`},
		{"order: a cycle", "channel a stable* a.v1.0.0<a.v2.0.0 a.v2.0.0<a.v1.0.0 a.v3<a.v2.0.0\n" + sa,
			`a cycle exists in the chain of replacement beginning with "a.v3" in channel "stable" of package "a"`},
		{"order: errors of several Subscriptions",
			"channel a stable* a.v1.0.0<a.v2.0.0 a.v2.0.0<a.v1.0.0\nchannel d stable* d.v1.0.0<d.v1.0.0\nsub s1 a stable\nsub s2 d stable",
			`[no channel heads (entries not replaced by another entry) found in channel "stable" of package "a", ` +
				`no channel heads (entries not replaced by another entry) found in channel "stable" of package "d"]`},
		{"order: a broken channel elsewhere does not matter", "channel d beta d.v1.0.0 d.v3.0.0\n" + sa, head},

		{"dependencies: two installed providers of unknown packages",
			"has a.v2.0.0 requires-gvk=K\nhas a.v1.1.0 gvk=L\ninstalled y.v1 gvk=K\ninstalled z.v1 gvk=K\n" + sa,
			"a unique replacement chain within a channel is required to determine the relative order between channel entries, " +
				`but 2 replacement chains were found in channel "" of package "": y.v1, z.v1`},
		{"dependencies: a skipped provider is none", "channel z s* z.v1 z.v2<z.v1~z.v1\nhas z.v1 gvk=K\nhas a.v2.0.0 requires-gvk=K\n" + sa,
			"c/a/stable/a.v1.1.0(replaces a.v1.0.0)"},
		{"dependencies: pre-releases are in a range", "channel d stable* d.v2.0.0-rc.1\nhas a.v2.0.0 package=d:>=1.0.0 <2.0.0\n" +
			"channel d beta d.v3.0.0\n" + sa, head + " + c/d/stable/d.v2.0.0-rc.1"},
		{"dependencies: in a circle", "channel b s* b.v1\nhas b.v1 package=a:>=1.0.0\nhas a.v2.0.0 package=b:>=1.0.0\n" + sa,
			head + " + c/b/s/b.v1"},
		{"dependencies: unknown types are ignored", `has a.v2.0.0 olm.other={"x":1}` + "\n" + sa, head},

		{"constraints: not alone wants another bundle", `has a.v2.0.0 {"not": {"constraints": [{"gvk": {"group": "g.io", "version": "v1", "kind": "K"}}]}}` +
			"\n" + sa, head},
		{"constraints: not in text", `channel a stable* a.v1.0.0` + "\n" +
			`has a.v1.0.0 {"not": {"constraints": [{"package": {"packageName": "a", "versionRange": ">=0.0.0"}}, ` +
			`{"package": {"packageName": "d", "versionRange": ">=0.0.0"}}]}}` + "\n" + sa,
			no + "bundle a.v1.0.0 requires an operator with package: a and with version in range: >=0.0.0 and not " +
				"with package: d and with version in range: >=0.0.0, subscription sa exists, subscription sa requires c/ns/stable/a.v1.0.0"},
		{"constraints: the first of several", `has a.v2.0.0 {"package": {"packageName": "d", "versionRange": ">=3.0.0"}, "cel": {"rule": "1"}}` +
			"\n" + sa, head + " + c/d/beta/d.v3.0.0(replaces d.v1.0.0)"},
		{"constraints: too large", `has a.v2.0.0 {"failureMessage":"` + strings.Repeat("x", 2<<16) + `"}` + "\n" + sa,
			"parse olm.constraint: olm.constraint value is greater than max constraint size 131072 bytes"},
		{"constraints: CEL without a bool", `has a.v2.0.0 {"cel": {"rule": "1"}}` + "\n" + sa,
			"convert olm.constraint to resolver predicate: cel expressions must have type Bool"},

		{"preference: priorities may be negative", "has a.v2.0.0 requires-gvk=K\n" + sa +
			"catalog x -1\nchannel z s* z.v1\nhas z.v1 gvk=K\ncatalog y -2\nchannel z s* z.v1\nhas z.v1 gvk=K", head + " + x/z/s/z.v1"},
		{"preference: the namespace before the global one", "has a.v2.0.0 requires-gvk=K\n" + sa +
			"catalog x 0 olm\nchannel z s* z.v1\nhas z.v1 gvk=K\ncatalog y\nchannel z s* z.v1\nhas z.v1 gvk=K", head + " + y/z/s/z.v1"},
		{"preference: packages by name", "has a.v2.0.0 requires-gvk=K\n" + sa +
			"channel z s* z.v9\nhas z.v9 gvk=K\nchannel y s* y.v1\nhas y.v1 gvk=K", head + " + c/y/s/y.v1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ns := parseScenario(t, base+tt.scenario)
			ns.Global = "olm"
			if got := outcome(verify(t, ns)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestCatalogFailure checks that a catalog that is not served blocks all namespaces that see it.
func TestCatalogFailure(t *testing.T) {
	ns := parseScenario(t, base+"sub sa a stable\ncatalog down 0 olm\n")
	ns.Catalogs[1].Failure = errors.New("no registry client established for catalogsource olm/down")
	for global, want := range map[string]string{
		"":    "c/a/stable/a.v2.0.0(replaces a.v1.1.0)",
		"olm": "error using catalogsource olm/down: no registry client established for catalogsource olm/down",
	} {
		ns.Global = global
		if got := outcome(verify(t, ns)); got != want {
			t.Errorf("global namespace %q: %s, want %s", global, got, want)
		}
	}
}

// TestPlaces checks the positions of errors.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ scenario, want string }{
		{"has a.v2.0.0 package=d:bogus\nsub sa a stable", "c/catalog.json:8:171"},
		{"channel a stable* a.v1.0.0<a.v1.0.0\nsub sa a stable", "c/catalog.json:5:1"},
		{"sub sa x stable", "subs.yaml:1"},
	} {
		answer := verify(t, parseScenario(t, base+tt.scenario))
		var places []declcfg.Pos
		for _, f := range answer.Core {
			places = append(places, f.Places...)
		}
		if len(places) == 0 || places[0].String() != tt.want {
			t.Errorf("%s: %v, want %s", answer.Message, places, tt.want)
		}
	}
}
