package resolve

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const deprecatedCatalog = `
schema: olm.package
name: p
defaultChannel: c
---
{schema: olm.channel, package: p, name: c, entries: [{name: p.v2, replaces: p.v1}, {name: p.v1}]}
---
{schema: olm.channel, package: p, name: d, entries: [{name: p.v1}]}
---
schema: olm.bundle
package: p
name: p.v1
image: registry.example/p@v1
properties: [{type: olm.package, value: {packageName: p, version: 1.0.0}}]
---
schema: olm.bundle
package: p
name: p.v2
image: registry.example/p@v2
properties: [{type: olm.package, value: {packageName: p, version: 2.0.0}}]
---
schema: olm.deprecations
package: p
entries:
- {reference: {schema: olm.bundle, name: p.v1}, message: bundle 1 is old}
- {reference: {schema: olm.channel, name: c}, message: c ends}
- {reference: {schema: olm.channel, name: d}, message: d ends}
- {reference: {schema: olm.package}, message: p ends}
- {reference: {schema: olm.package}, message: ""}
---
schema: olm.deprecations
package: p
entries:
- {reference: {schema: olm.package}, message: of the second object}
`

// TestV1Conditions checks the conditions of a ClusterExtension.
func TestV1Conditions(t *testing.T) {
	c, err := ReadCatalog(t.Context(), declcfg.Source{
		Name: "x", FS: fstest.MapFS{"catalog.yaml": {Data: []byte(deprecatedCatalog)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Name = "x"
	const (
		unknown    = "Unknown/DeprecationStatusUnknown deprecation status unknown: catalog data unavailable"
		done       = "Progressing True/Succeeded Desired state reached"
		allUnknown = "Deprecated " + unknown + "\nPackageDeprecated " + unknown + "\nChannelDeprecated " + unknown +
			"\nBundleDeprecated " + unknown
		upgrading = `error upgrading from currently installed version "1.0.0": no bundles found for package "p"`
	)
	installed := &InstalledBundle{Name: "p.v1", Version: "1.0.0", Image: "registry.example/p@v1"}
	for _, tt := range []struct {
		name     string
		e        V1Request
		catalogs []*Catalog
		outcome  Outcome
		want     string
	}{
		{
			"a new bundle", V1Request{Channels: []string{"c"}}, []*Catalog{c}, Resolved,
			"Installed True/Succeeded Installed bundle registry.example/p@v2 successfully\n" + done + `
Deprecated True/Deprecated p ends
c ends
PackageDeprecated True/Deprecated p ends
ChannelDeprecated True/Deprecated c ends
BundleDeprecated False/NotDeprecated bundle not deprecated`,
		}, {
			"all channels", V1Request{Version: "1.0.0"}, []*Catalog{c}, Resolved,
			"Installed True/Succeeded Installed bundle registry.example/p@v1 successfully\n" + done + `
Deprecated True/Deprecated p ends
c ends
d ends
bundle 1 is old
PackageDeprecated True/Deprecated p ends
ChannelDeprecated True/Deprecated c ends
d ends
BundleDeprecated True/Deprecated bundle 1 is old`,
		}, {
			"nothing is deprecated", V1Request{}, []*Catalog{catalogOf(t, "y", "channel c ; v1.0.0")}, Resolved,
			"Installed True/Succeeded Installed bundle registry.example/v1.0.0 successfully\n" + done + `
Deprecated False/NotDeprecated not deprecated
PackageDeprecated False/NotDeprecated package not deprecated
ChannelDeprecated False/NotDeprecated channel not deprecated
BundleDeprecated False/NotDeprecated bundle not deprecated`,
		}, {
			"an error, nothing installed", V1Request{Version: "7.x"}, []*Catalog{c}, Failed,
			`Installed False/Failed No bundle installed
Progressing True/Retrying no bundles found for package "p" matching version "7.x"
` + strings.Replace(allUnknown, "BundleDeprecated "+unknown, "BundleDeprecated Unknown/Absent no bundle installed yet", 1),
		}, {
			"an error, something installed", V1Request{Version: "7.x", Installed: installed}, []*Catalog{c}, Failed,
			"Installed True/Succeeded Installed bundle registry.example/p@v1 successfully\n" +
				"Progressing True/Retrying " + upgrading + ` matching version "7.x"` + "\n" + allUnknown,
		}, {
			"a catalog matches", V1Request{Installed: installed}, []*Catalog{{Name: "y", Index: &declcfg.Index{}}}, Failed,
			"Installed True/Succeeded Installed bundle registry.example/p@v1 successfully\n" +
				"Progressing True/Retrying " + upgrading + "\n" + allUnknown,
		}, {
			"a catalog matches and is unavailable", V1Request{Installed: installed}, []*Catalog{{Name: "y", Unavailable: true}}, Failed,
			"Installed True/Succeeded Installed bundle registry.example/p@v1 successfully\n" +
				"Progressing True/Retrying " + upgrading + "\n" + allUnknown,
		}, {
			"no catalog matches any more", V1Request{Installed: installed}, nil, Kept,
			"Installed True/Succeeded Installed bundle registry.example/p@v1 successfully\n" + done + "\n" + allUnknown,
		}, {
			"nor for the installed version", V1Request{Installed: installed, Version: "1.0.0"}, nil, Kept,
			"Installed True/Succeeded Installed bundle registry.example/p@v1 successfully\n" + done + "\n" + allUnknown,
		}, {
			"a range is another version", V1Request{Installed: installed, Version: "1.0"}, nil, Failed,
			"Installed True/Succeeded Installed bundle registry.example/p@v1 successfully\n" +
				"Progressing True/Retrying " + upgrading + ` matching version "1.0"` + "\n" + allUnknown,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.e.Package = "p"
			a := tt.e.Resolve(tt.catalogs)
			var lines []string
			for _, c := range a.Conditions {
				lines = append(lines, fmt.Sprintf("%s %s/%s %s", c.Type, c.Status, c.Reason, c.Message))
			}
			if got := strings.Join(lines, "\n"); got != tt.want || a.Outcome != tt.outcome {
				t.Errorf("%s, want %s; got\n%s\nwant\n%s", a.Outcome, tt.outcome, got, tt.want)
			}
		})
	}
}
