package render_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// The benchmarks render the published catalogs and the catalog at the path OPM_BIG_CATALOG.

func BenchmarkJSON(b *testing.B) { benchmark(b, declcfg.JSON, render.MigrateNone) }

func BenchmarkYAML(b *testing.B) { benchmark(b, declcfg.YAML, render.MigrateNone) }

func BenchmarkMigrate(b *testing.B) { benchmark(b, declcfg.JSON, render.MigrateAll) }

func benchmark(b *testing.B, format declcfg.Format, level render.Migration) {
	dirs := []string{os.Getenv("OPM_BIG_CATALOG")}
	if dirs[0] == "" {
		dirs = publishedCatalogs(b)
	}
	for _, dir := range dirs {
		b.Run(filepath.Base(dir), func(b *testing.B) {
			shared.SetBytes(b, os.DirFS(dir))
			b.ReportAllocs()
			for b.Loop() {
				renderTo(b, io.Discard, dir, format, level)
			}
		})
	}
}

func renderTo(b *testing.B, w io.Writer, ref string, format declcfg.Format, level render.Migration) {
	b.Helper()
	c, err := render.Open(b.Context(), []string{ref}, render.Options{Changes: render.Changes{Migration: level}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	metas, err := c.Metas(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if err := declcfg.Write(b.Context(), w, metas, declcfg.WriteOptions{Format: format, Edit: c.Edit}); err != nil {
		b.Fatal(err)
	}
}
