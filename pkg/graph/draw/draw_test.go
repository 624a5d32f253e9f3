//nolint:dupword // graphs and drawings repeat names
package draw

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// describeDrawing returns a line for each node, such as "v3 head", and then for each link, such as "v1 replaces v3".
// The line of a node without an entry contains "outside".
func describeDrawing(d *drawing) string {
	var lines []string
	for _, n := range d.nodes {
		line := n.Name
		for _, mark := range []struct {
			name string
			is   bool
		}{
			{"head", n.Head}, {"skipped", n.Skipped}, {"deprecated", n.Deprecated}, {"virtual", n.Virtual},
			{"outside", n.Entry == nil},
		} {
			if mark.is {
				line += " " + mark.name
			}
		}
		lines = append(lines, line)
	}
	for l := range d.links() {
		from := fmt.Sprintf("%d in %s", l.bundles, l.skipRange)
		if l.from != none {
			from = d.nodes[l.from].Name
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", from, l.by, d.nodes[l.to].Name))
	}
	return strings.Join(lines, "\n")
}

func TestDraw(t *testing.T) {
	for _, tt := range []struct{ name, graph, want string }{
		{
			"a chain", // v1 -> v2 -> v3
			"channel c\n v1\n v3 replaces v2\n v2 replaces v1",
			"v3 head\nv2\nv1\nv2 replaces v3\nv1 replaces v2",
		}, {
			"a skipped bundle", // v1 -> v3, v2 -> v3, and v1 -> v2 remains
			"channel c\n v1\n v2 replaces v1\n v3 replaces v1 skips v2\n deprecated v2",
			"v3 head\nv2 skipped deprecated\nv1\nv1 replaces v3\nv2 skips v3\nv1 replaces v2",
		}, {
			"the order of skips", // in the order of the entry, each once
			"channel c\n v4 skips v1,v3,v1,v2",
			"v4 head\nv3 skipped virtual outside\nv2 skipped virtual outside\nv1 skipped virtual outside\n" +
				"v1 skips v4\nv3 skips v4\nv2 skips v4",
		}, {
			"a bundle that is replaced and skipped", // has both links
			"channel c\n v2 replaces v1 skips v1\n v1",
			"v2 head\nv1 skipped\nv1 replaces v2\nv1 skips v2",
		}, {
			"a range", // contains v1, v2 and v3; the last two have other links
			"channel c\n v4 replaces v3 skips v2 range <4.0.0\n v1\n v2\n v3",
			"v4 head\nv3\nv2 skipped\nv1 head\nv3 replaces v4\nv2 skips v4\nv1 skipRange v4",
		}, {
			"a range with the bundles of other links", // the range is not drawn
			"channel c\n v2 replaces v1 range <2.0.0\n v1",
			"v2 head\nv1\nv1 replaces v2",
		}, {
			"a range without bundles of the channel",
			"channel c\n v2 range <1.0.0\n bundle v0 0.1.0",
			"v2 head\n0 in <1.0.0 skipRange v2",
		}, {
			"a range that holds its own bundle",
			"channel c\n v2 range >=1.0.0",
			"v2 head\nv2 skipRange v2",
		}, {
			"a range that cannot be read",
			"channel c\n v2 range ^1.0.0\n v1",
			"v2 head\nv1 head",
		}, {
			"a bundle of the package that is not in the channel", // v1 -> v2
			"channel c\n v2 replaces v1\n channel d\n v1",
			"v2 head\nv1 outside\nv1 replaces v2",
		}, {
			"an entry that is there twice", // the first is used
			"channel c\n v2 replaces v1\n v2 replaces v0\n v1",
			"v2 head\nv1\nv1 replaces v2",
		}, {
			"a circle",
			"channel c\n v2 replaces v1\n v1 replaces v2",
			"v2\nv1\nv1 replaces v2\nv2 replaces v1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := packageOf(t, "p", tt.graph).Channel("c")
			for range 2 { // links can be iterated again
				if got := describeDrawing(newDrawing(c)); got != tt.want {
					t.Errorf("got\n%s\nwant\n%s", got, tt.want)
				}
			}
		})
	}
}

