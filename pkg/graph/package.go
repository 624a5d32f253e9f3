package graph

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Package is the update graph of a package: its bundles and their channels. It is immutable and safe for concurrent
// use.
type Package struct {
	Name           string
	DefaultChannel string
	Deprecated     bool
	Channels       []*Channel // sorted by name with CompareChannels

	// Bundles are the bundles of the package and the bundles that its channels name. They are sorted by version, the
	// lowest first, then by name; bundles without a version come first.
	Bundles []*Bundle

	byName map[string]*Bundle

	// By rank: all bundles of the same version in OLM v1, with or without releases; nil if there is only one.
	sameVersion func(releases bool) [][]*Bundle
}

// A Bundle is a node of the update graph. The channels of a package share it.
type Bundle struct {
	Name       string
	Version    *declcfg.Version // nil if missing or invalid
	Virtual    bool             // named by an entry or an edge, but not in the catalog
	Deprecated bool             // by an olm.deprecations object; OLM v1 prefers other bundles

	// Prohibited is set if the bundle has the property olm.deprecated: OLM Classic never installs it.
	Prohibited bool

	// Dependency is the type of a property that declares a dependency, or "". OLM v1 refuses a bundle with a
	// dependency.
	Dependency string

	rank  int // index in Bundles
	place int // among the bundles of the catalog, in its order; 0 for virtual bundles
}

// NewPackage builds the graph of a package. If several bundles have the same name, it uses the first; objects that
// cannot be decoded are ignored. Installed bundles that are not in the catalog are added as virtual bundles.
func NewPackage(x *declcfg.PackageIndex, installed ...declcfg.BundleSummary) *Package {
	p := &Package{Name: x.Name, byName: map[string]*Bundle{}}
	for _, o := range x.Packages {
		if o.Value != nil {
			p.DefaultChannel = o.Value.DefaultChannel
			break
		}
	}
	for i, o := range x.Bundles {
		if b := o.Value; b != nil && p.byName[b.Name] == nil {
			p.byName[b.Name] = &Bundle{
				Name: b.Name, Version: b.Version, Prohibited: b.Deprecated, Dependency: b.Dependency, place: i,
			}
		}
	}
	for _, b := range installed {
		if p.byName[b.Name] == nil {
			p.byName[b.Name] = &Bundle{Name: b.Name, Version: b.Version, Virtual: true, Prohibited: b.Deprecated}
		}
	}
	for _, o := range x.Channels {
		if o.Value != nil {
			c := New(o.Value.Entries)
			c.Package, c.Name = p.Name, o.Value.Name
			for _, i := range c.nodes {
				e := c.entries[i]
				p.node(e.Name)
				p.node(e.Replaces)
				for _, skip := range e.Skips {
					p.node(skip)
				}
			}
			p.Channels = append(p.Channels, c)
		}
	}
	slices.SortStableFunc(p.Channels, func(a, b *Channel) int { return CompareChannels(a.Name, b.Name) })
	p.deprecate(x.DeprecationMessages())
	p.sort()
	return p
}

// node adds a virtual bundle if the package has no bundle with that name.
func (p *Package) node(name string) {
	if name != "" && p.byName[name] == nil {
		p.byName[name] = &Bundle{Name: name, Virtual: true}
	}
}

func (p *Package) deprecate(messages map[declcfg.Subject]string) {
	for of := range messages {
		p.Deprecated = p.Deprecated || of.Schema == declcfg.SchemaPackage // even if it has a name, which is an error
	}
	for _, c := range p.Channels {
		_, c.Deprecated = messages[declcfg.Subject{Schema: declcfg.SchemaChannel, Name: c.Name}]
	}
	for name, b := range p.byName {
		_, b.Deprecated = messages[declcfg.Subject{Schema: declcfg.SchemaBundle, Name: name}]
	}
}

