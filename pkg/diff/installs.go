package diff

import (
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// A following has the updates of clusters that follow a channel, in one of the semantics.
type following struct {
	*graph.Plan
	gone    bool // the channel does not exist, and Plan is nil
	refused error
}

// follow computes the updates of a channel.
func follow(s graph.Semantics, p *graph.Package, c *graph.Channel) following {
	if s == graph.V1 {
		return following{Plan: p.V1(graph.V1Options{Channels: []*graph.Channel{c}})}
	}
	plan, err := p.Classic(c)
	return following{Plan: plan, refused: err}
}

// reachesEnd reports whether the updates of a bundle reach the end of the channel.
func (f following) reachesEnd(b *graph.Bundle) bool { return !f.gone && f.Reaches(b) }

// next returns the name of the next update of a bundle, or "".
func (f following) next(b *graph.Bundle) string {
	if f.gone {
		return ""
	}
	if s, ok := f.Next(b); ok {
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
		classic, v1 := c.followers(graph.Classic, ch), c.followers(graph.V1, ch)
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

// followers are the installs of a channel whose updates change, in one of the semantics.
type followers struct {
	before, after following
	stranded      grouped[Why, *graph.Bundle]
	reroutes      grouped[Values, *graph.Bundle] // by next update
}

// followers returns the changed installs of a channel of the catalog before.
func (c *comparison) followers(s graph.Semantics, ch *graph.Channel) *followers {
	f := &followers{before: follow(s, c.graphBefore, ch), after: following{gone: true}}
	if now := c.graphAfter.Channel(ch.Name); now != nil {
		f.after = follow(s, c.graphAfter, now)
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
func (f following) why(b *graph.Bundle) Why {
	switch {
	case f.gone:
		return Why{Reason: ChannelGone}
	case f.refused != nil:
		return Why{Reason: Refused, Error: f.refused.Error()}
	}
	end, hops, ok := f.End(b)
	err := f.Err(end)
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

// passedOver returns the updates of an install before, up to the first that is also an update after. It walks both
// paths in parallel, since they usually meet soon.
func (f *followers) passedOver(bundle string) []string {
	old, now := newWalk(f.before, bundle), newWalk(f.after, bundle)
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
	following
	at      *graph.Bundle // nil if the channel does not exist
	path    []string      // the updates so far
	reached map[string]bool
}

func newWalk(f following, bundle string) *walk {
	w := &walk{following: f, reached: map[string]bool{}}
	if !f.gone {
		w.at = f.Package.Bundle(bundle)
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
			if slices.Equal(bundles, v1.of[k]) {
				semantics = append(semantics, graph.V1)
			}
			if !yield(k, newInstalls(channel, semantics, bundles)) {
				return
			}
		}
		for k, bundles := range v1.all() {
			if slices.Equal(bundles, classic.of[k]) {
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

// A grouped is a multimap with ordered keys. The zero value is empty.
type grouped[K comparable, V any] struct {
	keys []K // in the order of insertion
	of   map[K][]V
}

func (g *grouped[K, V]) add(k K, v V) {
	if g.of == nil {
		g.of = map[K][]V{}
	}
	if g.of[k] == nil {
		g.keys = append(g.keys, k)
	}
	g.of[k] = append(g.of[k], v)
}

// all yields the keys in order, with their values.
func (g *grouped[K, V]) all() iter.Seq2[K, []V] {
	return func(yield func(K, []V) bool) {
		for _, k := range g.keys {
			if !yield(k, g.of[k]) {
				return
			}
		}
	}
}
