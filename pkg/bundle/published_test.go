package bundle

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestAsPublished parses the directories of published bundles, and compares the results with the bundles that opm
// rendered for a catalog.
func TestAsPublished(t *testing.T) {
	for _, platform := range []string{"v4.12", "v4.20"} {
		published := publishedBundles(t, platform)
		var compared int
		for _, dir := range realBundles(t) {
			b, err := Parse(os.DirFS(dir), dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want, ok := published[b.Name]
			if !ok {
				continue
			}
			if b, err = Parse(os.DirFS(dir), dir, Options{Image: want.Image}); err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(want.Properties, isCSVMetadata) {
				if err := ToMetadata(b); err != nil {
					t.Fatal(err)
				}
			}
			compared++
			compareBundles(t, dir, b, want)
		}
		if compared == 0 {
			t.Errorf("no bundle is in %s", platform)
		}
	}
}

func compareBundles(t *testing.T, dir string, got, want *declcfg.Bundle) {
	t.Helper()
	for _, b := range []*declcfg.Bundle{got, want} {
		for i := range b.Properties {
			b.Properties[i].Value = format.AppendCompact(nil, b.Properties[i].Value)
			b.Properties[i].Ordered = false
		}
		slices.SortStableFunc(b.Properties, func(p, q declcfg.Property) int {
			return bytes.Compare([]byte(p.Type+string(p.Value)), []byte(q.Type+string(q.Value)))
		})
	}
	a, b := declcfg.YAML.Append(nil, got), declcfg.YAML.Append(nil, want)
	if !bytes.Equal(a, b) {
		t.Errorf("%s: got\n%s\nwant\n%s", dir, a, b)
	}
}
