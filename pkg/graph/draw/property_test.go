package draw

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// TestRandomGraphs checks for random graphs that the drawing is well-formed and deterministic, that boxes do not
// overlap, that everything is within its lane, and that the lines are exactly the edges of the catalog.
func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(shared.Number(200, 30)) {
		r := rand.New(rand.NewPCG(seed, 1))
		lines := randomLines(r)
		p := packageOf(t, "p", lines)
		checkPackages(t, fmt.Sprintf("seed %d:\n%s", seed, lines), p, packageOf(t, "q", randomLines(r)))
		if t.Failed() {
			return
		}
	}
}

// randomLines returns a package in the syntax of packageOf, with entries that name any bundle.
func randomLines(r *rand.Rand) string {
	n := 1 + r.IntN(12)
	name := func() string {
		if r.IntN(6) == 0 {
			return fmt.Sprintf("p.x%d", r.IntN(3)) // without a version
		}
		return fmt.Sprintf("p.v1.%d.0", r.IntN(n+2)) // the last ones are not in the catalog
	}
	var lines strings.Builder
	for c := range 1 + r.IntN(3) {
		fmt.Fprintf(&lines, "channel c%d\n", c)
		for i := range n {
			fmt.Fprintf(&lines, "p.v1.%d.0", i)
			if r.IntN(4) > 0 {
				fmt.Fprintf(&lines, " replaces %s", name())
			}
			if r.IntN(3) == 0 {
				fmt.Fprintf(&lines, " skips %s,%s,%s", name(), name(), name())
			}
			if r.IntN(3) == 0 {
				fmt.Fprintf(&lines, " range >=1.%d.0 <1.%d.0", r.IntN(n), r.IntN(n))
			}
			lines.WriteString("\n")
		}
	}
	fmt.Fprintf(&lines, "deprecated p.v1.0.0\nbundle p.v9.0.0\n")
	return lines.String()
}

func TestPublishedCatalogs(t *testing.T) {
	for dir, x := range publishedCatalogs(t) {
		for _, p := range x.Packages() {
			checkPackages(t, dir+": "+p.Name, graph.NewPackage(p))
		}
	}
}

func checkPackages(t *testing.T, name string, packages ...*graph.Package) {
	t.Helper()
	svg := write(t, SVG, Options{}, packages...)
	textsOf(t, svg, "title")
	if write(t, SVG, Options{}, packages...) != svg {
		t.Errorf("%s\ntwo drawings differ", name)
	}
	p := newPicture(packages, Options{}, true)
	var all []rect
	for _, b := range p.Blocks {
		if inner := (rect{b.X, b.Y, b.X + b.Width, b.Y + b.Height}); !(rect{0, 0, p.Width, p.Height}).holds(inner) {
			t.Errorf("%s\npackage %s is outside of the picture", name, b.Name)
		}
		for _, l := range b.Lanes {
			frame := rect{b.X + l.X, b.Y + l.Y, b.X + l.X + l.Width, b.Y + l.Y + l.Height}
			if !(rect{b.X, b.Y, b.X + b.Width, b.Y + b.Height}).holds(frame) {
				t.Errorf("%s\nlane %s is outside of its package", name, l.Label)
			}
			boxes := boxesOf(l, frame)
			for i, box := range boxes {
				if !frame.holds(box) {
					t.Errorf("%s\n%s is outside of lane %s", name, l.Boxes[i].Label, l.Label)
				}
			}
			all = append(all, boxes...)
			checkLinks(t, name, l)
			checkTracks(t, name, l)
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.meets(b) {
				t.Errorf("%s\nboxes overlap: %v and %v", name, a, b)
			}
		}
	}
}

type rect struct{ left, top, right, bottom int }

func (r rect) holds(s rect) bool {
	return s.left >= r.left && s.top >= r.top && s.right <= r.right && s.bottom <= r.bottom
}

func (r rect) meets(s rect) bool {
	return r.left < s.right && s.left < r.right && r.top < s.bottom && s.top < r.bottom
}

func boxesOf(l *lane, frame rect) []rect {
	boxes := make([]rect, len(l.Boxes))
	for i, b := range l.Boxes {
		x, y := frame.left+b.X, frame.top+b.Y
		boxes[i] = rect{x, y, x + b.Width, y + b.Height}
	}
	return boxes
}

