package resolve

import "testing"

// TestOutcomes checks the observed outcomes of OLM's resolver. Each row has the packages a and d of base in catalog c.
func TestOutcomes(t *testing.T) {
	const (
		sa   = "sub sa a stable\n"
		fell = "c/a/stable/a.v1.1.0(replaces a.v1.0.0)"
		head = "c/a/stable/a.v2.0.0(replaces a.v1.1.0)"
		only = "channel a stable* a.v1.0.0\n"
		z    = "channel z s* z.v1.0.0\nhas z.v1.0.0 gvk=K\n"
		no   = "constraints not satisfiable: "
		ofSA = "subscription sa exists, subscription sa requires "
		all  = ofSA + "at least one of c/ns/stable/a.v2.0.0, c/ns/stable/a.v1.1.0 or c/ns/stable/a.v1.0.0"
		ofX  = "requires an operator providing an API with group: g.io, version: v1, kind: X"
		two  = "a unique replacement chain within a channel is required to determine the relative order between channel " +
			"entries, but 2 replacement chains were found in channel "
		certified = `{"failureMessage": "need certified", "cel": {"rule": "properties.exists(p, p.type == 'certified' && p.value == true)"}}`
	)
	for _, tt := range []struct{ name, scenario, want string }{
		{"fresh: head", sa, head},
		{"fresh: startingCSV", "sub sa a stable starting=a.v1.0.0", "c/a/stable/a.v1.0.0"},
		{"fresh: startingCSV missing", "sub sa a stable starting=a.v9",
			no + "no operators found with name a.v9 in channel stable of package a in the catalog referenced by subscription sa, " +
				"subscription sa exists"},
		{"no such channel", "sub sa a x",
			no + "no operators found in channel x of package a in the catalog referenced by subscription sa, subscription sa exists"},
		{"no such package", "sub sa x stable",
			no + "no operators found in package x in the catalog referenced by subscription sa, subscription sa exists"},
		{"no such catalog", "sub sa a stable catalog=x",
			no + "no operators found from catalog x in namespace ns referenced by subscription sa, subscription sa exists"},
		{"sa is good, sb is not", "channel b s* b.v1.0.0\n" + sa + "sub sb b x",
			no + "no operators found in channel x of package b in the catalog referenced by subscription sb, subscription sb exists"},
		{"upgrade one hop", "installed a.v1.0.0 like\nsub sa a stable installed=a.v1.0.0", fell},
		{"installed head: stays", "installed a.v2.0.0 like\nsub sa a stable installed=a.v2.0.0", "nothing"},
		{"installed gone from catalog: stays", "installed a.v0.1.0\nsub sa a stable installed=a.v0.1.0", "nothing"},
		{"installedCSV set but CSV missing", "sub sa a stable installed=a.v1.0.0", head},
		{"empty channel: default first", "sub sd d -", "c/d/stable/d.v2.0.0(replaces d.v1.0.0)"},
		{"empty channel, only another one has the update",
			"channel d beta d.v1.0.0\nchannel d alpha d.v3.0.0\ninstalled d.v2.0.0 like\nsub sd d - installed=d.v2.0.0", "nothing"},
		{"empty catalog", "sub sa a stable catalog=", head},
		{"default channel of a provider first", sa + "has a.v2.0.0 package=d:>=1.0.0",
			head + " + c/d/stable/d.v2.0.0(replaces d.v1.0.0)"},
		{"only beta has it", sa + "has a.v2.0.0 package=d:>=3.0.0", head + " + c/d/beta/d.v3.0.0(replaces d.v1.0.0)"},
		{"an older provider", sa + "has a.v2.0.0 package=d:<2.0.0", head + " + c/d/stable/d.v1.0.0"},
		{"no provider: falls back", sa + "has a.v2.0.0 package=d:>=9.0.0", fell},
		{"nobody provides", sa + "has a.v2.0.0 requires-gvk=X\nhas a.v1.1.0 requires-gvk=X\nhas a.v1.0.0 requires-gvk=Y",
			no + "bundle a.v1.0.0 requires an operator providing an API with group: g.io, version: v1, kind: Y, " +
				"bundle a.v1.1.0 " + ofX + ", bundle a.v2.0.0 " + ofX + ", " + all},
		{"the update requires what nobody provides",
			"has a.v1.1.0 requires-gvk=X\ninstalled a.v1.0.0 like\nsub sa a stable installed=a.v1.0.0", "nothing"},
		{"so does what is installed", "has a.v1.1.0 requires-gvk=X\nhas a.v1.0.0 requires-gvk=X\n" +
			"installed a.v1.0.0 like\nsub sa a stable installed=a.v1.0.0",
			no + "bundle a.v1.0.0 " + ofX + ", bundle a.v1.1.0 " + ofX + ", " + ofSA +
				"at least one of c/ns/stable/a.v1.1.0 or @existing/ns//a.v1.0.0"},
		{"only what is installed does",
			"has a.v1.0.0 requires-gvk=X\ninstalled a.v1.0.0 like\nsub sa a stable installed=a.v1.0.0", fell},
		{"three providers", z + sa + "has a.v2.0.0 requires-gvk=K\nchannel m s* m.v1.0.0\nhas m.v1.0.0 gvk=K\n" +
			"channel b s b.v1.0.0\nhas b.v1.0.0 gvk=K", head + " + c/m/s/m.v1.0.0"},
		{"an installed provider", "channel z s* z.v2.0.0\nhas z.v2.0.0 gvk=K\nhas a.v2.0.0 requires-gvk=K\n" +
			"installed z.v0.1.0 gvk=K\n" + sa, head},
		{"the same catalog before priority", z + "has a.v2.0.0 requires-gvk=K\n" + sa +
			"catalog hi 100\nchannel b s* b.v1.0.0\nhas b.v1.0.0 gvk=K", head + " + c/z/s/z.v1.0.0"},
		{"priority, then name", sa + "has a.v2.0.0 requires-gvk=K\ncatalog lo 0\n" + z + "catalog x2 5\n" + z + "catalog x1 5\n" + z,
			head + " + x1/z/s/z.v1.0.0"},
		{"an installed operator provides the same", "has a.v1.0.0 gvk=K\nhas a.v1.1.0 gvk=K\nhas a.v2.0.0 gvk=K\n" +
			"installed z.v1.0.0 gvk=K\n" + sa,
			no + "@existing/ns//z.v1.0.0, c/ns/stable/a.v1.0.0, c/ns/stable/a.v1.1.0 and c/ns/stable/a.v2.0.0 provide K (g.io/v1), " +
				"clusterserviceversion z.v1.0.0 exists and is not referenced by a subscription, " + all},
		{"the update provides the same", "installed a.v1.0.0 like\nhas a.v1.1.0 gvk=K\ninstalled z.v1.0.0 gvk=K\n" +
			"sub sa a stable installed=a.v1.0.0", "nothing"},
		{"installed without Subscription", "installed a.v1.0.0 like\n" + sa,
			no + "@existing/ns//a.v1.0.0, c/ns/stable/a.v1.0.0, c/ns/stable/a.v1.1.0 and c/ns/stable/a.v2.0.0 originate from package a, " +
				"clusterserviceversion a.v1.0.0 exists and is not referenced by a subscription, " + all},
		{"two Subscriptions", sa + "sub sa2 a stable starting=a.v1.0.0", "c/a/stable/a.v1.0.0"},
		{"a diamond: either", sa + "channel b s* b.v1.0.0 b.v2.0.0<b.v1.0.0\nsub sb b s\n" +
			"has a.v2.0.0 package=d:>=2.0.0 <3.0.0\nhas b.v2.0.0 package=d:<2.0.0",
			head + " + c/b/s/b.v1.0.0 + c/d/stable/d.v2.0.0(replaces d.v1.0.0)"},
		{"deprecated", "has a.v2.0.0 deprecated\n" + sa, fell},
		{"deprecated startingCSV", "has a.v2.0.0 deprecated\nsub sa a stable starting=a.v2.0.0",
			no + "bundle c/ns/stable/a.v2.0.0 is deprecated, " + ofSA + "c/ns/stable/a.v2.0.0"},
		{"deprecated and installed", "has a.v2.0.0 deprecated\ninstalled a.v2.0.0 like\nsub sa a stable installed=a.v2.0.0",
			no + "bundle @existing/ns//a.v2.0.0 is deprecated, " + ofSA + "@existing/ns//a.v2.0.0"},
		{"provides an API twice", only + "has a.v1.0.0 gvk=K\nhas a.v1.0.0 gvk=K\n" + sa,
			no + "c/ns/stable/a.v1.0.0 and c/ns/stable/a.v1.0.0 provide K (g.io/v1), " + ofSA + "c/ns/stable/a.v1.0.0"},
		{"a second head", "channel a stable* a.v1.0.0 a.v1.1.0<a.v1.0.0 a.v2.0.0<a.v1.1.0 a.v5\n" + sa,
			two + `"stable" of package "a": a.v2.0.0...a.v1.0.0, a.v5`},
		{"a second head, startingCSV",
			"channel a stable* a.v1.0.0 a.v1.1.0<a.v1.0.0 a.v2.0.0<a.v1.1.0 a.v5\nsub sa a stable starting=a.v1.0.0",
			"c/a/stable/a.v1.0.0"},
		{"a second head of a provider", sa + "has a.v2.0.0 package=d:>=1.0.0\nchannel d beta d.v1.0.0 d.v3.0.0<d.v1.0.0 d.v7",
			two + `"beta" of package "d": d.v3.0.0...d.v1.0.0, d.v7`},
		{"a bad range", sa + "has a.v2.0.0 package=d:bogus", `Could not get version from string: "bogus"`},
		{"an empty constraint", sa + `has a.v2.0.0 {"failureMessage": "m"}`,
			"convert olm.constraint to resolver predicate: constraint is empty"},
		{"an unknown key", sa + `has a.v2.0.0 {"failureMessage": "m", "foo": {}}`, `parse olm.constraint: json: unknown field "foo"`},
		{"any", z + sa + `has a.v2.0.0 {"any": {"constraints": [{"package": {"packageName": "d", "versionRange": ">=9.0.0"}}, ` +
			`{"gvk": {"group": "g.io", "version": "v1", "kind": "K"}}]}}`, head + " + c/z/s/z.v1.0.0"},
		{"all, not", sa + `has a.v2.0.0 {"all": {"constraints": [{"package": {"packageName": "d", "versionRange": ">=1.0.0"}}, ` +
			`{"not": {"constraints": [{"package": {"packageName": "d", "versionRange": "<3.0.0"}}]}}]}}`,
			head + " + c/d/beta/d.v3.0.0(replaces d.v1.0.0)"},
		{"all of different bundles", z + only + sa +
			`has a.v1.0.0 {"all": {"constraints": [{"package": {"packageName": "d", "versionRange": ">=1.0.0"}}, ` +
			`{"gvk": {"group": "g.io", "version": "v1", "kind": "K"}}]}}`,
			no + "bundle a.v1.0.0 requires an operator with package: d and with version in range: >=1.0.0 and " +
				"providing an API with group: g.io, version: v1, kind: K, " + ofSA + "c/ns/stable/a.v1.0.0"},
		{"cel", only + sa + "has d.v1.0.0 certified=true\nhas a.v1.0.0 " + certified, "c/a/stable/a.v1.0.0 + c/d/stable/d.v1.0.0"},
		{"cel that nobody meets", only + sa + "has a.v1.0.0 " + certified,
			no + `bundle a.v1.0.0 requires an operator with constraint: "properties.exists(p, p.type == 'certified' && ` +
				`p.value == true)" and message: "need certified", ` + ofSA + "c/ns/stable/a.v1.0.0"},
		{"label", only + sa + "has d.v1.0.0 label=x\nhas a.v1.0.0 requires-label=x", "c/a/stable/a.v1.0.0 + c/d/stable/d.v1.0.0"},
		{"requires what it provides", only + sa + "has a.v1.0.0 gvk=K\nhas a.v1.0.0 requires-gvk=K", "c/a/stable/a.v1.0.0"},
		{"requires its own package", sa + "has a.v2.0.0 package=a:<2.0.0", fell},
		{"requires what requires", only + sa + "channel b s* b.v1.0.0 b.v2.0.0<b.v1.0.0\nchannel z s* z.v1.0.0\n" +
			"has a.v1.0.0 package=b:>=1.0.0\nhas b.v2.0.0 package=z:>=1.0.0",
			"c/a/stable/a.v1.0.0 + c/b/s/b.v2.0.0(replaces b.v1.0.0) + c/z/s/z.v1.0.0"},
		{"an installed provider is updated by its Subscription", sa + "has a.v2.0.0 package=d:>=1.0.0\n" +
			"installed d.v1.0.0 like\nsub sd d stable installed=d.v1.0.0", head + " + c/d/stable/d.v2.0.0(replaces d.v1.0.0)"},
		{"a provider in a channel that is not subscribed", only + sa + "has a.v1.0.0 package=d:>=3.0.0\n" +
			"installed d.v1.0.0 like\nsub sd d stable installed=d.v1.0.0",
			no + "@existing/ns//d.v1.0.0, c/ns/beta/d.v3.0.0 and c/ns/stable/d.v2.0.0 originate from package d, " +
				"bundle a.v1.0.0 requires an operator with package: d and with version in range: >=3.0.0, " +
				ofSA + "c/ns/stable/a.v1.0.0, subscription sd exists, " +
				"subscription sd requires at least one of c/ns/stable/d.v2.0.0 or @existing/ns//d.v1.0.0"},
		{"an installed operator blocks an update", only + "has a.v1.0.0 package=d:<2.0.0\ninstalled a.v1.0.0 like\n" +
			"sub sa a stable installed=a.v1.0.0\ninstalled d.v1.0.0 like\nsub sd d stable installed=d.v1.0.0", "nothing"},
		{"chosen again", "range a.v2.0.0 >=1.0.0 <=2.0.0\ninstalled a.v2.0.0 like\nsub sa a stable installed=a.v2.0.0",
			"c/a/stable/a.v2.0.0(replaces a.v2.0.0)"},
		{"installed without properties", "installed a.v1.0.0 bare\nsub sa a stable installed=a.v1.0.0", fell},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := outcome(verify(t, parseScenario(t, base+tt.scenario))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
