package filter_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// TestEveryUpdate cuts random small packages at random. It checks that the updates of every kept bundle that arrived at
// the head of a kept channel, or at the end of the updates, still do so in OLM Classic and OLM v1, with and without a
// channel, or that the bundle is named, and that no other bundle is.
func TestEveryUpdate(t *testing.T) {
	n := shared.Number(3000, 200)
	cuts, named, repaired := 0, 0, 0
	for seed := range n {
		random := rand.New(rand.NewPCG(uint64(seed), 2))
		lines := randomPackage(random)
		if seed%4 == 0 { // mostly invalid
			lines = "default c0\n" + strings.Replace(graphtest.Random(random), "olm.constraint", "olm.gvk.required", 1)
		}
		x := graphtest.Package(t, "p", lines)
		if graph.NewPackage(x).Channel("c0") == nil || slices.ContainsFunc(x.Channels, func(c declcfg.Indexed[declcfg.Channel]) bool {
			return !isValid(c.Value.Entries)
		}) {
			continue
		}
		c, problems := read(t, sourceOf(catalogOf(t, map[string]string{"p": lines}, nil)))
		if problems != "" {
			continue // such as a bundle that is deprecated but does not exist
		}
		for range 4 {
			selected := "p" + []string{"", ":c0"}[random.IntN(2)]
			if random.IntN(5) > 0 {
				selected += "@" + randomRange(random, c.Index.Package("p"))
			}
			packages, err := filter.ParsePackages(selected)
			if err != nil {
				t.Fatal(err)
			}
			cut, err := newCut(t, c, filter.Selection{Packages: packages})
			if err != nil {
				if !strings.Contains(err.Error(), "no version") {
					t.Fatal(err)
				}
				continue
			}
			cuts++
			named += cut.checkStranded(t)
			repaired += strings.Count(changesOf(cut), "OLM v1 would not update it")
			if t.Failed() {
				t.Fatalf("seed %d, --package %q: changes: %s\n%s", seed, selected, changesOf(cut), lines)
			}
		}
	}
	if cuts < n || named < n/100 || repaired < n/100 {
		t.Errorf("of %d cuts, %d have stranded bundles and %d repairs for OLM v1", cuts, named, repaired)
	}
}

// randomPackage returns a valid package, in the syntax of [graphtest.Package]: up to two channels in which every entry
// leads to the head, with deprecated and prohibited bundles, and bundles with a dependency.
func randomPackage(random *rand.Rand) string {
	lines, n := "default c0\n", 2+random.IntN(6)
	for c := range 1 + random.IntN(2) {
		var entries []declcfg.Entry
		for i := range n {
			e := declcfg.Entry{Name: fmt.Sprintf("v%d", i)}
			if i > 0 && random.IntN(4) > 0 {
				e.Replaces = fmt.Sprintf("v%d", i-1)
			}
			for j := range i {
				if random.IntN(8) == 0 {
					e.Skips = append(e.Skips, fmt.Sprintf("v%d", j))
				}
			}
			if random.IntN(3) == 0 {
				e.SkipRange = fmt.Sprintf(">=%d.0.0 <%d.0.0", random.IntN(n), random.IntN(n)+1)
			}
			entries = append(entries, e)
		}
		head := &entries[n-1]
		for _, useless := range []func(*graph.Channel) []string{(*graph.Channel).Heads, (*graph.Channel).Stranded} {
			for _, name := range useless(graph.New(entries)) {
				if name != head.Name {
					head.Skips = append(head.Skips, name)
				}
			}
		}
		lines += fmt.Sprintf("channel c%d\n", c)
		for _, e := range entries {
			lines += e.Name
			if e.Replaces != "" {
				lines += " replaces " + e.Replaces
			}
			if e.Skips != nil {
				lines += " skips " + strings.Join(e.Skips, ",")
			}
			if e.SkipRange != "" {
				lines += " range " + e.SkipRange
			}
			lines += "\n"
		}
	}
	for i := range n {
		switch random.IntN(10) {
		case 0, 1, 2:
			lines += fmt.Sprintf("deprecated v%d\n", i)
		case 3:
			lines += fmt.Sprintf("prohibited v%d\n", i)
		case 4:
			lines += fmt.Sprintf("requires v%d %s\n", i, declcfg.PropertyGVKRequired)
		}
	}
	return lines
}

// A follower is a user who follows some channels of a package.
type follower struct {
	olm     graph.Semantics
	channel string // "" for none
}

// plan returns the updates in a package.
func (f follower) plan(p *graph.Package) *graph.Plan {
	c := p.Channel(f.channel)
	if f.olm == graph.Classic {
		plan, _ := p.Classic(c) // has the error for every bundle
		return plan
	}
	if c == nil {
		return p.V1(graph.V1Options{})
	}
	return p.V1(graph.V1Options{Channels: []*graph.Channel{c}})
}

// checkStranded checks that the bundles whose updates are lost are exactly the named ones, and returns their number.
func (c *cut) checkStranded(t *testing.T) int {
	t.Helper()
	before, after := graph.NewPackage(c.before.Package("p")), graph.NewPackage(c.after.Package("p"))
	isNamed := map[[2]string]bool{} // by channel, or "" for no channel, and bundle
	for _, change := range c.result.Changes {
		if change.Kind == filter.Stranded {
			isNamed[[2]string{change.Channel, change.Bundle}] = true
		}
	}
	lost := map[[2]string]bool{}
	check := func(channel string, bundles []string, heads ...string) {
		for _, olm := range []graph.Semantics{graph.Classic, graph.V1} {
			f := follower{olm, channel}
			was, is := f.plan(before), f.plan(after)
			for _, b := range bundles {
				refusal, refused := errors.AsType[*graph.RefusalError](is.Err(is.Package.Bundle(b))) // see Result.AddUnresolved
				refused = refused && refusal.Bundle.Name == b
				if arrives(was, b, heads) && !arrives(is, b, heads) && !refused {
					lost[[2]string{channel, b}] = true
				}
			}
		}
	}
	var heads, all []string
	for _, ch := range c.result.Packages[0].Channels {
		check(ch.Name, ch.Bundles, ch.Head)
		heads = append(heads, ch.Head)
		all = append(all, ch.Bundles...)
	}
	check("", all, heads...)
	for key := range lost {
		named := isNamed[key]
		for _, ch := range c.result.Packages[0].Channels { // if a bundle is named for a channel, it is not named again
			named = named || key[0] == "" && isNamed[[2]string{ch.Name, key[1]}]
		}
		if !named {
			t.Errorf("channel %q: %s loses its update, and is not named", key[0], key[1])
		}
	}
	for key := range isNamed {
		if !lost[key] {
			t.Errorf("channel %q: %s is named, but loses no update", key[0], key[1])
		}
	}
	return len(isNamed)
}

// arrives follows the updates of a bundle to a head or to their end, and reports whether OLM reports no error there, and
// whether the end is one that all updates should reach.
func arrives(plan *graph.Plan, bundle string, heads []string) bool {
	at, seen := plan.Package.Bundle(bundle), map[*graph.Bundle]bool{}
	for !seen[at] {
		for _, head := range heads {
			if at.Name == head && plan.Err(at) == nil {
				return true
			}
		}
		step, ok := plan.Next(at)
		if !ok {
			return plan.Reaches(at)
		}
		seen[at] = true
		at = step.To
	}
	return false
}
