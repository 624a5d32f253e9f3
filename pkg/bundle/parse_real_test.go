package bundle

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// realBundles returns the directories of bundles as maintainers commit them.
func realBundles(t testing.TB) []string {
	return shared.Sample(shared.Glob(t, "data/operators/*/*"), 15)
}

func TestRealBundles(t *testing.T) {
	for _, dir := range realBundles(t) {
		opts := Options{Warn: func(err *declcfg.Error) { t.Log(err) }}
		b, err := Parse(os.DirFS(dir), dir, opts)
		if err != nil {
			t.Error(err)
			continue
		}
		if b.Name == "" || b.Package == "" || len(b.Properties) < 2 {
			t.Errorf("%s: got %s of %s, %d properties", dir, b.Name, b.Package, len(b.Properties))
		}
	}
}

func BenchmarkParse(b *testing.B) {
	dirs := realBundles(b)
	var size int64
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				info, _ := d.Info()
				size += info.Size()
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, dir := range dirs {
			if _, err := Parse(os.DirFS(dir), dir, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
