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
	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A builtEntry is a channel entry, with the fields of its message in lists.
type builtEntry struct {
	row          id[entryRow]
	pkg, channel string
	channelRow   id[channelRow]
	entry        declcfg.Entry
	bundle       *builtBundle
	rank         int
	deprecation  *api.Deprecation // of the bundle; nil for none
}

// errInvalid is the error for a catalog that package validate rejects. Package validate reports the reason.
var errInvalid = errors.New("the catalog is invalid; run opm validate")

type packageLinker struct {
	*builder
	name         string
	row          id[packageRow]
	bundles      map[string]*builtBundle
	deprecations map[deprecated]string
}

type deprecated struct{ schema, name string }

func (b *builder) linkPackage(p *declcfg.PackageIndex) {
	if len(p.Packages) == 0 {
		return
	}
	l := packageLinker{b, p.Name, id[packageRow](len(b.data.Packages)), map[string]*builtBundle{}, map[deprecated]string{}}
	for _, o := range p.Deprecations {
		for _, e := range o.Value.Entries {
			l.deprecations[deprecated{e.Reference.Schema, e.Reference.Name}] = e.Message
		}
	}
	for _, o := range sortedByName(p.Bundles, func(b *declcfg.BundleSummary) string { return b.Name }) {
		built := b.bundles[o.Meta.Key()]
		l.bundles[o.Value.Name] = built
		built.row = add(&b.data.Bundles, bundleRow{
			Name: b.names.id(o.Value.Name), Package: l.row, Body: built.body, Whole: built.whole,
			Deprecation: l.deprecation(declcfg.SchemaBundle, o.Value.Name),
		})
	}
	first := len(b.data.Channels)
	for _, o := range sortedByName(p.Channels, func(c *declcfg.Channel) string { return c.Name }) {
		l.channel(o)
	}
	defined := p.Packages[0]
	texts := b.texts[defined.Meta.Key()]
	add(&b.data.Packages, packageRow{
		Name: b.names.id(p.Name), DefaultChannel: b.names.id(defined.Value.DefaultChannel),
		Deprecation: l.deprecation(declcfg.SchemaPackage, ""), Channels: rowsFrom(b.data.Channels, first),
		Description: texts.description, Icon: texts.icon,
	})
}

// sortedByName returns objects of one schema, sorted by name. Of several objects with one name, it returns the first.
func sortedByName[T any](all []declcfg.Indexed[T], name func(*T) string) []declcfg.Indexed[T] {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y declcfg.Indexed[T]) int { return cmp.Compare(name(x.Value), name(y.Value)) })
	return slices.CompactFunc(all, func(x, y declcfg.Indexed[T]) bool { return name(x.Value) == name(y.Value) })
}

// deprecation returns the message of a deprecation, if there is one.
func (l *packageLinker) deprecation(schema, name string) optional[stringRow] {
	if message, ok := l.deprecations[deprecated{schema, name}]; ok {
		return some(l.names.id(message))
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
	row := add(&l.data.Channels, channelRow{
		Name: l.names.id(o.Value.Name), Package: l.row, Deprecation: l.deprecation(declcfg.SchemaChannel, o.Value.Name),
	})
	entries := slices.Clone(o.Value.Entries)
	slices.SortStableFunc(entries, func(x, y declcfg.Entry) int { return cmp.Compare(x.Name, y.Name) })
	for _, e := range slices.CompactFunc(entries, func(x, y declcfg.Entry) bool { return x.Name == y.Name }) {
		built := &builtEntry{
			pkg: l.name, channel: o.Value.Name, channelRow: row, entry: e, bundle: l.bundles[e.Name], rank: ranks[e.Name],
		}
		if built.bundle == nil {
			l.fail(o.Meta, "/entries", errInvalid)
			return
		}
		if message, ok := l.deprecations[deprecated{declcfg.SchemaBundle, e.Name}]; ok {
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
		firstSkip := len(b.data.Skips)
		for _, s := range e.entry.Skips {
			add(&b.data.Skips, skipRow{b.names.id(s)})
		}
		e.row = add(&b.data.Entries, entryRow{
			Channel: e.channelRow, Bundle: e.bundle.row, Replaces: b.names.id(e.entry.Replaces),
			SkipRange: b.names.id(e.entry.SkipRange), Skips: rowsFrom(b.data.Skips, firstSkip), Rank: uint32(e.rank),
		})
		c := &b.data.Channels[e.channelRow]
		if c.Entries.Count == 0 {
			c.Entries.First = uint32(e.row)
		}
		c.Entries.Count++
		if e.rank == 0 {
			c.Head = e.row
		}
	}
}

// linkEdges adds an edge for each name that an entry replaces or skips.
func (b *builder) linkEdges() {
	type edge struct {
		to   string
		from id[entryRow]
	}
	var edges []edge
	for _, e := range b.entries {
		edges = append(edges, edge{e.entry.Replaces, e.row})
		for _, s := range e.entry.Skips {
			if s != e.entry.Replaces {
				edges = append(edges, edge{s, e.row})
			}
		}
	}
	slices.SortStableFunc(edges, func(x, y edge) int { return cmp.Compare(x.to, y.to) })
	for _, e := range edges {
		add(&b.data.Edges, edgeRow{b.names.id(e.to), e.from})
	}
}

func (b *builder) linkKinds() {
	providers := map[kind][]id[entryRow]{}
	for _, e := range b.entries {
		for _, k := range e.bundle.kinds {
			providers[k] = append(providers[k], e.row)
		}
	}
	compare := func(x, y stringID) int { return cmp.Compare(b.names.list[x], b.names.list[y]) }
	kinds := slices.SortedFunc(maps.Keys(providers), func(x, y kind) int {
		return cmp.Or(compare(x.group, y.group), compare(x.version, y.version), compare(x.kind, y.kind))
	})
	for _, k := range kinds {
		first := len(b.data.Providers)
		for _, entry := range providers[k] {
			add(&b.data.Providers, providerRow{entry})
		}
		add(&b.data.Kinds, kindRow{k.group, k.version, k.kind, rowsFrom(b.data.Providers, first)})
	}
}

// listSize is the approximate number of bytes of messages in one record of a list.
const listSize = 64 << 10

func (b *builder) writeLists(ctx context.Context) error {
	type list struct {
		record record
		run    run[entryRow]
	}
	encode := func(entries []*builtEntry) (l list, err error) {
		buf := b.packer.buffers.Get()
		defer func() { b.packer.buffers.Put(buf) }()
		for _, e := range entries {
			if buf, err = e.append(buf); err != nil {
				return l, err
			}
		}
		return list{b.packer.record(buf), run[entryRow]{uint32(entries[0].row), uint32(len(entries))}}, nil
	}
	for l, err := range parallel.Try(ctx, 0, runs(b.listed), encode) {
		if err != nil {
			return err
		}
		record, err := b.records.add(l.record)
		if err != nil {
			return err
		}
		add(&b.data.Lists, listRow{record, l.run})
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