// checkLinks reads the lines of a lane as documented in the package comment, and compares them with the entries of the
// channel.
func checkLinks(t *testing.T, name string, l *lane) {
	t.Helper()
	if l.channel == nil {
		return
	}
	want := map[string]bool{}
	for _, b := range l.Boxes {
		e, ok := l.channel.Entry(b.node.Name)
		if !ok {
			continue
		}
		if e.Replaces != "" {
			want[e.Name+" replaces "+e.Replaces] = true
		}
		for _, skip := range e.Skips {
			want[e.Name+" skips "+skip] = true
		}
		r, _ := graph.ParseRange(e.SkipRange)
		for _, other := range l.Boxes {
			if v := other.node.Version; v != nil && r.Contains(v.Semver) {
				want[e.Name+" skipRange "+other.node.Name] = true
			}
		}
	}
	got := map[string]bool{}
	e := l.newEdges()
	for _, d := range e.direct {
		got[l.Boxes[d[0]].node.Name+" replaces "+l.Boxes[d[1]].node.Name] = true
	}
	for _, t := range slices.Concat(e.replaced, e.skipped, e.ranges) {
		for _, to := range t.to {
			for _, from := range t.from {
				if from > to || len(t.to) == 1 {
					got[fmt.Sprintf("%s %s %s", l.Boxes[to].node.Name, t.by, l.Boxes[from].node.Name)] = true
				}
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s\nlane %s has the lines\n\t%s\nwant\n\t%s", name, l.Label,
			strings.Join(slices.Sorted(maps.Keys(got)), "\n\t"), strings.Join(slices.Sorted(maps.Keys(want)), "\n\t"))
	}
}

// checkTracks checks that trunks on the same track do not overlap.
func checkTracks(t *testing.T, name string, l *lane) {
	t.Helper()
	e := l.newEdges()
	for _, trunks := range [][]*trunk{e.replaced, e.skipped, e.ranges} {
		for i, a := range trunks {
			for _, b := range trunks[:i] {
				aTop, aBottom := a.span()
				bTop, bBottom := b.span()
				if a.track == b.track && aTop <= bBottom && bTop <= aBottom {
					t.Errorf("%s\nlane %s: trunks %v and %v meet", name, l.Label, *a, *b)
				}
			}
		}
	}
}

// TestRows checks the order of a lane, from the top.
func TestRows(t *testing.T) {
	for _, tt := range []struct{ name, graph, want string }{
		{
			"a chain, whatever the order of its entries and versions",
			"channel c\np.v1.0.0\np.v0.5.0 replaces p.v1.0.0\np.v2.0.0 replaces p.v0.5.0",
			"2.0.0 0.5.0 1.0.0",
		}, {
			"skipped by the way, and by version",
			"channel c\np.v3.0.0 replaces p.v1.0.0 skips p.v2.0.0,p.v1.5.0,p.v0.5.0\np.v2.0.0 replaces p.v1.0.0\np.v1.5.0\np.v1.0.0\np.v0.5.0",
			"3.0.0 2.0.0 1.5.0 1.0.0 0.5.0",
		}, {
			"without a version, below what skips it last",
			"channel c\np.v3.0.0 replaces p.v2.0.0 skips p.a\np.v2.0.0 replaces p.v1.0.0 skips p.a\np.v1.0.0 replaces p.b",
			"3.0.0 2.0.0 a 1.0.0 b",
		}, {
			"never above the bundle that updates it, even with a higher version",
			"channel c\np.v2.0.0 replaces p.v1.0.0 skips p.v9.0.0\np.v1.0.0\nchannel d\np.v9.0.0",
			"2.0.0 9.0.0 1.0.0",
		}, {
			"by version where OLM Classic has no order",
			"channel c\n- p.v1.0.0 replaces p.v2.0.0\n- p.v2.0.0 replaces p.v1.0.0\n- p.v3.0.0\n- p.v0.1.0",
			"3.0.0 2.0.0 1.0.0 0.1.0",
		},
	} {
		p := packageOf(t, "p", tt.graph)
		var got []string
		for _, b := range newLane(p, p.Channels[0], "").Boxes {
			got = append(got, strings.TrimPrefix(strings.TrimPrefix(b.node.Name, "p."), "v"))
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestBundling checks that overlapping links share trunks, and that too many links are drawn as whole ranges.
func TestBundling(t *testing.T) {
	ranges, matrix, many := "channel c\n", "channel c\n", "channel c\n"
	var older []string
	for i := range 40 {
		ranges += fmt.Sprintf("p.v1.%d.0 replaces p.v1.%d.0 range >=1.0.0 <1.%d.0\n", i, i-1, i)
		matrix += fmt.Sprintf("p.v1.%d.0 skips %s\n", i, strings.Join(older, ","))
		older = append(older, fmt.Sprintf("p.v1.%d.0", i))
	}
	for i := range 500 {
		many += fmt.Sprintf("p.v1.%d.0 replaces p.v1.%d.0 range >=1.0.0 <1.%d.0\n", i, i-1, i)
	}
	for _, tt := range []struct {
		name, graph            string
		ranges, skipped, stubs int
	}{
		{"all ranges", ranges, 1, 0, 0},
		{"all skips", strings.Replace(matrix, "p.v1.0.0 skips \n", "p.v1.0.0\n", 1), 0, 1, 0},
		{"too many in ranges", many, 0, 0, 500},
	} {
		p := packageOf(t, "p", tt.graph)
		e := newLane(p, p.Channels[0], "").newEdges()
		stubs := len(e.stubs)
		if tt.stubs == 0 {
			stubs = 0 // the range of the first version is empty
		}
		if len(e.ranges) != tt.ranges || len(e.skipped) != tt.skipped || stubs != tt.stubs {
			t.Errorf("%s: %d trunks of ranges, %d of skips, %d ranges as a whole, want %d, %d, %d",
				tt.name, len(e.ranges), len(e.skipped), stubs, tt.ranges, tt.skipped, tt.stubs)
		}
	}
}
