package store

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/serve/store/internal/index"
	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A builtEntry is a channel entry, with the fields of its message in lists.
type builtEntry struct {
	number        uint32 // in the index, once it is linked
	pkg, channel  string
	channelNumber uint32
	entry         declcfg.Entry
	bundle        *builtBundle
	rank          int
	deprecation   *api.Deprecation // of the bundle; nil for none
}

// errInvalid is the error for a catalog that package validate rejects. Package validate reports the reason.
var errInvalid = errors.New("the catalog is invalid; run opm validate")

type packageLinker struct {
	*builder
	name         string
	row          *index.Package
	number       uint32 // of the package
	bundles      map[string]*builtBundle
	deprecations map[declcfg.Subject]string
}

func (b *builder) linkPackage(p *declcfg.PackageIndex) {
	if len(p.Packages) == 0 {
		return
	}
	l := packageLinker{
		builder: b, name: p.Name, number: uint32(len(b.index.Packages)),
		bundles: map[string]*builtBundle{}, deprecations: p.DeprecationMessages(),
	}
	for _, o := range sortedByName(p.Bundles, func(b *declcfg.BundleSummary) string { return b.Name }) {
		built := b.bundles[o.Meta.Key()]
		l.bundles[o.Value.Name] = built
		x := &b.index
		built.number = uint32(len(x.BundleName))
		x.BundleName = append(x.BundleName, b.names.number(o.Value.Name))
		x.BundlePackage = append(x.BundlePackage, l.number)
		x.BundleBody = append(x.BundleBody, built.body)
		x.BundleDeprecation = append(x.BundleDeprecation, l.deprecation(declcfg.SchemaBundle, o.Value.Name))
		x.BundleWhole = append(x.BundleWhole, built.whole)
	}
	defined := p.Packages[0]
	texts := b.texts[defined.Meta.Key()]
	l.row = &index.Package{
		Name: p.Name, DefaultChannel: defined.Value.DefaultChannel,
		Deprecation: l.deprecation(declcfg.SchemaPackage, ""), Description: texts.description, Icon: texts.icon,
	}
	b.index.Packages = append(b.index.Packages, l.row)
	for _, o := range sortedByName(p.Channels, func(c *declcfg.Channel) string { return c.Name }) {
		l.channel(o)
	}
}

// sortedByName returns objects of one schema, sorted by name. Of several objects with one name, it returns the first.
func sortedByName[T any](all []declcfg.Indexed[T], name func(*T) string) []declcfg.Indexed[T] {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y declcfg.Indexed[T]) int { return cmp.Compare(name(x.Value), name(y.Value)) })
	return slices.CompactFunc(all, func(x, y declcfg.Indexed[T]) bool { return name(x.Value) == name(y.Value) })
}

// deprecation returns the number of the message of a deprecation plus one, or 0 for none.
func (l *packageLinker) deprecation(schema, name string) uint32 {
	if message, ok := l.deprecations[declcfg.Subject{Schema: schema, Name: name}]; ok {
		return l.names.number(message) + 1
	}
	return 0
}

// channel adds a channel, and collects its entries by name.
func (l *packageLinker) channel(o declcfg.Indexed[declcfg.Channel]) {
	c := graph.New(o.Value.Entries)
	heads := c.Heads()
	if len(heads) != 1 {
		l.fail(o.Meta, "/entries", errInvalid)
		return
	}
	ranks := map[string]int{} // counted from the head, which has 0; see [Store.Replacement]
	for _, name := range append(c.Chain(), byDistance(heads[0], o.Value.Entries)...) {
		if _, ok := ranks[name]; !ok {
			ranks[name] = len(ranks)
		}
	}
	number := uint32(len(l.index.Channels))
	l.row.Channels = append(l.row.Channels, number)
	l.index.Channels = append(l.index.Channels, &index.Channel{
		Name: o.Value.Name, Package: l.number, Deprecation: l.deprecation(declcfg.SchemaChannel, o.Value.Name),
	})
	entries := slices.Clone(o.Value.Entries)
	slices.SortStableFunc(entries, func(x, y declcfg.Entry) int { return cmp.Compare(x.Name, y.Name) })
	for _, e := range slices.CompactFunc(entries, func(x, y declcfg.Entry) bool { return x.Name == y.Name }) {
		built := &builtEntry{
			pkg: l.name, channel: o.Value.Name, channelNumber: number, entry: e, bundle: l.bundles[e.Name],
			rank: ranks[e.Name],
		}
		if built.bundle == nil {
			l.fail(o.Meta, "/entries", errInvalid)
			return
		}
		if message, ok := l.deprecations[declcfg.Subject{Schema: declcfg.SchemaBundle, Name: e.Name}]; ok {
			built.deprecation = &api.Deprecation{Message: message}
		}
		l.entries = append(l.entries, built)
	}
}

