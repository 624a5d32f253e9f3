package resolve

import (
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestReadCatalog checks that a catalog keeps the properties of its bundles in order, without manifests.
func TestReadCatalog(t *testing.T) {
	const text = `{"schema": "olm.bundle", "package": "p", "name": "p.v1", "properties": [
		{"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}},
		{"type": "olm.csv.metadata", "value": {}},
		{"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K"}}
	]}`
	c, err := ReadCatalog(t.Context(), declcfg.Source{
		Name: "catalog", FS: fstest.MapFS{"catalog.json": {Data: []byte(text)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := c.Properties(c.Index.Package("p").Bundles[0].Meta)
	if len(got) != 2 || got[0].Type != declcfg.PropertyPackage || got[1].Type != declcfg.PropertyGVK || got[1].Index != 2 {
		t.Errorf("properties = %v", got)
	}
}
