package resolve

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A Catalog is a catalog of a cluster: a CatalogSource of OLM Classic, or a ClusterCatalog of OLM v1.
type Catalog struct {
	Name      string
	Namespace string            // of the CatalogSource
	Priority  int               // a catalog with a higher priority is preferred
	Labels    map[string]string // of the ClusterCatalog, without the name label that every ClusterCatalog has
	Index     *declcfg.Index

	// Unavailable means that the ClusterCatalog has availabilityMode Unavailable: OLM v1 ignores it.
	Unavailable bool

	// Failure is the reason why the cluster cannot read the catalog; nil if it can. OLM Classic resolves nothing in a
	// namespace that sees such a catalog.
	Failure error

	properties map[declcfg.Key][]Property
	mu         sync.Mutex
	interned   map[string]declcfg.Property // by type and value, while objects are added
	once       sync.Once
	listing    *listing // see list
}

// A Property is a property of a bundle as listed by a registry, without manifests.
type Property struct {
	declcfg.Property
	Index int // in all properties of the bundle
}

// ReadCatalog reads the objects of the sources into a catalog. It does not validate them. The error joins the errors of
// all objects that cannot be read, sorted by position.
func ReadCatalog(ctx context.Context, sources ...declcfg.Source) (*Catalog, error) {
	c := &Catalog{}
	part := func(_ *declcfg.Meta, v any) ([]Property, error) { return c.listed(v), nil }
	index, err := declcfg.ReadIndexAnd(ctx, part, c.keep, sources...)
	c.Index, c.interned = index, nil
	return c, err
}

// Add adds an object to the catalog. It must not be called after the catalog has been used. V is the value that
// [declcfg.Object.Decode] returned for m. The catalog retains v, but not the texts of its properties.
func (c *Catalog) Add(m *declcfg.Meta, v any) {
	c.keep(m, c.listed(v))
	if c.Index == nil {
		c.Index = &declcfg.Index{}
	}
	c.Index.Add(m, declcfg.Slim(v))
}

// keep stores the properties of a bundle.
func (c *Catalog) keep(m *declcfg.Meta, properties []Property) {
	if m.Schema != declcfg.SchemaBundle {
		return
	}
	if c.properties == nil {
		c.properties = map[declcfg.Key][]Property{}
	}
	c.properties[m.Key()] = properties
}

// listed returns copies of the properties of a decoded bundle that registries list; nil for other objects. It may be
// called concurrently.
func (c *Catalog) listed(v any) []Property {
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var kept []Property
	for i := range b.Properties {
		if p := &b.Properties[i]; !slices.Contains(bulk, p.Type) {
			kept = append(kept, Property{c.intern(p), i})
		}
	}
	return slices.Clip(kept)
}

// intern returns a copy of a property that all bundles with an equal property share.
func (c *Catalog) intern(p *declcfg.Property) declcfg.Property {
	key := propertyKey(p)
	kept, ok := c.interned[key]
	if !ok {
		kept = declcfg.Property{Type: key[:len(p.Type)], Value: jsontext.Value(key[len(p.Type)+1:])}
		if c.interned == nil {
			c.interned = map[string]declcfg.Property{}
		}
		c.interned[key] = kept
	}
	return kept
}

// bulk are the property types that registries omit.
var bulk = []string{declcfg.PropertyBundleObject, declcfg.PropertyCSVMetadata}

// As returns a catalog with another name and the same contents.
func (c *Catalog) As(namespace, name string) *Catalog {
	return &Catalog{Namespace: namespace, Name: name, Index: c.Index, properties: c.properties}
}

// Properties returns the properties of a bundle of the catalog, in order.
func (c *Catalog) Properties(bundle *declcfg.Meta) []Property { return c.properties[bundle.Key()] }

// Deprecations returns the deprecations of a package of the catalog. Like OLM, it reads the first olm.deprecations
// only.
func (c *Catalog) Deprecations(pkg string) []declcfg.Deprecation {
	x := c.Index.Package(pkg)
	if x == nil || len(x.Deprecations) == 0 || x.Deprecations[0].Value == nil {
		return nil
	}
	return x.Deprecations[0].Value.Entries
}

// Lists reports whether a registry lists a bundle in a channel of a package, or in any if channel is "".
func (c *Catalog) Lists(pkg, channel, bundle string) bool {
	return slices.ContainsFunc(c.list().byPackage[pkg], func(e *entry) bool {
		return e.bundle.name == bundle && (channel == "" || e.channel.name == channel)
	})
}

