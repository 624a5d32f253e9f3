package graph

import (
	"fmt"
	"io"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// BenchmarkWrite draws large channels, from the objects of their package on. The whole of a matrix of skips is drawn,
// two million links; ranges that hold too much are not.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []struct {
		name    string
		entries []declcfg.Entry
	}{
		{"ranges of 500", chain(500)}, {"chain of 100000", replacing(100_000)}, {"ranges of 100000", chain(100_000)},
		{"skips of 2000", matrix(2000)},
	} {
		x := indexOf(size.entries)
		for _, format := range []struct {
			name string
			draw DrawFunc
		}{{"mermaid", WriteMermaid}, {"dot", WriteDOT}, {"json", WriteJSON}} {
			b.Run(fmt.Sprintf("%s/%s", size.name, format.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := format.draw(io.Discard, []*Package{NewPackage(x)}, DrawOptions{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkWriteUpstreamMermaid draws large channels as upstream does, which leaves out nothing.
func BenchmarkWriteUpstreamMermaid(b *testing.B) {
	for _, size := range []struct {
		name    string
		entries []declcfg.Entry
	}{
		{"chain of 100000", replacing(100_000)}, {"ranges of 2000", chain(2000)}, {"skips of 2000", matrix(2000)},
	} {
		b.Run(size.name, func(b *testing.B) {
			x := &declcfg.Index{}
			x.Add(&declcfg.Meta{Schema: declcfg.SchemaChannel, Package: "p"}, &declcfg.Channel{Name: "c", Entries: size.entries})
			for _, o := range indexOf(size.entries).Bundles {
				x.Add(&declcfg.Meta{Schema: declcfg.SchemaBundle, Package: "p"}, o.Value)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := WriteUpstreamMermaid(io.Discard, x, UpstreamOptions{V0: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
