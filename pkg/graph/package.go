package graph

import (
	"cmp"
	"slices"
	"sync"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Package is the update graph of a package: its bundles, and the channels that they are in. It does not change, so
// any number of goroutines may use it.
type Package struct {
	Name           string
	DefaultChannel string
	Deprecated     bool
	Channels       []*Channel // as CompareChannels orders their names

	// Bundles are those of the package and those that its channels name: by version, the lowest first and none before
	// that, then by name.
	Bundles []*Bundle

	byName map[string]*Bundle
	twins  func() [][]*Bundle // by rank: the bundles of the same version for OLM v1; nil if there is no other
}

// A Bundle is a node of the graph. Channels share it.
type Bundle struct {
	Name       string
	Version    *declcfg.Version // nil if missing or invalid
	Virtual    bool             // named by an entry or an edge, but not in the catalog
	Deprecated bool             // by an olm.deprecations, which OLM v1 minds

	// Prohibited bundles have the property olm.deprecated: OLM Classic never installs them.
	Prohibited bool

	// Dependency is the type of a property that declares a dependency, for which OLM v1 refuses the bundle, or "".
	Dependency string

	rank int // in Bundles
}

// NewPackage builds the graph of a package. Of bundles of one name it uses the first; objects that cannot be decoded
// are ignored. Installed bundles that are not in the catalog are added as virtual ones.
func NewPackage(x *declcfg.PackageIndex, installed ...declcfg.BundleSummary) *Package {
	p := &Package{Name: x.Name, byName: map[string]*Bundle{}}
	for _, o := range x.Packages {
		if o.Value != nil {
			p.DefaultChannel = o.Value.DefaultChannel
			break
		}
	}
	for _, o := range x.Bundles {
		if b := o.Value; b != nil && p.byName[b.Name] == nil {
			p.byName[b.Name] = &Bundle{
				Name: b.Name, Version: b.Version, Prohibited: b.Deprecated, Dependency: b.Dependency,
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
			p.addChannel(o.Value)
		}
	}
	slices.SortStableFunc(p.Channels, func(a, b *Channel) int { return CompareChannels(a.Name, b.Name) })
	for _, o := range x.Deprecations {
		if o.Value != nil {
			p.deprecate(o.Value.Entries)
		}
	}
	p.sort()
	return p
}

func (p *Package) addChannel(d *declcfg.Channel) {
	c := New(d.Entries)
	c.Package, c.Name = p.Name, d.Name
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

// node adds a virtual bundle if there is none of that name.
func (p *Package) node(name string) {
	if name != "" && p.byName[name] == nil {
		p.byName[name] = &Bundle{Name: name, Virtual: true}
	}
}

func (p *Package) deprecate(entries []declcfg.Deprecation) {
	channels := map[string]bool{}
	for _, e := range entries {
		switch e.Reference.Schema {
		case declcfg.SchemaPackage:
			p.Deprecated = true
		case declcfg.SchemaChannel:
			channels[e.Reference.Name] = true
		case declcfg.SchemaBundle:
			if b := p.byName[e.Reference.Name]; b != nil {
				b.Deprecated = true
			}
		}
	}
	for _, c := range p.Channels {
		c.Deprecated = c.Deprecated || channels[c.Name]
	}
}

// sort sorts the bundles and sets those of each channel.
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
	p.twins = sync.OnceValue(p.findTwins)
	for _, c := range p.Channels {
		c.join(p)
	}
}

// compareVersion orders by version and release; bundles without a version come first.
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

// semver returns the version without the release. The bundle must have one.
func (b *Bundle) semver() semver.Version { return b.Version.Semver }

// Bundle returns the bundle of that name, or nil.
func (p *Package) Bundle(name string) *Bundle { return p.byName[name] }

// Channel returns the channel of that name, or nil.
func (p *Package) Channel(name string) *Channel {
	byName := func(c *Channel, name string) int { return CompareChannels(c.Name, name) }
	i, ok := slices.BinarySearchFunc(p.Channels, name, byName)
	if !ok {
		return nil
	}
	return p.Channels[i]
}

// join sets the bundles of the package that the channel names.
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
		c.ranges[i] = r.only(c.versioned)
	}
	c.members = byRank(c.members)
}

// Members returns the bundles in the channel and those that its entries replace or skip, in the order of Bundles of the
// Package. Each of them may be installed by a follower of the channel.
func (c *Channel) Members() []*Bundle { return c.members }

// Entries returns the entries in the graph, in the order of the channel. Each has a name of its own, and its bundle is
// in the Package.
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

// Index returns the index of the entry of that name in the list that the graph was made from, -1 if there is none.
func (c *Channel) Index(name string) int {
	if i, ok := c.index[name]; ok {
		return i
	}
	return none
}

// channelNames returns the names of channels.
func channelNames(channels []*Channel) []string {
	var names []string
	for _, c := range channels {
		names = append(names, c.Name)
	}
	return names
}

// Entry returns the entry of that name, and whether there is one.
func (c *Channel) Entry(name string) (declcfg.Entry, bool) {
	i, ok := c.index[name]
	if !ok {
		return declcfg.Entry{}, false
	}
	return c.entries[i], true
}

// A Node is a bundle that a channel names.
type Node struct {
	*Bundle
	Entry    *declcfg.Entry // nil if only an edge names the bundle
	Range    Range          // the versions of the package that are in the skipRange of the entry
	BadRange error          // why the skipRange is invalid
	Head     bool           // no entry replaces or skips it
	Skipped  bool           // an entry skips it
}

// Outside reports whether the bundle is in the catalog but has no entry in the channel.
func (n *Node) Outside() bool { return !n.Virtual && n.Entry == nil }

// Nodes returns a node for each of Members, the highest version first. The channel must be one of a Package.
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