// TestDrawFolded checks that ranges of too many bundles are drawn as one link each. The range of the first bundle is
// empty, so it is always one link.
func TestDrawFolded(t *testing.T) {
	for _, tt := range []struct{ bundles, whole, links int }{
		{447, 1, 1 + 447*446/2}, // less than 100,000: each has one link to every later one
		{448, 448, 448 + 447},
	} {
		whole, links := 0, 0
		for l := range newDrawing(graph.NewPackage(graphtest.OneChannel(graphtest.Chain(tt.bundles))).Channel("c")).links() {
			links++
			if l.from != none {
				continue
			}
			whole++
			if want := tt.bundles - 1 - l.to; l.bundles != want {
				t.Errorf("%d bundles: got %d in %s, want %d", tt.bundles, l.bundles, l.skipRange, want)
			}
		}
		if whole != tt.whole || links != tt.links {
			t.Errorf("%d bundles: got %d links, %d of whole ranges; want %d, %d", tt.bundles, links, whole, tt.links, tt.whole)
		}
	}
}

// TestDrawUntilEnough checks that a consumer may stop iterating over links.
func TestDrawUntilEnough(t *testing.T) {
	d := newDrawing(packageOf(t, "p", "channel c\n v4 replaces v3 skips v2 range <4.0.0\n v1\n v2\n v3").Channel("c"))
	for n := range 3 {
		got := 0
		for range d.links() {
			got++
			if got > n {
				break
			}
		}
		if got != n+1 {
			t.Errorf("got %d links, want %d", got, n+1)
		}
	}
}

// write returns the output of a format.
func write(t testing.TB, draw Func, o Options, packages ...*graph.Package) string {
	t.Helper()
	var text strings.Builder
	if err := draw(&text, packages, o); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// shown is a package with every feature that drawings show.
//
//	stable, the default:           v1 -replaces-> v4 <-skips- v3, v2 (not in the catalog) -skips-> v4
//	                               v0 (deprecated), v1 -skipRange-> v3, anything below 0.1.0 -> v0
//	old, which is deprecated:      v0 (not in the channel) -replaces-> v1
func shown(t testing.TB) *graph.Package {
	p := packageOf(t, "p", `channel stable
		v4 replaces v1 skips v3,v2
		v3 range <2.0.0
		v1
		v0 range <0.0.0
		channel old
		v1 replaces v0
		deprecated v0`)
	p.DefaultChannel = "stable"
	p.Channel("old").Deprecated = true
	return p
}

func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		name string
		draw Func
		want string
	}{
		{"mermaid", Mermaid, shownMermaid},
		{"dot", DOT, shownDOT},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := write(t, tt.draw, Options{}, shown(t)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestWriteChannels draws some channels of several packages, and checks that all node ids are unique.
func TestWriteChannels(t *testing.T) {
	a := packageOf(t, "p", "channel c\n v1\n channel d\n v1")
	b := packageOf(t, "p", "channel d\n v1")
	b.Deprecated = true
	o := Options{Channels: []string{"d"}}
	want := mermaidHead + `  subgraph p1["p"]
    subgraph p1c1["d"]
      p1c1n1(["v1<br/>1.0.0"])
    end
  end
  subgraph p2["p (deprecated)"]
    subgraph p2c1["d"]
      p2c1n1(["v1<br/>1.0.0"])
    end
  end
  class p1c1n1,p2c1n1 head
  class p2 deprecated
`
	if got := write(t, Mermaid, o, a, b); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, draw := range []Func{DOT, JSON} {
		if got := write(t, draw, o, a, b); strings.Contains(got, `"c"`) || !strings.Contains(got, `"d"`) {
			t.Errorf("not just the channel d is drawn:\n%s", got)
		}
	}
}

// hostileNames are names with a special meaning in one of the text formats.
var hostileNames = []string{
	`quo"te`, `'`, "back\\slash\\N\\", "`code`", "a b", "  spaces  ", "emoji 🚀👩‍🚀", "[brackets] {braces} (parens)",
	"<b>html</b>", "&lt;", "#35;", "#quot;", "semi;colon", "a-->b", "end", "subgraph", "%% comment", "%%{init: {}}%%",
	"style x:y#1;", "1. list", "- list", "+ list", "1) list", "---", "***", "www.example.com", "https://example.com",
	"$$x$$", "a|b", "new\nline", "nul\x00", "\u202eright to left", "line\u2028separator", "-", "ünïcödé", "",
}

// hostilePackage returns a package that uses each of the names for a channel, a bundle and a range.
func hostilePackage() *graph.Package {
	x := &declcfg.PackageIndex{Name: hostileNames[0]}
	for _, name := range hostileNames {
		c := &declcfg.Channel{Name: name, Entries: []declcfg.Entry{
			{Name: name + "b", Replaces: name + "a", Skips: hostileNames, SkipRange: "<1.0.0 \t"},
			{Name: name + "a", Replaces: name},
		}}
		x.Channels = append(x.Channels, declcfg.Indexed[declcfg.Channel]{Value: c})
	}
	return graph.NewPackage(x)
}
