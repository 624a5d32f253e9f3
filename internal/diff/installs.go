package diff

import (
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// A channelPlan has the updates of clusters that follow a channel, in one of the semantics.
type channelPlan struct {
	*graph.Plan
	gone    bool  // the channel does not exist, and Plan is nil
	refused error // the error if OLM Classic rejects the channel
}

// newChannelPlan computes the updates of a channel.
func newChannelPlan(s graph.Semantics, p *graph.Package, c *graph.Channel) channelPlan {
	if s == graph.V1 {
		return channelPlan{Plan: p.V1(graph.V1Options{Channels: []*graph.Channel{c}})}
	}
	plan, err := p.Classic(c)
	return channelPlan{Plan: plan, refused: err}
}

// reachesEnd reports whether the updates of a bundle reach the end of the channel.
func (p channelPlan) reachesEnd(b *graph.Bundle) bool { return !p.gone && p.Reaches(b) }

// next returns the name of the next update of a bundle, or "".
func (p channelPlan) next(b *graph.Bundle) string {
	if p.gone {
		return ""
	}
	if s, ok := p.Next(b); ok {
		return s.To.Name
	}
	return ""
}

// all returns the bundles of the installs.
func (i Installs) all() []string { return slices.Concat(i.Installed, i.Pruned) }

func (i Installs) each(fn func(channel, bundle string)) {
	for _, b := range i.all() {
		fn(i.Channel, b)
	}
}

// installs compares the updates of every bundle that may be installed from a channel of the catalog before.
func (c *comparison) installs() (stranded []Stranded, reroutes []Reroute) {
	for _, ch := range c.graphBefore.Channels {
		classic, v1 := c.installChanges(graph.Classic, ch), c.installChanges(graph.V1, ch)
		for why, installs := range join(ch.Name, classic.stranded, v1.stranded) {
			stranded = append(stranded, Stranded{installs, why})
		}
		for next, installs := range join(ch.Name, classic.reroutes, v1.reroutes) {
			f := classic
			if installs.Semantics[0] == graph.V1 {
				f = v1
			}
			reroutes = append(reroutes, Reroute{installs, next, f.passedOver(installs.all()[0])})
		}
	}
	if !c.after.has(c.pkg) {
		stranded = c.strandedByPackage(stranded)
	}
	return stranded, reroutes
}

// installChanges are the installs of a channel whose updates changed, in one of the semantics.
type installChanges struct {
	before, after channelPlan
	stranded      grouped[Why, *graph.Bundle]
	reroutes      grouped[Values, *graph.Bundle] // by next update
}

// installChanges returns the changed installs of a channel of the catalog before.
func (c *comparison) installChanges(s graph.Semantics, ch *graph.Channel) *installChanges {
	f := &installChanges{before: newChannelPlan(s, c.graphBefore, ch), after: channelPlan{gone: true}}
	if now := c.graphAfter.Channel(ch.Name); now != nil {
		f.after = newChannelPlan(s, c.graphAfter, now)
	}
	for _, b := range ch.Members() {
		after := c.graphAfter.Bundle(b.Name)
		if f.before.reachesEnd(b) && !f.after.reachesEnd(after) {
			f.stranded.add(f.after.why(after), b)
			continue
		}
		next := Values{f.before.next(b), f.after.next(after)}
		if next.Before != "" && next.After != next.Before {
			f.reroutes.add(next, b)
		}
	}
	return f
}

// why returns the reason why an install does not reach the end of the channel.
func (p channelPlan) why(b *graph.Bundle) Why {
	switch {
	case p.gone:
		return Why{Reason: ChannelGone}
	case p.refused != nil:
		return Why{Reason: Refused, Error: p.refused.Error()}
	}
	end, hops, ok := p.End(b)
	err := p.Err(end)
	switch {
	case !ok:
		return Why{Reason: Endless}
	case err != nil && !errors.Is(err, graph.ErrNoBundles):
		return Why{Reason: Rejected, Error: err.Error()}
	case hops == 0:
		return Why{Reason: NoUpdate}
	}
	return Why{Reason: StopsEarly, End: end.Name}
}

// passedOver returns the updates of an install in the catalog before, up to the first one that is also an update in the
// catalog after. It walks both paths in parallel, since they usually meet soon.
func (i *installChanges) passedOver(bundle string) []string {
	old, now := newWalk(i.before, bundle), newWalk(i.after, bundle)
	for {
		before, after := old.step(), now.step()
		switch {
		case before == "" && after == "":
			return old.path
		case after != "" && old.reached[after] && after != before:
			return old.path[:slices.Index(old.path, after)]
		case before != "" && now.reached[before]:
			return old.path[:len(old.path)-1]
		}
	}
}

// A walk follows the updates of an install to their end, or to the first repeated bundle.
type walk struct {
	channelPlan
	at      *graph.Bundle // nil if the channel does not exist
	path    []string      // the updates so far
	reached map[string]bool
}

func newWalk(p channelPlan, bundle string) *walk {
	w := &walk{channelPlan: p, reached: map[string]bool{}}
	if !p.gone {
		w.at = p.Package.Bundle(bundle)
	}
	return w
}

// step follows one update and returns its name, or "" at the end of the walk.
func (w *walk) step() string {
	to := w.next(w.at)
	if to == "" || w.reached[to] {
		return ""
	}
	w.at = w.Package.Bundle(to)
	w.path = append(w.path, to)
	w.reached[to] = true
	return to
}

// join yields the installs of a channel by change. Installs that are the same in both semantics are yielded once.
func join[K comparable](channel string, classic, v1 grouped[K, *graph.Bundle]) iter.Seq2[K, Installs] {
	return func(yield func(K, Installs) bool) {
		for k, bundles := range classic.all() {
			semantics := []graph.Semantics{graph.Classic}
			if slices.Equal(bundles, v1.values[k]) {
				semantics = append(semantics, graph.V1)
			}
			if !yield(k, newInstalls(channel, semantics, bundles)) {
				return
			}
		}
		for k, bundles := range v1.all() {
			if slices.Equal(bundles, classic.values[k]) {
				continue
			}
			if !yield(k, newInstalls(channel, []graph.Semantics{graph.V1}, bundles)) {
				return
			}
		}
	}
}

func newInstalls(channel string, by []graph.Semantics, bundles []*graph.Bundle) Installs {
	i := Installs{Channel: channel, Semantics: by}
	for _, b := range bundles {
		if b.Virtual {
			i.Pruned = append(i.Pruned, b.Name)
		} else {
			i.Installed = append(i.Installed, b.Name)
		}
	}
	return i
}

// strandedByPackage merges the stranded installs of all channels of a removed package.
func (c *comparison) strandedByPackage(all []Stranded) []Stranded {
	if len(all) == 0 {
		return nil
	}
	installed, pruned := map[string]bool{}, map[string]bool{}
	by := map[graph.Semantics]bool{}
	for _, s := range all {
		for _, b := range s.Installed {
			installed[b] = true
		}
		for _, b := range s.Pruned {
			pruned[b] = true
		}
		for _, s := range s.Semantics {
			by[s] = true
		}
	}
	everything := Installs{
		Semantics: slices.Sorted(maps.Keys(by)),
		Installed: slices.SortedFunc(maps.Keys(installed), c.byVersion),
		Pruned:    slices.SortedFunc(maps.Keys(pruned), c.byVersion),
	}
	return []Stranded{{everything, Why{Reason: PackageGone}}}
}

// A grouped is a multimap whose keys keep the order of insertion. The zero value is empty.
type grouped[K comparable, V any] struct {
	keys   []K // in the order of insertion
	values map[K][]V
}

func (g *grouped[K, V]) add(k K, v V) {
	if g.values == nil {
		g.values = map[K][]V{}
	}
	if g.values[k] == nil {
		g.keys = append(g.keys, k)
	}
	g.values[k] = append(g.values[k], v)
}

// all yields the keys in order, with their values.
func (g *grouped[K, V]) all() iter.Seq2[K, []V] {
	return func(yield func(K, []V) bool) {
		for _, k := range g.keys {
			if !yield(k, g.values[k]) {
				return
			}
		}
	}
}
