package diff

import (
	"iter"
	"maps"
	"slices"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// A following is what becomes of the bundles of a package where a channel is followed.
type following struct {
	*graph.Plan
	gone    bool          // there is no such channel
	end     *graph.Bundle // of the channel; nil where there is none
	refused error
}

// follow is what the semantics make of a channel.
var follow = map[graph.Semantics]func(*graph.Package, *graph.Channel) following{
	graph.Classic: followClassic,
	graph.V1:      followV1,
}

func followClassic(p *graph.Package, c *graph.Channel) following {
	plan, err := p.Classic(c)
	f := following{Plan: plan, refused: err}
	if order, err := c.Order(); err == nil && len(order) > 0 {
		f.end = p.Bundle(order[0])
	}
	return f
}

// followV1 takes for the end of the channel what everything would be updated to if edges did not matter.
func followV1(p *graph.Package, c *graph.Channel) following {
	o := graph.V1Options{Channels: []*graph.Channel{c}}
	f := following{Plan: p.V1(o)}
	o.SelfCertified = true
	if members := c.Members(); len(members) > 0 {
		if end, _, ok := p.V1(o).End(members[0]); ok && !end.Virtual {
			f.end = end
		}
	}
	return f
}

// reachesEnd tells whether a bundle comes to the end of the channel and stays there. OLM v1 may prefer a lower version
// since higher ones are deprecated; who has one of these is not behind.
func (f following) reachesEnd(b *graph.Bundle) bool {
	if f.end == nil {
		return false
	}
	at, _, ok := f.End(b)
	return ok && (at == f.end || f.Semantics == graph.V1 && isHigher(at, f.end))
}

// isHigher tells whether a bundle of the catalog has a higher version than another.
func isHigher(b, than *graph.Bundle) bool {
	return !b.Virtual && b.Version != nil && than.Version != nil && b.Version.Compare(*than.Version) > 0
}

// next returns the name of what a bundle is updated to next, "" where it stays.
func (f following) next(b *graph.Bundle) string {
	if s, ok := f.Next(b); ok {
		return s.To.Name
	}
	return ""
}

// installs follows every channel before with every bundle that could be installed from it, in both catalogs.
func (c *comparison) installs() (stranded []Stranded, reroutes []Reroute) {
	for _, ch := range c.graphBefore.Channels {
		classic, v1 := c.followers(graph.Classic, ch), c.followers(graph.V1, ch)
		for why, installs := range join(ch.Name, classic.stranded, v1.stranded) {
			stranded = append(stranded, Stranded{installs, why})
		}
		for next, installs := range join(ch.Name, classic.reroutes, v1.reroutes) {
			f := classic
			if installs.Semantics[0] == graph.V1 {
				f = v1
			}
			reroutes = append(reroutes, Reroute{installs, next, f.passedOver(installs.Installed[0])})
		}
	}
	if !c.after.has(c.pkg) {
		stranded = c.strandedByPackage(stranded)
	}
	return stranded, reroutes
}

// followers are the installs that follow a channel, as far as something changes for them under one of the semantics.
type followers struct {
	before, after following
	stranded      groups[Why]
	reroutes      groups[Values] // by their next update
}

// followers returns what changes for the bundles that could be installed from a channel before.
func (c *comparison) followers(s graph.Semantics, ch *graph.Channel) *followers {
	f := &followers{before: follow[s](c.graphBefore, ch), after: following{gone: true}}
	if now := c.graphAfter.Channel(ch.Name); now != nil {
		f.after = follow[s](c.graphAfter, now)
	}
	for _, b := range ch.Members() {
		if _, isEntry := ch.Entry(b.Name); isEntry && !b.Virtual && f.before.reachesEnd(b) {
			f.add(b, c.graphAfter.Bundle(b.Name))
		}
	}
	return f
}

// add enters an install that went to the end of the channel before.
func (f *followers) add(before, after *graph.Bundle) {
	if f.after.gone || !f.after.reachesEnd(after) {
		f.stranded.add(f.after.why(after), before.Name)
		return
	}
	next := Values{f.before.next(before), ""}
	if next.Before == "" {
		return
	}
	if next.After = f.after.next(after); next.After != next.Before {
		f.reroutes.add(next, before.Name)
	}
}

// why tells why an install does not reach the end of the channel.
func (f following) why(b *graph.Bundle) Why {
	switch {
	case f.gone:
		return Why{Reason: ChannelGone}
	case f.refused != nil:
		return Why{Reason: Refused, Error: f.refused.Error()}
	}
	end, hops, ok := f.End(b)
	switch {
	case !ok:
		return Why{Reason: Endless}
	case hops == 0:
		return Why{Reason: NoUpdate}
	}
	return Why{Reason: StopsEarly, End: end.Name}
}

// passedOver returns what an install went through before, up to the first bundle that it comes to after too. Neither
// way goes on for ever. Both are walked at once, since mostly they meet soon.
func (f *followers) passedOver(name string) []string {
	before, after := f.before.Package.Bundle(name), f.after.Package.Bundle(name)
	var passed []string
	reached := map[string]bool{}
	for {
		old, more := f.before.Next(before)
		now, moreNow := f.after.Next(after)
		if !more && !moreNow {
			return passed
		}
		if moreNow {
			after = now.To
			reached[after.Name] = true
			if i := slices.Index(passed, after.Name); i >= 0 {
				return passed[:i]
			}
		}
		if more {
			before = old.To
			if reached[before.Name] {
				return passed
			}
			passed = append(passed, before.Name)
		}
	}
}

// groups are installs that fare alike, by how they do.
type groups[K comparable] struct {
	order     []K
	installed map[K][]string
}

func (g *groups[K]) add(k K, bundle string) {
	if g.installed == nil {
		g.installed = map[K][]string{}
	}
	if g.installed[k] == nil {
		g.order = append(g.order, k)
	}
	g.installed[k] = append(g.installed[k], bundle)
}

// join yields the groups under both semantics. Those that are the same under both come once.
func join[K comparable](channel string, classic, v1 groups[K]) iter.Seq2[K, Installs] {
	return func(yield func(K, Installs) bool) {
		alike := func(k K) bool { return slices.Equal(classic.installed[k], v1.installed[k]) }
		for _, k := range classic.order {
			semantics := []graph.Semantics{graph.Classic}
			if alike(k) {
				semantics = append(semantics, graph.V1)
			}
			if !yield(k, Installs{channel, semantics, classic.installed[k]}) {
				return
			}
		}
		for _, k := range v1.order {
			if !alike(k) && !yield(k, Installs{channel, []graph.Semantics{graph.V1}, v1.installed[k]}) {
				return
			}
		}
	}
}

// strandedByPackage joins what is stranded in the channels of a package that is gone.
func (c *comparison) strandedByPackage(all []Stranded) []Stranded {
	if len(all) == 0 {
		return nil
	}
	installed := map[string]bool{}
	by := map[graph.Semantics]bool{}
	for _, s := range all {
		for _, b := range s.Installed {
			installed[b] = true
		}
		for _, s := range s.Semantics {
			by[s] = true
		}
	}
	everything := Installs{
		Semantics: slices.Sorted(maps.Keys(by)),
		Installed: slices.SortedFunc(maps.Keys(installed), c.byVersion),
	}
	return []Stranded{{everything, Why{Reason: PackageGone}}}
}
