package declcfg_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// catalogs returns the catalogs to measure by name: a published one in YAML and in JSON, and the one at the path
// OPM_BIG_CATALOG.
func catalogs(b *testing.B) map[string]declcfg.Source {
	b.Helper()
	all := map[string]declcfg.Source{}
	if big := os.Getenv("OPM_BIG_CATALOG"); big != "" {
		all["big"] = declcfg.Source{Name: big, FS: os.DirFS(big)}
	}
	dirs, err := filepath.Glob(published + "/*")
	if err != nil {
		b.Fatal(err)
	}
	for _, dir := range dirs[:min(1, len(dirs))] {
		yaml := declcfg.Source{Name: dir, FS: os.DirFS(dir)}
		out := filepath.Join(b.TempDir(), "json")
		objects := metas(b, yaml)
		declcfg.Sort(objects)
		if err := declcfg.WriteDir(b.Context(), out, objects, declcfg.WriteOptions{}); err != nil {
			b.Fatal(err)
		}
		all["yaml"], all["json"] = yaml, declcfg.Source{Name: out, FS: os.DirFS(out)}
	}
	if len(all) == 0 {
		b.Skipf("no catalogs in %s, and OPM_BIG_CATALOG is not set", published)
	}
	return all
}

// each runs f on every catalog. Its memory must not grow with the catalog.
func each(b *testing.B, f func(b *testing.B, s declcfg.Source)) {
	for name, s := range catalogs(b) {
		b.Run(name, func(b *testing.B) {
			shared.SetBytes(b, s.FS)
			b.ReportAllocs()
			runtime.GC()
			f(b, s)
		})
	}
}

func BenchmarkMap(b *testing.B) {
	each(b, func(b *testing.B, s declcfg.Source) {
		for b.Loop() {
			metas(b, s)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	decode := func(o *declcfg.Object) (any, error) {
		v, err := o.Decode()
		return declcfg.Slim(v), err
	}
	each(b, func(b *testing.B, s declcfg.Source) {
		for b.Loop() {
			var x declcfg.Index
			for v, err := range declcfg.Map(b.Context(), decode, s) {
				if err != nil {
					b.Fatal(err)
				}
				x.Add(&declcfg.Meta{}, v)
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, format := range []declcfg.Format{declcfg.JSON, declcfg.YAML} {
		b.Run(string(format), func(b *testing.B) {
			each(b, func(b *testing.B, s declcfg.Source) {
				all := metas(b, s)
				declcfg.Sort(all)
				for b.Loop() {
					if err := declcfg.Write(b.Context(), io.Discard, all, declcfg.WriteOptions{Format: format}); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
