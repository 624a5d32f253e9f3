package declcfg_test

import (
	"os"
	"reflect"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Everything that is published can be read and decoded, and bundles in the fast way.
func TestPublishedCatalogs(t *testing.T) {
	for _, dir := range publishedCatalogs(t) {
		count := map[string]int{}
		for m, err := range declcfg.Metas(t.Context(), declcfg.Source{Name: dir, FS: os.DirFS(dir)}) {
			if err != nil {
				t.Error(err)
				continue
			}
			count[m.Schema]++
			checkPublished(t, m)
		}
		t.Logf("%s: %v", dir, count)
		if count[declcfg.SchemaBundle] == 0 || count[declcfg.SchemaPackage] == 0 || count[declcfg.SchemaChannel] == 0 {
			t.Errorf("%s holds only %v", dir, count)
		}
	}
}

func checkPublished(t *testing.T, m *declcfg.Meta) {
	t.Helper()
	if flaws := m.Flaws(); flaws != nil {
		t.Errorf("%v: %v", m.Pos, flaws)
	}
	v, err := m.Decode()
	if err != nil {
		t.Error(err)
	}
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return
	}
	if err := m.CheckManifests(b); err != nil {
		t.Error(err)
	}
	want, err := declcfg.UnmarshalBundle(rawOf(t, m))
	if err != nil {
		t.Errorf("%v: %v", m.Pos, err)
	}
	if fast := declcfg.BundleOf(rawOf(t, m)); !reflect.DeepEqual(fast, want) || !reflect.DeepEqual(b, want) {
		t.Errorf("%v: the ways to decode it differ", m.Pos)
	}
}
