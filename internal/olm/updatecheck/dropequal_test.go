package updatecheck

import (
	"cmp"
	"os"
	"reflect"
	"slices"
	"testing"

	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/crdify/pkg/validators/version"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// TestDropEqual checks that crdify returns the same results for whole definitions and for the result of dropEqual.
func TestDropEqual(t *testing.T) {
	shared.OneGoroutine(t)
	source := declcfg.Source{FS: os.DirFS(shared.Path(t, "data/catalogs/v4.12"))}
	bundles, err := Read(t.Context(), image.SpoolOptions{}, source)
	if err != nil {
		t.Fatal(err)
	}
	defer bundles.Close()
	updates, err := bundles.updates("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := bundles.finish(); err != nil {
		t.Fatal(err)
	}
	results, dropped := 0, 0
	definitions := slices.DeleteFunc(pairsOf(updates, false), func(p pair) bool {
		return p.kind != declcfg.KindCRD || p.before == none
	})
	for i, p := range definitions {
		if i%shared.Step(8, 64) != 0 { // whole definitions take long
			continue
		}
		before, errBefore := bundles.memo.read(p.before)
		after, errAfter := bundles.memo.read(p.after)
		if errBefore != nil || errAfter != nil {
			t.Fatal(errBefore, errAfter)
		}
		before, after = normalized(before), normalized(after)
		b, a := dropEqual(before, after)
		want, got := sorted(v1Check().same.Validate(before, after)), sorted(v1Check().same.Validate(b, a))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", p.name, got, want)
		}
		for _, v := range want {
			results += len(v.PropertyComparisons)
		}
		if b.Spec.Versions[0].Schema.Size() < before.Spec.Versions[0].Schema.Size() {
			dropped++
		}
	}
	if results == 0 || dropped == 0 {
		t.Errorf("%d results; of %d pairs fields are dropped", results, dropped)
	}
}

// sorted sorts results that crdify returns in map order.
func sorted(all []version.VersionedPropertyComparisonResult) []version.VersionedPropertyComparisonResult {
	for _, v := range all {
		slices.SortFunc(v.PropertyComparisons, func(a, b validations.PropertyComparisonResult) int {
			return cmp.Compare(a.Property, b.Property)
		})
		for _, p := range v.PropertyComparisons {
			for _, r := range p.ComparisonResults {
				slices.Sort(r.Errors)
			}
		}
	}
	return all
}