// A bundle is a bundle of a catalog, or an installed operator, as OLM sees it.
type bundle struct {
	name       string
	version    *semver.Version // nil if missing or invalid
	deprecated bool            // has the property olm.deprecated
	properties []Property
	packages   []packageVersion // from the properties olm.package
	gvks       []declcfg.GVK    // from the properties olm.gvk, with duplicates
	labels     []string         // from the properties olm.label

	meta      *declcfg.Meta // nil for an installed operator
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

// An entry is a bundle in a channel, for which OLM has one variable. An installed operator is in its own channel
// without a name, in the catalog @existing.
type entry struct {
	*bundle
	*channel
	edges declcfg.Entry
}

// id returns the identifier that OLM prints in messages.
func (e *entry) id() string {
	return e.channel.id() + "/" + e.bundle.name
}

// id returns the first part of an entry identifier, without the bundle name.
func (c *channel) id() string { return c.catalog.Name + "/" + c.catalog.Namespace + "/" + c.name }

// of reports whether the entry belongs to a package, by its channel or by its properties.
func (e *entry) of(pkg string) bool {
	isIt := func(p packageVersion) bool { return p.name == pkg }
	return e.pkg == pkg || slices.ContainsFunc(e.packages, isIt)
}

// updates reports whether the entry updates an installed operator. It ignores an invalid skipRange.
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
	entries   []*entry      // in catalog order
	meta      *declcfg.Meta // nil for installed operators

	// order returns the entries that OLM offers, from the head to the tail. The order is computed once.
	order func() ([]*entry, error)
}

// compare sorts the channels of a catalog by OLM's preference.
func (c *channel) compare(d *channel) int {
	return cmp.Or(trueFirst(c.isDefault, d.isDefault), cmp.Compare(c.pkg, d.pkg), cmp.Compare(c.name, d.name))
}

// trueFirst compares booleans: true sorts before false.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// offeredBy returns the entries that OLM offers: channel by channel, each from the head to the tail. Adjacent channels
// for which same is true are sorted as one channel.
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

// order sorts entries as OLM sorts a channel, even if they are only a part of the channel.
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

// A listing is the contents of a catalog as listed by a registry: each bundle once per channel.
type listing struct {
	channels  []*channel
	entries   []*entry
	byPackage map[string][]*entry
	byGVK     map[declcfg.GVK][]*entry
	byLabel   map[string][]*entry
}

// list returns the listing of the catalog, which is built once.
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
		return // a registry cannot look it up
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
		if o.Value == nil {
			continue
		}
		ch := &channel{catalog: c, pkg: p.Name, name: o.Value.Name, isDefault: o.Value.Name == defaultChannel, meta: o.Meta}
		for _, e := range o.Value.Entries {
			if b := bundles[e.Name]; b != nil {
				ch.entries = append(ch.entries, &entry{bundle: b, channel: ch, edges: e})
			}
		}
		ch.order = sync.OnceValues(func() ([]*entry, error) { return order(ch.entries) })
		l.channels = append(l.channels, ch)
	}
}

// index builds the list of entries and the lookup tables.
func (l *listing) index() *listing {
	l.byPackage, l.byGVK, l.byLabel = map[string][]*entry{}, map[declcfg.GVK][]*entry{}, map[string][]*entry{}
	for _, ch := range l.channels {
		for _, e := range ch.entries {
			l.entries = append(l.entries, e)
			addEntry(l.byPackage, e.pkg, e)
			for _, p := range e.packages {
				addEntry(l.byPackage, p.name, e)
			}
			for _, gvk := range e.gvks {
				addEntry(l.byGVK, gvk, e)
			}
			for _, label := range e.labels {
				addEntry(l.byLabel, label, e)
			}
		}
	}
	return l
}

// addEntry adds an entry to a table unless it is already the last one for the key.
func addEntry[K comparable](table map[K][]*entry, key K, e *entry) {
	list := table[key]
	if n := len(list); n == 0 || list[n-1] != e {
		table[key] = append(list, e)
	}
}

// propertyLabel is the type of a property that names a label.
const propertyLabel = "olm.label"

// A factReader decodes properties. It caches the values, because bundles repeat most of their properties.
type factReader map[string]any

// read sets the packages, GVKs and labels of b from its properties. Like OLM, it ignores properties that it cannot
// decode.
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

// decode returns the value of p, decoded into v or cached, or nil if it cannot be decoded.
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
