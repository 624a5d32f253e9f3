package validate_test

import (
	"encoding/base64"
	"testing"

	"github.com/opm-toolchain/opm/pkg/validate"
)

// TestHeadMetadata checks which properties of a head are metadata, and that other bundles need none.
func TestHeadMetadata(t *testing.T) {
	object := func(manifest string) string {
		return "- {type: olm.bundle.object, value: {data: " + base64.StdEncoding.EncodeToString([]byte(manifest)) + "}}\n"
	}
	const catalog = `schema: olm.package
name: oak
defaultChannel: stable
---
schema: olm.channel
package: oak
name: stable
entries: [{name: oak.v1}, {name: oak.v2, replaces: oak.v1}]
---
schema: olm.bundle
package: oak
name: oak.v1
image: q.io/oak:v1
properties:
- {type: olm.package, value: {packageName: oak, version: 1.0.0}}
---
schema: olm.bundle
package: oak
name: oak.v2
image: q.io/oak:v2
properties:
- {type: olm.package, value: {packageName: oak, version: 2.0.0}}
`
	found := "catalog.yaml:8:34 head-metadata"
	for _, tt := range []struct {
		name, properties string
		want             []string
	}{
		{"none", "", []string{found}},
		{"olm.csv.metadata", "- {type: olm.csv.metadata, value: {}}\n", nil},
		{"a ClusterServiceVersion", object(`{"kind": "Service"}`) + object(`{"kind": "ClusterServiceVersion"}`), nil},
		{"other manifests", object(`{"kind": "Service"}`), []string{found}},
		{"a manifest that is not base64", "- {type: olm.bundle.object, value: {data: '*'}}\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			problems := check(t, validate.Options{}, map[string]string{"catalog.yaml": catalog + tt.properties})
			expect(t, only(problems, "head-metadata"), tt.want...)
		})
	}
}
