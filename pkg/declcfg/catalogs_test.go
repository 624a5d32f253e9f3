package declcfg_test

import (
	"os"
	"reflect"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestPublishedCatalogs checks that all published objects can be read and decoded, bundles by the fast decoder.
func TestPublishedCatalogs(t *testing.T) {
	for _, dir := range publishedCatalogs(t) {
		count := map[string]int{}
		check := func(o *declcfg.Object) (*declcfg.Meta, error) {
			checkPublished(t, o)
			return o.Meta, nil
		}
		for m, err := range declcfg.Map(t.Context(), check, declcfg.Source{Name: dir, FS: os.DirFS(dir)}) {
			if err != nil {
				t.Error(err)
				continue
			}
			count[m.Schema]++
		}
		t.Logf("%s: %v", dir, count)
		if count[declcfg.SchemaBundle] == 0 || count[declcfg.SchemaPackage] == 0 || count[declcfg.SchemaChannel] == 0 {
			t.Errorf("%s holds only %v", dir, count)
		}
	}
}

func checkPublished(t *testing.T, o *declcfg.Object) {
	t.Helper()
	if flaws := o.Flaws(); flaws != nil {
		t.Errorf("%v: %v", o.Pos, flaws)
	}
	v, err := o.Decode()
	if err != nil {
		t.Error(err)
	}
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return
	}
	if err := o.CheckManifests(b); err != nil {
		t.Error(err)
	}
	want, err := declcfg.UnmarshalBundle(o.JSON())
	if err != nil {
		t.Errorf("%v: %v", o.Pos, err)
	}
	if fast := declcfg.BundleOf(o.JSON()); !reflect.DeepEqual(fast, want) || !reflect.DeepEqual(b, want) {
		t.Errorf("%v: the ways to decode it differ", o.Pos)
	}
}
