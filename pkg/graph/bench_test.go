package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func BenchmarkOutlooks(b *testing.B) {
	for name, entries := range map[string][]declcfg.Entry{
		"chain of 100000": graphtest.Replacing(100_000), "ranges of 100000": graphtest.Chain(100_000), "skips of 2000": graphtest.Matrix(2000),
	} {
		b.Run(name, func(b *testing.B) {
			x := graphtest.OneChannel(entries)
			b.ReportAllocs()
			for b.Loop() {
				p := NewPackage(x)
				outlooks, err := p.Outlooks(p.Channels[0], V1Options{}, false)
				all := slices.Collect(outlooks)
				if err != nil || len(all) != len(entries) {
					b.Fatal(len(all), err)
				}
			}
		})
	}
}

// TestLargeChannels checks the outlooks in large channels, which have the same shape as in small ones.
func TestLargeChannels(t *testing.T) {
	for name, tt := range map[string]struct {
		entries []declcfg.Entry
		hops    int // updates of the oldest bundle
	}{
		"chain":  {graphtest.Replacing(10_000), 9_999},
		"ranges": {graphtest.Chain(10_000), 1},
		"skips":  {graphtest.Matrix(300), 1},
	} {
		p := NewPackage(graphtest.OneChannel(tt.entries))
		outlooks, err := p.Outlooks(p.Channels[0], V1Options{}, false)
		all := slices.Collect(outlooks)
		head := tt.entries[len(tt.entries)-1].Name
		if err != nil || len(all) != len(tt.entries) || all[0].Classic.Hops != tt.hops || all[0].V1.Hops != tt.hops ||
			all[0].Classic.End != head || all[0].V1.End != head || all[0].Differs {
			t.Errorf("%s: %v, %d outlooks, the first is %+v", name, err, len(all), all[0])
		}
	}
}

// TestCircles checks that OLM Classic rejects an update loop of any length, and that paths go around it once.
func TestCircles(t *testing.T) {
	for _, n := range []int{1, 2, 1000} {
		entries := graphtest.Replacing(n)
		entries[0].Replaces = entries[n-1].Name
		p := NewPackage(graphtest.OneChannel(entries))
		outlooks, err := p.Outlooks(p.Channels[0], V1Options{}, true)
		all := slices.Collect(outlooks)
		if err == nil || len(all) != n || all[0].Classic.Hops != 0 || all[0].V1.Hops != n-1 {
			t.Errorf("%d: %v, the first is %+v", n, err, all[0])
		}
		if cycles := p.Channels[0].Cycles(); len(cycles) != 1 || len(cycles[0]) != n+1 {
			t.Errorf("%d: cycles %v", n, cycles)
		}
	}
}

func BenchmarkParseRange(b *testing.B) {
	var apart, either strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&apart, "!1.0.%d ", i)
		fmt.Fprintf(&either, "1.0.%d || ", 2*i)
	}
	for name, text := range map[string]string{
		"usual": ">=1.0.0 <1.2.0", "apart of 20000": apart.String(), "either of 20000": either.String() + "2.x",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseRange(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
