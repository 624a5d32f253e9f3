package draw

import (
	"fmt"
	"io"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// BenchmarkWrite draws large channels, including building the graph of their package. All two million links of a matrix
// of skips are drawn; ranges with too many bundles are drawn as one link each.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []struct {
		name    string
		entries []declcfg.Entry
	}{
		{"ranges of 500", graphtest.Chain(500)}, {"chain of 100000", graphtest.Replacing(100_000)}, {"ranges of 100000", graphtest.Chain(100_000)},
		{"skips of 2000", graphtest.Matrix(2000)},
	} {
		x := graphtest.OneChannel(size.entries)
		for _, format := range []struct {
			name string
			draw Func
		}{{"mermaid", Mermaid}, {"dot", DOT}, {"json", JSON}} {
			b.Run(fmt.Sprintf("%s/%s", size.name, format.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := format.draw(io.Discard, []*graph.Package{graph.NewPackage(x)}, Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkWriteUpstreamMermaid draws large channels like upstream, with all links.
func BenchmarkWriteUpstreamMermaid(b *testing.B) {
	for _, size := range []struct {
		name    string
		entries []declcfg.Entry
	}{
		{"chain of 100000", graphtest.Replacing(100_000)}, {"ranges of 2000", graphtest.Chain(2000)}, {"skips of 2000", graphtest.Matrix(2000)},
	} {
		b.Run(size.name, func(b *testing.B) {
			x := &declcfg.Index{}
			x.Add(&declcfg.Meta{Schema: declcfg.SchemaChannel, Package: "p"}, &declcfg.Channel{Name: "c", Entries: size.entries})
			for _, o := range graphtest.OneChannel(size.entries).Bundles {
				x.Add(&declcfg.Meta{Schema: declcfg.SchemaBundle, Package: "p"}, o.Value)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := UpstreamMermaid(io.Discard, x, UpstreamOptions{V0: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
