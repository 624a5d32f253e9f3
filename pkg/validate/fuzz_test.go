package validate_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/memo"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// FuzzCatalog checks that any input gets a report, that the report is the same on each run, that every problem has a
// rule and a position in a file, and that the errors do not depend on ErrorsOnly.
func FuzzCatalog(f *testing.F) {
	f.Add([]byte(validate.Rules().Example), []byte("{}"))
	f.Add([]byte("schema: olm.deprecations\nentries: [{reference: {}}, 1]\n"),
		[]byte("schema: olm.bundle\nproperties: [{}]\n"))
	for _, r := range validate.Rules().All() {
		f.Add([]byte(r.Example().Bad), []byte(r.Example().Good))
	}
	for _, name := range slices.Sorted(maps.Keys(valid)) {
		f.Add([]byte(valid[name]), []byte(valid[jsonFile]))
	}
	f.Fuzz(func(t *testing.T, one, other []byte) {
		files := map[string]string{"one.yaml": string(one), "two/other.json": string(other)}
		problems := check(t, validate.Options{}, files)
		if again := check(t, validate.Options{}, files); listing(again) != listing(problems) {
			t.Errorf("got\n%sand then\n%s", listing(problems), listing(again))
		}
		var failures []string
		for _, p := range problems {
			if err := validate.Rules().CheckNames([]string{p.Rule}); err != nil || p.Message == "" {
				t.Errorf("%+v: %v", p, err)
			}
			isPlaced := p.Pos.Line > 0 && p.Pos.Column > 0 && (p.Pos.File == "c/one.yaml" || p.Pos.File == "c/two/other.json")
			if !isPlaced && p.Rule != validate.NoObjects {
				t.Errorf("%s has no place", p)
			}
			if p.Severity == problem.Error {
				failures = append(failures, brief(p))
			}
		}
		expect(t, check(t, validate.Options{ErrorsOnly: true}, files), failures...)
	})
}

// BenchmarkCatalog validates the largest published catalog.
func BenchmarkCatalog(b *testing.B) {
	dir := shared.Path(b, "data/catalogs/v4.20")
	shared.SetBytes(b, os.DirFS(dir))
	b.ReportAllocs()
	for b.Loop() {
		_, err := validate.Catalog(b.Context(), validate.Options{}, declcfg.Source{Name: dir, FS: os.DirFS(dir)})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemo validates four copies of the largest published catalog, which share what is read of their files.
func BenchmarkMemo(b *testing.B) {
	dir := shared.Path(b, "data/catalogs/v4.20")
	b.ReportAllocs()
	for b.Loop() {
		ctx := new(memo.Memo).With(b.Context())
		for range 4 {
			source := declcfg.Source{Name: dir, FS: os.DirFS(dir)}
			if _, err := validate.Catalog(ctx, validate.Options{}, source); err != nil {
				b.Fatal(err)
			}
		}
	}
}
