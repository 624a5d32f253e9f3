package search_test

import (
	"errors"
	"iter"
	"os"
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/search"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// objectsOf yields the objects of a source.
func objectsOf(t testing.TB, source declcfg.Source) iter.Seq2[*declcfg.Object, error] {
	meta := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
	return func(yield func(*declcfg.Object, error) bool) {
		for m, err := range declcfg.Map(t.Context(), meta, source) {
			var o *declcfg.Object
			if err == nil {
				o, err = m.Read()
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

func indexOf(t testing.TB, source declcfg.Source) *search.Index {
	t.Helper()
	x, err := search.NewIndex(objectsOf(t, source), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// checkIndex checks that the index of a catalog finds all matches of [search.Search], or the first ones if there is a
// limit.
func checkIndex(t *testing.T, x *search.Index, text, pkg string, want []search.Match) {
	t.Helper()
	for _, limit := range []int{0, 2} {
		found, err := x.Search(t.Context(), text, pkg, limit)
		if err != nil {
			t.Fatal(err)
		}
		rest := want
		for _, p := range found {
			if p.Count > len(rest) || rest[0].Package != p.Package || rest[p.Count-1].Package != p.Package {
				t.Fatalf("%q: %d matches of package %s, want those of %.3v", text, p.Count, p.Package, rest)
			}
			some := rest[:p.Count]
			if limit > 0 {
				some = some[:min(limit, len(some))]
			}
			if got, want := rowsOf(p.Matches), rowsOf(some); got != want {
				t.Errorf("%q, limit %d: the index has\n%swant\n%s", text, limit, got, want)
			}
			rest = rest[p.Count:]
		}
		if len(rest) > 0 {
			t.Errorf("%q: the index lacks\n%s", text, rowsOf(rest))
		}
	}
}

func TestIndexOfPublishedCatalogs(t *testing.T) {
	shared.OneGoroutine(t)
	for _, dir := range shared.Catalogs(t) {
		source := declcfg.Source{Name: dir, FS: os.DirFS(dir)}
		bytes := 0
		for o, err := range objectsOf(t, source) {
			if err != nil {
				t.Fatal(err)
			}
			bytes += len(o.JSON())
		}
		x, err := search.NewIndex(objectsOf(t, source), bytes/40)
		if err != nil {
			t.Fatalf("%s, a catalog of %d bytes: %v", dir, bytes, err)
		}
		for _, text := range []string{
			"quay.io", "red hat", "v1alpha1", "cluster", "1.0", ".", "database", "rabbitmq topology", "operator for the",
			"logging tracing", "no such thing",
		} {
			want, _, err := search.Search(t.Context(), text, "", source)
			if err != nil {
				t.Fatal(err)
			}
			checkIndex(t, x, text, "", want)
		}
	}
}

func TestIndexRefuses(t *testing.T) {
	source := declcfg.Source{Name: "trees", FS: fstest.MapFS{"c.yaml": {Data: []byte(trees)}}}
	if _, err := search.NewIndex(objectsOf(t, source), 10); !errors.Is(err, search.ErrTooLarge) {
		t.Errorf("an index of at most 10 bytes: %v", err)
	}
	bad := declcfg.Source{Name: "bad", FS: fstest.MapFS{"c.yaml": {Data: []byte("{schema: olm.package, name: a}\n---\na: [")}}}
	if x, err := search.NewIndex(objectsOf(t, bad), 1<<20); err == nil {
		t.Errorf("an unreadable object: %v", x)
	}
	empty, err := search.NewIndex(objectsOf(t, declcfg.Source{FS: fstest.MapFS{}}), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := empty.Search(t.Context(), "a", "", 0); err != nil || !reflect.DeepEqual(got, []search.PackageMatches(nil)) {
		t.Errorf("an empty catalog: %v, %v", got, err)
	}
}

// BenchmarkIndex builds the index of a catalog, and searches it.
func BenchmarkIndex(b *testing.B) {
	dir := os.Getenv("OPM_BIG_CATALOG")
	if dir == "" {
		dir = shared.Path(b, "data/catalogs/v4.20")
	}
	source := declcfg.Source{Name: dir, FS: os.DirFS(dir)}
	x := indexOf(b, source)
	for _, text := range []string{"vault", "o", "no such thing"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Search(b.Context(), text, "", 5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
