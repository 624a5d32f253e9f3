package impact_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/olm/impact"
	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// The catalog before has kiln.v1.0.0, v1.1.0 and v1.2.0; kiln.v1.3.0 is new in the catalog after. The channel fast has
// two heads, which OLM Classic refuses.
const channels = `---
schema: olm.package
name: kiln
defaultChannel: stable
---
schema: olm.channel
package: kiln
name: stable
entries:
- {name: kiln.v1.0.0}
- {name: kiln.v1.1.0, replaces: kiln.v1.0.0}
- {name: kiln.v1.2.0, replaces: kiln.v1.1.0}
`

const channelsAfter = `- {name: kiln.v1.3.0, replaces: kiln.v1.2.0}
---
schema: olm.channel
package: kiln
name: fast
entries:
- {name: kiln.v1.0.0}
- {name: kiln.v1.3.0, replaces: kiln.v1.0.0, skips: [kiln.v1.1.0]}
- {name: kiln.v1.2.0}
`

// csv returns a ClusterServiceVersion with permissions in the watched namespaces and in the cluster.
func csv(version, namespaces, cluster string) string {
	permissions := func(rules string) string {
		return `[{"serviceAccountName": "kiln", "rules": [` + rules + `]}]`
	}
	return fmt.Sprintf(`{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
"metadata": {"name": "kiln.v%s"}, "spec": {"version": %q, "install": {"strategy": "deployment", "spec": {
"deployments": [{"name": "kiln", "spec": {"selector": {"matchLabels": {"app": "kiln"}},
"template": {"metadata": {"labels": {"app": "kiln"}}, "spec": {"serviceAccountName": "kiln",
"containers": [{"name": "kiln", "image": "local.test/kiln"}]}}}}],
"permissions": %s, "clusterPermissions": %s}}}}`, version, version, permissions(namespaces), permissions(cluster))
}

func rule(verbs, resources string) string {
	return fmt.Sprintf(`{"apiGroups": [""], "verbs": [%s], "resources": [%s]}`, verbs, resources)
}

// definition returns a CustomResourceDefinition whose spec has a field.
func definition(field string) string {
	return fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "kilns.pottery.example"}, "spec": {"group": "pottery.example", "scope": "Namespaced",
"names": {"kind": "Kiln", "plural": "kilns", "singular": "kiln", "listKind": "KilnList"},
"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
"properties": {"spec": {"type": "object", "properties": {%q: {"type": "string"}}}}}}}]}}`, field)
}

func bundle(version, properties string, manifests ...string) string {
	text := fmt.Sprintf(`---
schema: olm.bundle
package: kiln
name: kiln.v%[1]s
image: registry.example/kiln-bundle:v%[1]s
relatedImages:
- {name: kiln, image: "registry.example/kiln:v%[1]s"}
- {name: clay, image: "registry.example/clay:v1"}
properties:
- {type: olm.package, value: {packageName: kiln, version: %[1]s}}
%[2]s`, version, properties)
	for _, m := range manifests {
		text += fmt.Sprintf("- {type: olm.bundle.object, value: {data: %s}}\n", base64.StdEncoding.EncodeToString([]byte(m)))
	}
	return text
}

func source(name string, texts ...string) []declcfg.Source {
	fsys := fstest.MapFS{"kiln.yaml": {Data: []byte(strings.Join(texts, ""))}}
	return []declcfg.Source{{Name: name, FS: fsys}}
}

var (
	list   = rule(`"get", "list"`, `"pods"`)
	before = []string{
		bundle("1.0.0", "", csv("1.0.0", list, list), definition("cone")),
		bundle("1.1.0", "", csv("1.1.0", list, list), definition("cone")),
		bundle("1.2.0", "- {type: olm.package.required, value: {packageName: old, versionRange: '>=1.0.0'}}\n",
			csv("1.2.0", rule(`"get"`, `"secrets"`), list), definition("cone")),
	}
	after = bundle("1.3.0", `- {type: olm.package.required, value: {packageName: old, versionRange: '>=1.0.0'}}
