package diff_test

import (
	"os"
	"testing"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// BenchmarkCompare compares two published catalogs, and the catalog at the path OPM_BIG_CATALOG with itself.
func BenchmarkCompare(b *testing.B) {
	bench := func(before, after []declcfg.Source) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := diff.Compare(b.Context(), before, after); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	if big := os.Getenv("OPM_BIG_CATALOG"); big != "" {
		source := []declcfg.Source{{Name: big, FS: os.DirFS(big)}}
		b.Run("big", bench(source, source))
	}
	b.Run("published", bench(publishedCatalog(b, "v4.12"), publishedCatalog(b, "v4.20")))
}