// sort sorts the bundles, sets their ranks, and joins the channels to them.
func (p *Package) sort() {
	p.Bundles = make([]*Bundle, 0, len(p.byName))
	for _, b := range p.byName {
		p.Bundles = append(p.Bundles, b)
	}
	slices.SortFunc(p.Bundles, func(a, b *Bundle) int {
		return cmp.Or(a.compareVersion(b), cmp.Compare(a.Name, b.Name))
	})
	for i, b := range p.Bundles {
		b.rank = i
	}
	with := sync.OnceValue(func() [][]*Bundle { return p.findSameVersion(true) })
	without := sync.OnceValue(func() [][]*Bundle { return p.findSameVersion(false) })
	p.sameVersion = func(releases bool) [][]*Bundle {
		if releases {
			return with()
		}
		return without()
	}
	for _, c := range p.Channels {
		c.join(p)
	}
}

// compareVersion orders bundles by version and release; bundles without a version come first.
func (b *Bundle) compareVersion(c *Bundle) int {
	switch {
	case b.Version != nil && c.Version != nil:
		return b.Version.Compare(*c.Version)
	case b.Version != nil:
		return 1
	case c.Version != nil:
		return -1
	}
	return 0
}

// semver returns the version without the release. It panics if the bundle has no version.
func (b *Bundle) semver() semver.Version { return b.Version.Semver }

// Bundle returns the bundle with the given name, or nil.
func (p *Package) Bundle(name string) *Bundle { return p.byName[name] }

// Channel returns the channel with the given name, or nil.
func (p *Package) Channel(name string) *Channel {
	byName := func(c *Channel, name string) int { return CompareChannels(c.Name, name) }
	i, ok := slices.BinarySearchFunc(p.Channels, name, byName)
	if !ok {
		return nil
	}
	return p.Channels[i]
}

// join sets the fields of the channel that refer to bundles of the package.
func (c *Channel) join(p *Package) {
	c.bundles = make([]*Bundle, len(c.entries))
	add := func(name string) *Bundle {
		b := p.byName[name]
		if b != nil {
			c.members = append(c.members, b)
		}
		return b
	}
	c.ranges = make([]Range, len(c.entries))
	c.rangeErrors = map[int]error{}
	c.versioned = p.Bundles[firstVersion(p.Bundles):]
	for _, i := range c.nodes {
		e := c.entries[i]
		c.bundles[i] = add(e.Name)
		add(e.Replaces)
		for _, skip := range e.Skips {
			add(skip)
		}
		if e.SkipRange == "" {
			continue
		}
		r, err := ParseRange(e.SkipRange)
		if err != nil {
			c.rangeErrors[i] = err
			continue
		}
		// Keep only the part of the range with bundles: the memory then depends on their number, not on the length of
		// the range.
		var spans []span
		end := none
		for i, j := range r.indexes(c.versioned) {
			if i != end {
				spans = append(spans, span{from: before(&c.versioned[i].Version.Semver)})
			}
			end = j
			spans[len(spans)-1].to = after(&c.versioned[j-1].Version.Semver)
		}
		c.ranges[i] = Range{slices.Clip(spans)}
	}
	c.members = byRank(c.members)
}

// Members returns the bundles in the channel and the bundles that its entries replace or skip, in the order of
// Package.Bundles. A cluster that follows the channel may have any of them installed.
func (c *Channel) Members() []*Bundle { return c.members }

// Entries returns the entries in the graph, in the order of the channel. Their names are unique, and each has its
// bundle in the Package.
func (c *Channel) Entries() []declcfg.Entry {
	if len(c.nodes) == len(c.entries) {
		return c.entries
	}
	entries := make([]declcfg.Entry, 0, len(c.nodes))
	for _, i := range c.nodes {
		entries = append(entries, c.entries[i])
	}
	return entries
}

// Index returns the index of the entry with the given name in the entries passed to New, or -1 if there is none.
func (c *Channel) Index(name string) int {
	if i, ok := c.index[name]; ok {
		return i
	}
	return none
}

func channelNames(channels []*Channel) []string {
	var names []string
	for _, c := range channels {
		names = append(names, c.Name)
	}
	return names
}