// byDistance returns the names of all entries, sorted by the number of edges from the head, then by name. Unreachable
// entries come last.
func byDistance(head string, entries []declcfg.Entry) []string {
	edges := make(map[string][]string, len(entries))
	for _, e := range entries {
		edges[e.Name] = append([]string{e.Replaces}, e.Skips...)
	}
	seen := map[string]bool{head: true}
	var sorted []string
	for ring := []string{head}; len(ring) > 0; {
		slices.Sort(ring)
		sorted = append(sorted, ring...)
		var next []string
		for _, name := range ring {
			for _, to := range edges[name] {
				if _, ok := edges[to]; ok && !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		ring = next
	}
	reached := len(sorted)
	for name := range edges {
		if !seen[name] {
			sorted = append(sorted, name)
		}
	}
	slices.Sort(sorted[reached:])
	return sorted
}

// linkEntries adds the entries in the order of lists: by channel, package and bundle.
func (b *builder) linkEntries() {
	b.listed = slices.Clone(b.entries)
	slices.SortStableFunc(b.listed, func(x, y *builtEntry) int {
		return cmp.Or(cmp.Compare(x.channel, y.channel), cmp.Compare(x.pkg, y.pkg))
	})
	for _, e := range b.listed {
		x := &b.index
		e.number = uint32(len(x.EntryBundle))
		x.EntryBundle = append(x.EntryBundle, e.bundle.number)
		x.EntryChannel = append(x.EntryChannel, e.channelNumber)
		x.EntryReplaces = append(x.EntryReplaces, b.names.number(e.entry.Replaces))
		x.EntrySkipRange = append(x.EntrySkipRange, b.names.number(e.entry.SkipRange))
		x.EntryRank = append(x.EntryRank, uint32(e.rank))
		for _, s := range e.entry.Skips {
			x.Skips = append(x.Skips, b.names.number(s))
		}
		x.EntrySkipsEnd = append(x.EntrySkipsEnd, uint32(len(x.Skips)))
		c := x.Channels[e.channelNumber]
		c.Entries = append(c.Entries, e.number)
		if e.rank == 0 {
			c.Head = e.number
		}
	}
}

// linkEdges adds an edge for each name that an entry replaces or skips.
func (b *builder) linkEdges() {
	type edge struct {
		to   string
		from uint32
	}
	var edges []edge
	for _, e := range b.entries {
		edges = append(edges, edge{e.entry.Replaces, e.number})
		for _, s := range e.entry.Skips {
			if s != e.entry.Replaces {
				edges = append(edges, edge{s, e.number})
			}
		}
	}
	slices.SortStableFunc(edges, func(x, y edge) int { return cmp.Compare(x.to, y.to) })
	for _, e := range edges {
		b.index.EdgeName = append(b.index.EdgeName, b.names.number(e.to))
		b.index.EdgeEntry = append(b.index.EdgeEntry, e.from)
	}
}

func (b *builder) linkKinds() {
	for _, e := range b.entries {
		for _, k := range e.bundle.kinds {
			k.providers = append(k.providers, e.number)
		}
	}
	kinds := slices.SortedFunc(maps.Values(b.kinds), func(x, y *builtKind) int {
		return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(x.Version, y.Version), cmp.Compare(x.Kind, y.Kind))
	})
	x := &b.index
	for _, k := range kinds {
		x.KindGroup = append(x.KindGroup, b.names.number(k.Group))
		x.KindVersion = append(x.KindVersion, b.names.number(k.Version))
		x.KindKind = append(x.KindKind, b.names.number(k.Kind))
		x.Providers = append(x.Providers, k.providers...)
		x.KindProvidersEnd = append(x.KindProvidersEnd, uint32(len(x.Providers)))
	}
}

// listSize is the approximate number of bytes of messages in one record of a list.
const listSize = 64 << 10

func (b *builder) writeLists(ctx context.Context) error {
	type list struct {
		record  record
		entries int
	}
	encode := func(entries []*builtEntry) (l list, err error) {
		buf := b.packer.buffers.Get()
		defer func() { b.packer.buffers.Put(buf) }()
		for _, e := range entries {
			if buf, err = e.append(buf); err != nil {
				return l, err
			}
		}
		return list{b.packer.record(buf), len(entries)}, nil
	}
	for l, err := range parallel.Try(ctx, 0, runs(b.listed), encode) {
		if err != nil {
			return err
		}
		number, err := b.records.add(l.record)
		if err != nil {
			return err
		}
		b.index.Lists = append(b.index.Lists, &index.List{Record: number, Entries: uint32(l.entries)})
	}
	return nil
}

// runs splits entries into runs of about listSize.
func runs(entries []*builtEntry) iter.Seq[[]*builtEntry] {
	return func(yield func([]*builtEntry) bool) {
		for len(entries) > 0 {
			n, size := 0, 0
			for n < len(entries) && size < listSize {
				size += entries[n].bundle.fields.size()
				n++
			}
			if !yield(entries[:n]) {
				return
			}
			entries = entries[n:]
		}
	}
}

// append appends the api.Bundle of ListBundles without its manifests, preceded by its length.
func (e *builtEntry) append(dst []byte) ([]byte, error) {
	own := &api.Bundle{
		ChannelName: e.channel, SkipRange: e.entry.SkipRange, Replaces: e.entry.Replaces, Skips: e.entry.Skips,
		Deprecation: e.deprecation,
	}
	dst = protowire.AppendVarint(dst, uint64(e.bundle.fields.size()+proto.Size(own)))
	dst, err := e.bundle.fields.unpack(dst)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(dst, own)
}
