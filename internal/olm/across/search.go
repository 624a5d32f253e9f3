package across

import (
	"cmp"
	"container/heap"
	"slices"
)

// A state is an installed operator on one version of the platform.
type state struct {
	layer   int // index of the version
	bundle  string
	channel string // that the operator follows; the layer may not have it

	// last is the index of the last version that the platform may be upgraded to, by olm.maxOpenShiftVersion of the
	// bundle in the catalog from which it was installed.
	last int

	kind kind
}

// A kind is the kind of a state.
type kind int

const (
	staying   kind = iota // the operator needs no change
	updating              // an update has just been installed; more updates of the channel may follow
	switching             // the operator is about to follow another channel
)

// A cost orders plans. The fields are compared in order, so a plan that reaches more versions always costs less.
type cost struct {
	shortfall int // twice the number of versions that are not reached, and 1 if more than olm.maxOpenShiftVersion blocks
	switches  int // changes of the channel
	updates   int // updates to wait for, each of one or more bundles
	manual    int // updates that end before the last bundle of the channel, which needs manual approval
	hops      int // updated bundles
}

func (c cost) plus(d cost) cost {
	return cost{
		c.shortfall + d.shortfall, c.switches + d.switches, c.updates + d.updates, c.manual + d.manual, c.hops + d.hops,
	}
}

func (c cost) compare(d cost) int {
	return cmp.Or(cmp.Compare(c.shortfall, d.shortfall), cmp.Compare(c.switches, d.switches),
		cmp.Compare(c.updates, d.updates), cmp.Compare(c.manual, d.manual), cmp.Compare(c.hops, d.hops))
}

// A node is a state with the edges to the next states, the preferred edge first.
type node struct {
	state
	edges    []edge
	incoming []edge // the edges that lead here, reversed

	end   bool // a plan may end here
	known bool // whether least is set
	least cost // of the rest of the plan

	final *node // see lastUpdate; nil if not known
}

// An edge leads from one state to the next one.
type edge struct {
	to   *node
	cost cost
}

// A search finds the best plan for every state of a package, in one version of OLM.
type search struct {
	layers []*layer
	nodes  map[state]*node
	todo   []*node // without edges yet
}

// last returns the index of the last version that a bundle supports if it is installed from the catalog of a layer.
func (s *search) last(at int, bundle string) int {
	l := s.layers[at].limit(bundle)
	switch {
	case l == nil:
		return len(s.layers) - 1
	case l.err != nil:
		return -1
	}
	isLater := func(next *layer) bool { return next.version().After(l.version) }
	if i := slices.IndexFunc(s.layers, isLater); i >= 0 {
		return i - 1
	}
	return len(s.layers) - 1
}

// node returns the node of a state.
func (s *search) node(at state) *node {
	n := s.nodes[at]
	if n == nil {
		n = &node{state: at}
		s.nodes[at] = n
		s.todo = append(s.todo, n)
	}
	return n
}

// run computes the cheapest plans of all nodes. It adds all nodes that can be reached, and then computes the costs
// backwards from the ends of plans (Dijkstra's algorithm).
func (s *search) run() {
	var open queue
	for len(s.todo) > 0 {
		n := s.todo[0]
		s.todo = s.todo[1:]
		s.expand(n)
		for _, e := range n.edges {
			e.to.incoming = append(e.to.incoming, edge{n, e.cost})
		}
		if n.end {
			missing := 2 * (len(s.layers) - 1 - n.layer)
			if missing > 0 && !s.isBlocked(n) {
				missing++
			}
			if !s.layers[n.layer].has(n.bundle, n.channel) {
				missing += 2
			}
			heap.Push(&open, edge{n, cost{shortfall: missing}})
		}
	}
	for len(open) > 0 {
		e, _ := heap.Pop(&open).(edge)
		if e.to.known {
			continue
		}
		e.to.known, e.to.least = true, e.cost
		for _, from := range e.to.incoming {
			if !from.to.known {
				heap.Push(&open, edge{from.to, e.cost.plus(from.cost)})
			}
		}
	}
}

// expand adds the edges of a node.
func (s *search) expand(n *node) {
	l := s.layers[n.layer]
	switch n.kind {
	case staying:
		s.addUpdate(n, cost{updates: 1, hops: 1})
		if l.has(n.bundle, n.channel) {
			n.end = true
			if next := n.layer + 1; next <= n.last {
				s.add(n, state{next, n.bundle, n.channel, n.last, staying}, cost{})
			}
		}
		n.end = n.end || n.layer == 0
		s.add(n, state{n.layer, n.bundle, "", n.last, switching}, cost{switches: 1})
	case updating:
		stop := cost{}
		if l.next(n.bundle, n.channel) != nil {
			stop.manual = 1
		}
		s.add(n, state{n.layer, n.bundle, n.channel, n.last, staying}, stop)
		s.addUpdate(n, cost{hops: 1})
	case switching:
		for _, channel := range l.channelsAccepting(n.bundle) {
			s.add(n, state{n.layer, n.bundle, channel, n.last, staying}, cost{})
		}
	}
}

// addUpdate adds an edge to the next update of the channel, if there is one.
func (s *search) addUpdate(n *node, c cost) {
	if to := s.layers[n.layer].next(n.bundle, n.channel); to != nil {
		s.add(n, state{n.layer, to.Name, n.channel, s.last(n.layer, to.Name), updating}, c)
	}
}

func (s *search) add(n *node, to state, c cost) { n.edges = append(n.edges, edge{s.node(to), c}) }

// isBlocked reports whether only olm.maxOpenShiftVersion prevents the upgrade to the next version.
func (s *search) isBlocked(n *node) bool {
	return n.last <= n.layer && len(s.layers[n.layer+1].channelsAccepting(n.bundle)) > 0
}

// path returns the best way from a node to an end: the node itself and the next ones, except for the updates between
// the first one and the last one of several. It is empty if there is none.
func (n *node) path() []*node {
	var path []*node
	for n != nil && n.known {
		path = append(path, n)
		next := n.next()
		if n.kind == updating && next.kind == updating {
			next = n.lastUpdate()
		}
		n = next
	}
	return path
}

// next returns the next node of the best way to an end, or nil if the node is the end.
func (n *node) next() *node {
	for _, e := range n.edges {
		if e.to.known && e.to.least.plus(e.cost) == n.least {
			return e.to
		}
	}
	return nil
}

// lastUpdate returns the node of the last of the consecutive updates that begin at a node. Each node of the chain
// stores it, so that chains with a common end are followed once.
func (n *node) lastUpdate() *node {
	var updates []*node
	for n.final == nil {
		next := n.next()
		if next.kind != updating {
			n.final = n
			break
		}
		updates = append(updates, n)
		n = next
	}
	for _, u := range updates {
		u.final = n.final
	}
	return n.final
}

// A queue is a heap of nodes and the cost of their plans.
type queue []edge

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].cost.compare(q[j].cost) < 0 }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { e, _ := x.(edge); *q = append(*q, e) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}