// Entry returns the entry with the given name, and whether there is one.
func (c *Channel) Entry(name string) (declcfg.Entry, bool) {
	i, ok := c.index[name]
	if !ok {
		return declcfg.Entry{}, false
	}
	return c.entries[i], true
}

// A Node is a bundle in a channel: it has an entry, or an edge names it.
type Node struct {
	*Bundle
	Entry    *declcfg.Entry // nil if only an edge names the bundle
	Range    Range          // the versions of the package in the skipRange of the entry
	BadRange error          // error if the skipRange is invalid
	Head     bool           // set if no entry replaces or skips it
	Skipped  bool           // set if an entry skips it
}

// Outside reports whether the bundle is in the catalog but has no entry in the channel.
func (n *Node) Outside() bool { return !n.Virtual && n.Entry == nil }

// Nodes returns a node for each of the Members, the highest version first. The channel must be one of a Package.
func (c *Channel) Nodes() []Node {
	nodes := make([]Node, len(c.members))
	at := make(map[string]*Node, len(nodes))
	for i, b := range c.members {
		n := &nodes[len(nodes)-1-i]
		n.Bundle = b
		at[b.Name] = n
	}
	for _, i := range c.nodes {
		n := at[c.bundles[i].Name]
		n.Entry, n.Range, n.BadRange = &c.entries[i], c.ranges[i], c.rangeErrors[i]
		for _, skip := range n.Entry.Skips {
			if skipped := at[skip]; skipped != nil {
				skipped.Skipped = true
			}
		}
	}
	for _, i := range c.heads() {
		at[c.bundles[i].Name].Head = true
	}
	return nodes
}

// Find returns the bundle with the given name or, if there is none, all bundles with the given version, in the order of
// Bundles. The version may include the release or omit it: 1.0.0-1 or 1.0.0.
func (p *Package) Find(nameOrVersion string) []*Bundle {
	if b := p.Bundle(nameOrVersion); b != nil {
		return []*Bundle{b}
	}
	var found []*Bundle
	for _, b := range p.Bundles {
		if b.Version != nil && (b.Version.String() == nameOrVersion || b.semver().String() == nameOrVersion) {
			found = append(found, b)
		}
	}
	return found
}

// Updates yields the bundles of the catalog that update others, in the order of Bundles, each with all bundles that it
// has an edge to in some channel. It yields every edge, whether or not OLM would choose it, except for edges from a
// bundle to itself.
func (p *Package) Updates() iter.Seq2[*Bundle, []*Bundle] {
	entries := entriesOf(p.Channels)
	versioned := p.Bundles[firstVersion(p.Bundles):]
	return func(yield func(to *Bundle, from []*Bundle) bool) {
		for _, to := range p.Bundles {
			var from []*Bundle
			for _, e := range entries[to] {
				entry := e.channel.entries[e.node]
				for _, name := range append(slices.Clone(entry.Skips), entry.Replaces) {
					if b := p.Bundle(name); b != nil {
						from = append(from, b)
					}
				}
				for i, j := range e.channel.ranges[e.node].indexes(versioned) {
					from = append(from, versioned[i:j]...)
				}
			}
			from = slices.DeleteFunc(byRank(from), func(b *Bundle) bool { return b == to })
			if !to.Virtual && len(from) > 0 && !yield(to, from) {
				return
			}
		}
	}
}

// CompareChannels orders channel names naturally: digits compare as numbers, so stable-3.6 sorts before stable-3.17. It
// returns 0 for equal names only.
func CompareChannels(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		var c int
		m, n := leadingDigits(x), leadingDigits(y)
		if m != "" && n != "" {
			c, x, y = compareDigits(m, n), x[len(m):], y[len(n):]
		} else {
			c, x, y = cmp.Compare(x[0], y[0]), x[1:], y[1:]
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// leadingDigits returns the leading decimal digits of s.
func leadingDigits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}

// compareDigits compares decimal numbers of any length.
func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