- {type: olm.package.required, value: {packageName: wood, versionRange: '>=1.0.0'}}
- {type: olm.package.required, value: {packageName: kiln, versionRange: '>=1.0.0'}}
`, csv("1.3.0", list, strings.Join([]string{
		list, rule(`"get"`, `"secrets"`), rule(`"delete"`, `"pods"`), rule(`"*"`, `"nodes"`),
	}, ",")), definition("temperature"))
)

func compare(t *testing.T, opts impact.Options) *impact.Report {
	t.Helper()
	report, err := impact.Compare(t.Context(), source("old", append([]string{channels}, before...)...),
		source("new", append([]string{channels, channelsAfter, after}, before...)...), opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestGolden compares the report about kiln.v1.3.0 with golden files.
func TestGolden(t *testing.T) {
	report := compare(t, impact.Options{Size: func(_ context.Context, ref string) (int64, error) {
		if strings.Contains(ref, "bundle") {
			return 0, fmt.Errorf("open %s: %w", ref, errors.New("unauthorized"))
		}
		return 12_345_678, nil
	}})
	var text, markdown strings.Builder
	if err := errors.Join(report.Report().Text(&text), report.Report().Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/kiln.txt", text.String())
	golden.Compare(t, "testdata/kiln.md", markdown.String())
}

// TestPermissions checks that a permission that the head has, even in another scope, is not new unless it escalates.
func TestPermissions(t *testing.T) {
	var got []string
	for _, p := range compare(t, impact.Options{}).Bundles[0].Permissions.New {
		got = append(got, fmt.Sprintln(p.Scope, p.Rule.Verbs, p.Rule.Resources, p.Escalates))
	}
	want := []string{
		"cluster [get] [secrets] true\n",  // before, only in the watched namespaces
		"cluster [delete] [pods] false\n", // the head has none
		"cluster [*] [nodes] true\n",      // a wildcard
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNothingNew checks that equal catalogs have no impact, and that a package must exist.
func TestNothingNew(t *testing.T) {
	same := source("c", append([]string{channels}, before...)...)
	report, err := impact.Compare(t.Context(), same, same, impact.Options{})
	if err != nil || report.Bundles == nil || len(report.Bundles) > 0 {
		t.Errorf("got %+v, %v", report, err)
	}
	if _, err := impact.Compare(t.Context(), same, same, impact.Options{Package: "kil"}); !errors.Is(err, declcfg.ErrNotFound) {
		t.Errorf("an unknown package: error %v", err)
	}
}

// TestRemovedBundles checks that users of bundles that only the catalog before has count: they may be left behind, or
// updated by a skipRange.
func TestRemovedBundles(t *testing.T) {
	for entry, want := range map[string]string{
		"{name: kiln.v1.3.0}": "from [] not [{kiln.v1.0.0 kiln.v1.0.0 } {kiln.v1.1.0 kiln.v1.1.0 } {kiln.v1.2.0 kiln.v1.2.0 }]",
		"{name: kiln.v1.3.0, replaces: kiln.v1.2.0, skipRange: <1.1.0}": "from [kiln.v1.0.0 kiln.v1.2.0] " +
			"not [{kiln.v1.1.0 kiln.v1.1.0 }]",
	} {
		channel := "schema: olm.channel\npackage: kiln\nname: stable\nentries: [" + entry + "]\n"
		report, err := impact.Compare(t.Context(), source("old", append([]string{channels}, before...)...),
			source("new", channel, after), impact.Options{})
		if err != nil || len(report.Bundles) != 1 {
			t.Fatalf("got %+v, %v", report, err)
		}
		u := report.Bundles[0].Updates[0] // by OLM Classic
		if got := fmt.Sprint("from ", u.From, " not ", u.Not); got != want {
			t.Errorf("%s: got %s, want %s", entry, got, want)
		}
	}
}

// TestAsDiff checks that impact and diff agree about the users of a bundle that only the catalog before has, or names:
// OLM Classic reports an error if it is deprecated and nothing updates it, and skipRanges apply to its version.
func TestAsDiff(t *testing.T) {
	const deprecated = "- {type: olm.deprecated, value: {}}\n"
	channel := func(entries ...string) string {
		return "---\nschema: olm.package\nname: kiln\ndefaultChannel: stable\n---\n" +
			"schema: olm.channel\npackage: kiln\nname: stable\nentries:\n- {" + strings.Join(entries, "}\n- {") + "}\n"
	}
	const v2, refused = "name: kiln.v1.2.0, replaces: kiln.v1.1.0", "bundle kiln.v1.1.0 is deprecated"
	for _, tt := range []struct {
		name          string
		before, after []declcfg.Source
		want          string // error about kiln.v1.1.0
		stranded      bool
	}{
		{
			"deprecated", source("old", channel("name: kiln.v1.1.0", v2), bundle("1.1.0", deprecated), bundle("1.2.0", "")),
			source("new", channel("name: kiln.v1.3.0, replaces: kiln.v1.2.0"), bundle("1.3.0", "")), refused, true,
		},
		{
			"not deprecated", source("old", channel("name: kiln.v1.1.0", v2), bundle("1.1.0", ""), bundle("1.2.0", "")),
			source("new", channel("name: kiln.v1.3.0, replaces: kiln.v1.2.0"), bundle("1.3.0", "")), "", true,
		},
		{
			"deprecated and updated", source("old", channel("name: kiln.v1.1.0", v2), bundle("1.1.0", deprecated), bundle("1.2.0", "")),
			source("new", channel("name: kiln.v1.3.0, skips: [kiln.v1.1.0]"), bundle("1.3.0", "")), "", false,
		},
		{
			"pruned", source("old", channel(v2), bundle("1.2.0", "")),
			source("new", channel("name: kiln.v1.3.0, skipRange: <1.2.0"), bundle("1.3.0", "")), "", false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changes, err := diff.Compare(t.Context(), tt.before, tt.after)
			if err != nil {
				t.Fatal(err)
			}
			report, err := impact.Compare(t.Context(), tt.before, tt.after, impact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			byDiff, byImpact := "updated", "updated"
			for _, s := range changes.Packages[0].Stranded {
				installed := slices.Concat(s.Installed, s.Pruned)
				if s.Semantics[0] == graph.Classic && slices.Contains(installed, "kiln.v1.1.0") {
					byDiff = "stranded: " + s.Error
				}
			}
			for _, stay := range report.Bundles[0].Updates[0].Not { // by OLM Classic
				if stay.Bundle == "kiln.v1.1.0" {
					byImpact = "stranded: " + stay.Error
				}
			}
			if byDiff != byImpact || (byDiff != "updated") != tt.stranded || !strings.Contains(byDiff, tt.want) {
				t.Errorf("diff: %s\nimpact: %s\nwant %q", byDiff, byImpact, tt.want)
			}
		})
	}
}
