package across_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/olm/across"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// TestOracle compares the plans for random packages with the best of all ways that there are.
func TestOracle(t *testing.T) {
	for seed := range uint64(shared.Number(400, 50)) {
		w := newWorld(t, rand.New(rand.NewPCG(seed, 0)))
		for _, version := range w.versions {
			for _, olm := range []graph.Semantics{graph.Classic, graph.V1} {
				for _, channel := range []string{"", "a", "b"} {
					if channel == "" && olm == graph.Classic {
						continue // a Subscription has a channel
					}
					v, err := declcfg.ParseVersion(version, "")
					if err != nil {
						t.Fatal(err)
					}
					w.check(t, across.Operator{
						Package: "kiln", Bundle: "kiln.v" + version, Version: &v, Channel: channel, OLM: olm,
					})
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(w.texts, "\n"))
		}
	}
}

// A world is a random package in the catalogs for OpenShift 4.18 to 4.20.
type world struct {
	texts    []string // of the catalogs, as in TestPlans
	versions []string // of the bundles
	catalogs []*across.Catalog
	packages []*graph.Package // nil where the catalog does not have the package
	last     []map[string]int // for each catalog, the last catalog that olm.maxOpenShiftVersion of a bundle in it allows
}

func newWorld(t *testing.T, random *rand.Rand) *world {
	w := &world{versions: []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0"}}
	for range 3 {
		w.add(random)
	}
	w.catalogs = catalogsOf(t, w.texts...)
	var summaries []declcfg.BundleSummary
	for _, c := range w.catalogs {
		if x := c.Index.Package("kiln"); x != nil {
			for _, b := range x.Bundles {
				summaries = append(summaries, *b.Value)
			}
		}
	}
	for _, version := range w.versions {
		v, err := declcfg.ParseVersion(version, "")
		if err != nil {
			t.Fatal(err)
		}
		summaries = append(summaries, declcfg.BundleSummary{Name: "kiln.v" + version, Version: &v})
	}
	for _, c := range w.catalogs {
		var pkg *graph.Package
		if x := c.Index.Package("kiln"); x != nil {
			pkg = graph.NewPackage(x, summaries...)
		}
		w.packages = append(w.packages, pkg)
	}
	return w
}

// add adds a random catalog. It seldom lacks the package.
func (w *world) add(random *rand.Rand) {
	pick := func() string { return w.versions[random.IntN(len(w.versions))] }
	names, last := map[string]string{}, map[string]int{}
	for _, v := range w.versions {
		names[v], last["kiln.v"+v] = v, 2
		if minor := 17 + random.IntN(8); minor < 21 {
			names[v] += fmt.Sprintf("^4.%d", minor)
			last["kiln.v"+v] = min(minor-18, 2)
		}
		if random.IntN(8) == 0 && !strings.Contains(names[v], "^") {
			names[v] += "!"
		}
	}
	var channels []string
	for _, name := range []string{"a", "b"} {
		var entries []string
		for _, v := range w.versions {
			if random.IntN(2) == 0 {
				continue
			}
			entry := names[v]
			if random.IntN(2) == 0 {
				entry += " replaces " + pick()
			}
			if random.IntN(4) == 0 {
				entry += " skips " + pick()
			}
			if random.IntN(4) == 0 {
				entry += " skipRange <" + pick()
			}
			entries = append(entries, entry)
		}
		if entries != nil {
			channels = append(channels, name+": "+strings.Join(entries, ", "))
		}
	}
	random.Shuffle(len(channels), func(i, j int) { channels[i], channels[j] = channels[j], channels[i] })
	w.texts, w.last = append(w.texts, strings.Join(channels, "; ")), append(w.last, last)
}

// check checks that the plan for an operator can be followed, and is the best one.
func (w *world) check(t *testing.T, o across.Operator) {
	t.Helper()
	report, err := across.Run(t.Context(), w.catalogs, across.Options{Operators: []across.Operator{o}})
	if err != nil {
		t.Fatal(err)
	}
	start := situation{bundle: o.Bundle, channel: o.Channel, last: w.limit(0, o.Bundle)}
	best := w.best(o.OLM, start, map[situation]bool{})
	if len(report.Plans) != 1 {
		t.Fatalf("%d plans for %v", len(report.Plans), o)
	}
	p := report.Plans[0]
	got, end := w.follow(t, o.OLM, start, p.Steps)
	if slices.Compare(got[:], best[:]) != 0 {
		t.Errorf("%s in channel %q in %s: %s\ncosts %d, want %d", o.Bundle, o.Channel, o.OLM, p.Text(), got, best)
	}
	if p.Possible() != (got[0] == 0) || !p.Possible() && p.Obstacle.Bundles[0] != end.bundle {
		t.Errorf("%s in channel %q in %s ends at %v: %s", o.Bundle, o.Channel, o.OLM, end, p.Text())
	}
}

// A situation is an installed operator in the catalog with an index.
type situation struct {
	catalog         int
	bundle, channel string
	last            int // the last catalog that the installed bundle allows
}

// costs are the numbers by which ways are compared, the most important one first: missed versions of the platform
// (twice, and one more without a block by olm.maxOpenShiftVersion), switches, updates, updates with manual approval,
// and updated bundles.
type costs [5]int

func (c costs) plus(d costs) costs {
	for i := range c {
		c[i] += d[i]
	}
	return c
}

// best returns the costs of the best of all ways from a situation that visit no situation twice.
func (w *world) best(olm graph.Semantics, s situation, visited map[situation]bool) costs {
	least := costs{100}
	if visited[s] {
		return least
	}
	visited[s] = true
	defer delete(visited, s)
	try := func(c costs, to situation) {
		if c = c.plus(w.best(olm, to, visited)); slices.Compare(c[:], least[:]) < 0 {
			least = c
		}
	}
	if c := (costs{w.shortfall(olm, s)}); w.mayEnd(s) && c[0] < least[0] {
		least = c
	}
	if to, ok := w.upgrade(s); ok {
		try(costs{}, to)
	}
	for _, channel := range []string{"a", "b"} {
		if w.accepts(olm, s.catalog, s.bundle, channel) {
			try(costs{1: 1}, situation{s.catalog, s.bundle, channel, s.last})
		}
	}
	for hops, to := 1, s; hops < 10; hops++ {
		bundle := w.next(olm, to.catalog, to.bundle, to.channel)
		if bundle == "" {
			break
		}
		to.bundle, to.last = bundle, w.limit(to.catalog, bundle)
		try(costs{2: 1, 3: w.manual(olm, to), 4: hops}, to)
	}
	return least
}

// follow makes the steps of a plan, and returns its costs and its end.
func (w *world) follow(t *testing.T, olm graph.Semantics, s situation, steps []across.Step) (costs, situation) {
	t.Helper()
	var c costs
	for _, step := range steps {
		switch step.Action {
		case across.Upgrade:
			to, ok := w.upgrade(s)
			if !ok {
				t.Errorf("no upgrade of the platform is possible at %v", s)
				return c, s
			}
			s = to
		case across.Switch:
			if !w.accepts(olm, s.catalog, s.bundle, step.Channel) {
				t.Errorf("channel %q is not for %v", step.Channel, s)
			}
			s.channel = step.Channel
			c = c.plus(costs{1: 1})
		case across.Update:
			for {
				c = c.plus(costs{4: 1})
				s.bundle = w.next(olm, s.catalog, s.bundle, s.channel)
				if s.bundle == step.Bundle {
					break
				}
				if s.bundle == "" || c[4] > 100 {
					t.Errorf("no update leads to %s", step.Bundle)
					return c, s
				}
			}
			s.last = w.limit(s.catalog, s.bundle)
			manual := w.manual(olm, s)
			if step.Manual != (manual == 1) {
				t.Errorf("the update to %s is manual: %t", step.Bundle, step.Manual)
			}
			c = c.plus(costs{2: 1, 3: manual})
		}
		if want := fmt.Sprintf("4.%d", 18+s.catalog); step.Platform != want {
			t.Errorf("a step on %s instead of %s", step.Platform, want)
		}
	}
	if !w.mayEnd(s) {
		t.Errorf("the plan must not end at %v", s)
	}
	return c.plus(costs{w.shortfall(olm, s)}), s
}

// shortfall returns the first of the costs of a way that ends at a situation.
func (w *world) shortfall(olm graph.Semantics, s situation) int {
	n := 2 * (len(w.catalogs) - 1 - s.catalog)
	if n > 0 {
		next := s.catalog + 1
		isBlocked := s.last <= s.catalog && (w.accepts(olm, next, s.bundle, "a") || w.accepts(olm, next, s.bundle, "b"))
		if !isBlocked {
			n++
		}
	}
	if !w.has(s.catalog, s.bundle, s.channel) {
		n += 2
	}
	return n
}

// mayEnd reports whether a way may end at a situation: the first catalog is where the operator is.
func (w *world) mayEnd(s situation) bool {
	return s.catalog == 0 || w.has(s.catalog, s.bundle, s.channel)
}

func (w *world) upgrade(s situation) (situation, bool) {
	if !w.has(s.catalog, s.bundle, s.channel) || s.catalog+1 > s.last {
		return s, false
	}
	s.catalog++
	return s, true
}

// limit returns the last catalog that a bundle allows which was installed from a catalog.
func (w *world) limit(catalog int, bundle string) int {
	isHere := w.has(catalog, bundle, "a") || w.has(catalog, bundle, "b")
	if !isHere {
		return len(w.catalogs) - 1
	}
	return w.last[catalog][bundle]
}

// has reports whether a channel has an entry for a bundle; "" stands for the package.
func (w *world) has(catalog int, bundle, channel string) bool {
	for text := range strings.SplitSeq(w.texts[catalog], "; ") {
		name, entries, _ := strings.Cut(text, ": ")
		if channel != "" && channel != name || entries == "" {
			continue
		}
		for entry := range strings.SplitSeq(entries, ", ") {
			version := strings.FieldsFunc(entry, func(r rune) bool { return strings.ContainsRune(" ^!", r) })[0]
			if "kiln.v"+version == bundle {
				return true
			}
		}
	}
	return false
}

func (w *world) accepts(olm graph.Semantics, catalog int, bundle, channel string) bool {
	return w.has(catalog, bundle, channel) || w.next(olm, catalog, bundle, channel) != ""
}

// manual returns 1 if the channel has another update, which must not be approved.
func (w *world) manual(olm graph.Semantics, s situation) int {
	if w.next(olm, s.catalog, s.bundle, s.channel) == "" {
		return 0
	}
	return 1
}

// next returns the next update of a bundle, or "".
func (w *world) next(olm graph.Semantics, catalog int, bundle, channel string) string {
	pkg := w.packages[catalog]
	if pkg == nil {
		return ""
	}
	c := pkg.Channel(channel)
	if c == nil && channel != "" {
		return ""
	}
	var plan *graph.Plan
	switch {
	case olm == graph.Classic:
		plan, _ = pkg.Classic(c)
	case c == nil:
		plan = pkg.V1(graph.V1Options{})
	default:
		plan = pkg.V1(graph.V1Options{Channels: []*graph.Channel{c}})
	}
	step, ok := plan.Next(pkg.Bundle(bundle))
	if !ok || step.To.Virtual {
		return ""
	}
	return step.To.Name
}
