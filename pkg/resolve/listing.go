package resolve

import (
	"cmp"
	"slices"
	"sync"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A bundle is what OLM knows of a bundle of a catalog or of an installed operator.
type bundle struct {
	name       string
	version    *semver.Version // nil if missing or invalid
	deprecated bool            // has the property olm.deprecated
	properties []Property
	packages   []packageVersion // of the properties olm.package
	gvks       []declcfg.GVK    // of the properties olm.gvk, repeated ones too
	labels     []string         // of the properties olm.label

	meta      *declcfg.Meta // nil if installed
	installed *Installed    // nil for a bundle of a catalog
}

// A packageVersion is the value of a property olm.package.
type packageVersion struct {
	name    string
	version *semver.Version // nil if missing or invalid
}

func newPackageVersion(p declcfg.PackageProperty) packageVersion {
	v, err := semver.Parse(p.Version)
	if err != nil {
		return packageVersion{name: p.PackageName}
	}
	return packageVersion{p.PackageName, &v}
}

// An entry is a bundle in a channel, which OLM has a variable for. An installed operator is in a channel of its own,
// without a name, of the catalog @existing.
type entry struct {
	*bundle
	*channel
	edges declcfg.Entry
}

// id returns the identifier that OLM uses in its sentences.
func (e *entry) id() string {
	return e.channel.id() + "/" + e.bundle.name
}

// id returns the identifier of an entry without the name.
func (c *channel) id() string { return c.catalog.Name + "/" + c.catalog.Namespace + "/" + c.name }

// of reports whether the entry is of a package, by its channel or by its properties.
func (e *entry) of(pkg string) bool {
	isIt := func(p packageVersion) bool { return p.name == pkg }
	return e.pkg == pkg || slices.ContainsFunc(e.packages, isIt)
}

// updates reports whether the entry updates an installed operator. An invalid skipRange counts as none.
func (e *entry) updates(installed *entry) bool {
	if e.edges.Replaces == installed.bundle.name || slices.Contains(e.edges.Skips, installed.bundle.name) {
		return true
	}
	r, err := graph.ParseRange(e.edges.SkipRange)
	return err == nil && r.Contains(*installed.version)
}

// A channel is a channel of a package of a catalog.
type channel struct {
	catalog   *Catalog
	pkg       string
	name      string
	isDefault bool
	entries   []*entry      // in the order of the catalog
	meta      *declcfg.Meta // nil for installed operators

	// order returns the entries that OLM offers, from the head to the tail. It is computed once.
	order func() ([]*entry, error)
}

// compare orders the channels of a catalog as OLM prefers them.
func (c *channel) compare(d *channel) int {
	return cmp.Or(yesFirst(c.isDefault, d.isDefault), cmp.Compare(c.pkg, d.pkg), cmp.Compare(c.name, d.name))
}

// yesFirst orders true before false.
func yesFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// offeredBy returns the entries that OLM offers: channel after channel, each from the head to the tail. Adjacent
// channels that are the same to OLM are one.
func offeredBy(entries []*entry, same func(a, b *channel) bool) ([]*entry, error) {
	var all []*entry
	for len(entries) > 0 {
		first := entries[0].channel
		n := slices.IndexFunc(entries, func(e *entry) bool { return e.channel != first && !same(e.channel, first) })
		if n < 0 {
			n = len(entries)
		}
		sort := first.order
		if entries[n-1].channel != first || n != len(first.entries) {
			some := entries[:n]
			sort = func() ([]*entry, error) { return order(some) }
		}
		sorted, err := sort()
		if err != nil {
			return nil, err
		}
		all = append(all, sorted...)
		entries = entries[n:]
	}
	return all, nil
}

// order sorts entries as OLM sorts those of a channel, whether they are all of it or not.
func order(entries []*entry) ([]*entry, error) {
	edges := make([]declcfg.Entry, len(entries))
	byName := make(map[string]*entry, len(entries))
	for i, e := range entries {
		edges[i] = e.edges
		byName[e.bundle.name] = e
	}
	c := graph.New(edges)
	c.Package, c.Name = entries[0].pkg, entries[0].channel.name
	names, err := c.Order()
	if err != nil {
		return nil, &brokenError{err, entries[0].channel.id(), entries[0].channel.place()}
	}
	sorted := make([]*entry, len(names))
	for i, name := range names {
		sorted[i] = byName[name]
	}
	return sorted, nil
}

// A listing is what a registry lists of a catalog: each bundle once for each channel.
type listing struct {
	channels  []*channel
	entries   []*entry
	byPackage map[string][]*entry
	byGVK     map[declcfg.GVK][]*entry
	byLabel   map[string][]*entry
}

// list returns the listing of the catalog, which it makes once.
func (c *Catalog) list() *listing {
	c.once.Do(func() {
		l := &listing{}
		if c.Index != nil && c.Failure == nil {
			facts := factReader{}
			for _, p := range c.Index.Packages() {
				l.addPackage(c, p, facts)
			}
		}
		c.listing = l.index()
	})
	return c.listing
}

func (l *listing) addPackage(c *Catalog, p *declcfg.PackageIndex, facts factReader) {
	if len(p.Packages) == 0 || p.Packages[0].Value == nil {
		return // a registry fails to look it up
	}
	defaultChannel := p.Packages[0].Value.DefaultChannel
	bundles := make(map[string]*bundle, len(p.Bundles))
	for _, o := range p.Bundles {
		if o.Value == nil || bundles[o.Value.Name] != nil {
			continue
		}
		b := &bundle{name: o.Value.Name, deprecated: o.Value.Deprecated, meta: o.Meta, properties: c.Properties(o.Meta)}
		if v := o.Value.Version; v != nil {
			b.version = &v.Semver
		}
		facts.read(b)
		bundles[b.name] = b
	}
	for _, o := range p.Channels {
		if o.Value != nil {
			ch := &channel{catalog: c, pkg: p.Name, name: o.Value.Name, isDefault: o.Value.Name == defaultChannel, meta: o.Meta}
			l.addChannel(ch, o.Value.Entries, bundles)
		}
	}
}

func (l *listing) addChannel(ch *channel, edges []declcfg.Entry, bundles map[string]*bundle) {
	for _, e := range edges {
		if b := bundles[e.Name]; b != nil {
			ch.entries = append(ch.entries, &entry{bundle: b, channel: ch, edges: e})
		}
	}
	ch.order = sync.OnceValues(func() ([]*entry, error) { return order(ch.entries) })
	l.channels = append(l.channels, ch)
}

// index builds the lists of entries and the tables of them.
func (l *listing) index() *listing {
	l.byPackage, l.byGVK, l.byLabel = map[string][]*entry{}, map[declcfg.GVK][]*entry{}, map[string][]*entry{}
	for _, ch := range l.channels {
		for _, e := range ch.entries {
			l.entries = append(l.entries, e)
			enter(l.byPackage, e.pkg, e)
			for _, p := range e.packages {
				enter(l.byPackage, p.name, e)
			}
			for _, gvk := range e.gvks {
				enter(l.byGVK, gvk, e)
			}
			for _, label := range e.labels {
				enter(l.byLabel, label, e)
			}
		}
	}
	return l
}

// enter adds an entry once.
func enter[K comparable](table map[K][]*entry, key K, e *entry) {
	list := table[key]
	if n := len(list); n == 0 || list[n-1] != e {
		table[key] = append(list, e)
	}
}

// propertyLabel is the type of a property whose value names a label.
const propertyLabel = "olm.label"

// A factReader decodes properties. It keeps what it decoded, since bundles repeat most of their properties.
type factReader map[string]any

// read sets what the properties of b say. As for OLM, those that cannot be decoded say nothing.
func (r factReader) read(b *bundle) {
	for i := range b.properties {
		p := &b.properties[i].Property
		switch p.Type {
		case declcfg.PropertyPackage:
			if v, ok := r.decode(p, new(declcfg.PackageProperty)).(*declcfg.PackageProperty); ok {
				b.packages = append(b.packages, newPackageVersion(*v))
			}
		case declcfg.PropertyGVK:
			if v, ok := r.decode(p, new(declcfg.GVK)).(*declcfg.GVK); ok {
				b.gvks = append(b.gvks, *v)
			}
		case propertyLabel:
			if v, ok := r.decode(p, new(label)).(*label); ok {
				b.labels = append(b.labels, v.Label)
			}
		}
	}
}

// A label is the value of olm.label and of olm.label.required.
type label struct {
	Label string `json:"label"`
}

// decode returns the value of p, decoded into v or earlier, and nil where it cannot be decoded.
func (r factReader) decode(p *declcfg.Property, v any) any {
	key := propertyKey(p)
	known, ok := r[key]
	if !ok {
		if p.Unmarshal(v) == nil {
			known = v
		}
		r[key] = known
	}
	return known
}
