package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A builtEntry is an entry of a channel with what lists say of it.
type builtEntry struct {
	row         uint32
	pkg         string
	channel     string
	channelRow  uint32
	entry       declcfg.Entry
	bundle      *builtBundle
	deprecation *string // of the bundle; nil for none
}

// An edge leads from an entry to a bundle that it replaces or skips.
type edge struct {
	to   string
	from uint32
}

// link fills the tables of the index with what relates the objects of the catalog.
func (b *builder) link() {
	b.providers = make([][]uint32, len(b.kinds.list))
	for _, p := range b.catalog.Packages() {
		l := packageLinker{builder: b, index: p, bundles: map[string]*builtBundle{}, deprecations: map[reference]string{}}
		l.link()
	}
	b.linkOrder()
	b.linkEdges()
	b.linkKinds()
	b.linkCustom()
}

// linkOrder sorts the entries as they are listed: by channel, package and bundle.
func (b *builder) linkOrder() {
	slices.SortStableFunc(b.byChannel, func(x, y *builtEntry) int {
		return cmp.Or(cmp.Compare(x.channel, y.channel), cmp.Compare(x.pkg, y.pkg))
	})
	for i, e := range b.byChannel {
		if i == 0 || e.channelRow != b.byChannel[i-1].channelRow {
			b.data.add(tOrder, e.channelRow)
		}
	}
}

func (b *builder) linkEdges() {
	slices.SortStableFunc(b.edges, func(x, y edge) int { return cmp.Compare(x.to, y.to) })
	for _, e := range b.edges {
		b.data.add(tEdges, b.names.id(e.to), e.from)
	}
}

func (b *builder) linkKinds() {
	sorted := make([]int, len(b.kinds.list))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortFunc(sorted, func(i, j int) int {
		x, y := b.kinds.list[i], b.kinds.list[j]
		return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(x.Version, y.Version), cmp.Compare(x.Kind, y.Kind))
	})
	for _, i := range sorted {
		k := b.kinds.list[i]
		first := uint32(b.data.rows(tProviders))
		for _, entry := range b.providers[i] {
			b.data.add(tProviders, entry)
		}
		b.data.add(tKinds, b.names.id(k.Group), b.names.id(k.Version), b.names.id(k.Kind), first, uint32(len(b.providers[i])))
	}
}

func (b *builder) linkCustom() {
	slices.SortStableFunc(b.custom, func(x, y customMeta) int {
		return cmp.Or(cmp.Compare(x.schema, y.schema), cmp.Compare(x.pkg, y.pkg))
	})
	for _, c := range b.custom {
		b.data.add(tCustom, b.names.id(c.schema), b.names.id(c.pkg), c.record)
	}
}

// A packageLinker enters one package into the tables.
type packageLinker struct {
	*builder
	index        *declcfg.PackageIndex
	row          uint32
	bundles      map[string]*builtBundle
	deprecations map[reference]string
}

// A reference is to what can be deprecated.
type reference struct{ schema, name string }

func (l *packageLinker) fail(m *declcfg.Meta, ptr jsontext.Pointer, format string, args ...any) {
	l.errs = append(l.errs, &declcfg.Error{Pos: m.Place(ptr), Pointer: ptr, Err: fmt.Errorf(format, args...)})
}

func (l *packageLinker) link() {
	if len(l.index.Packages) == 0 || l.index.Name == "" {
		l.unknownPackage()
		return
	}
	for _, again := range l.index.Packages[1:] {
		l.fail(again.Meta, "/name", "the package %q stands at %v too", l.index.Name, l.index.Packages[0].Meta.Pos)
	}
	l.row = uint32(l.data.rows(tPackages))
	l.readDeprecations()
	firstBundle := l.linkBundles()
	firstChannel := uint32(l.data.rows(tChannels))
	channels := sortedByName(l, l.index.Channels, "channel", func(c *declcfg.Channel) string { return c.Name })
	for _, c := range channels {
		l.channel(c)
	}
	l.checkUse()
	p := l.index.Packages[0]
	if !slices.ContainsFunc(channels, func(c declcfg.Indexed[declcfg.Channel]) bool {
		return c.Value.Name == p.Value.DefaultChannel
	}) {
		l.fail(p.Meta, "/defaultChannel", "the package has no channel %q", p.Value.DefaultChannel)
	}
	texts := l.texts[p.Meta]
	l.data.add(tPackages, l.names.id(p.Value.Name), l.names.id(p.Value.DefaultChannel),
		l.deprecated(declcfg.SchemaPackage, ""),
		firstChannel, uint32(l.data.rows(tChannels))-firstChannel, firstBundle, uint32(l.data.rows(tBundles))-firstBundle,
		texts.description, texts.icon)
}

// unknownPackage reports objects that belong to a package that does not exist.
func (l *packageLinker) unknownPackage() {
	for _, m := range l.index.Metas() {
		if err := declcfg.CheckOwner(m); err != nil {
			l.errs = append(l.errs, err)
			continue
		}
		l.fail(m, "/package", "there is no package %q", l.index.Name)
	}
}

// sortedByName returns objects of one schema by name, and reports those of a name that another one has. Those that are
// left out have been reported.
func sortedByName[T any](
	l *packageLinker, all []declcfg.Indexed[T], what string, name func(*T) string,
) []declcfg.Indexed[T] {
	all = slices.DeleteFunc(slices.Clone(all), func(o declcfg.Indexed[T]) bool { return o.Value == nil })
	slices.SortStableFunc(all, func(x, y declcfg.Indexed[T]) int { return cmp.Compare(name(x.Value), name(y.Value)) })
	return slices.CompactFunc(all, func(again, first declcfg.Indexed[T]) bool {
		if name(again.Value) != name(first.Value) {
			return false
		}
		l.fail(again.Meta, "/name", "the %s %q stands at %v too", what, name(again.Value), first.Meta.Pos)
		return true
	})
}

// linkBundles enters the bundles of the package and returns the row of the first.
func (l *packageLinker) linkBundles() uint32 {
	first := uint32(l.data.rows(tBundles))
	name := func(b *declcfg.BundleSummary) string { return b.Name }
	for _, o := range sortedByName(l, l.index.Bundles, "bundle", name) {
		built := l.builder.bundles[o.Meta]
		l.bundles[o.Value.Name] = built // nil for one that has been reported
		if built == nil {
			continue
		}
		whole := uint32(0)
		if built.whole {
			whole = 1
		}
		built.row = l.data.add(tBundles, l.names.id(o.Value.Name), l.row, built.body,
			l.deprecated(declcfg.SchemaBundle, o.Value.Name), whole)
	}
	return first
}

// markUsed notes that bundles are in a channel, if only one that cannot be served.
func (l *packageLinker) markUsed(entries []declcfg.Entry) {
	for _, e := range entries {
		if b := l.bundles[e.Name]; b != nil {
			b.used = true
		}
	}
}

// checkUse reports bundles that are in no channel.
func (l *packageLinker) checkUse() {
	for _, o := range l.index.Bundles {
		if b := l.builder.bundles[o.Meta]; b != nil && !b.used && l.bundles[o.Value.Name] == b {
			l.fail(o.Meta, "/name", "the bundle %q is in no channel", o.Value.Name)
		}
	}
}

// channel enters a channel and its entries.
func (l *packageLinker) channel(o declcfg.Indexed[declcfg.Channel]) {
	first := uint32(l.data.rows(tEntries))
	row := uint32(l.data.rows(tChannels))
	c := graph.New(o.Value.Entries)
	ranks, err := rankEntries(c, o.Value.Entries)
	if err != nil {
		l.fail(o.Meta, "/entries", "%w", err)
		l.markUsed(o.Value.Entries)
		return
	}
	head := first
	for _, i := range l.sortedEntries(o) {
		e := o.Value.Entries[i]
		if ranks[e.Name] == 0 {
			head = uint32(l.data.rows(tEntries))
		}
		l.entry(o, i, row, ranks[e.Name])
	}
	l.data.add(tChannels, l.names.id(o.Value.Name), l.row, head, l.deprecated(declcfg.SchemaChannel, o.Value.Name),
		first, uint32(l.data.rows(tEntries))-first)
}

// sortedEntries returns the entries of a channel by name, and reports those of a name that another one has.
func (l *packageLinker) sortedEntries(o declcfg.Indexed[declcfg.Channel]) []int {
	entries := o.Value.Entries
	sorted := make([]int, len(entries))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortStableFunc(sorted, func(i, j int) int { return cmp.Compare(entries[i].Name, entries[j].Name) })
	return slices.CompactFunc(sorted, func(again, first int) bool {
		if entries[again].Name != entries[first].Name {
			return false
		}
		l.fail(o.Meta, entryPointer(again)+"/name", "the entry %q stands in the channel twice", entries[again].Name)
		return true
	})
}

func entryPointer(i int) jsontext.Pointer { return jsontext.Pointer(fmt.Sprintf("/entries/%d", i)) }

// entry enters one entry of a channel.
func (l *packageLinker) entry(o declcfg.Indexed[declcfg.Channel], i int, channel, rank uint32) {
	e := o.Value.Entries[i]
	built, known := l.bundles[e.Name]
	if built == nil {
		if !known {
			l.fail(o.Meta, entryPointer(i)+"/name", "there is no bundle %q", e.Name)
		}
		return
	}
	built.used = true
	firstSkip := uint32(l.data.rows(tSkips))
	for _, s := range e.Skips {
		l.data.add(tSkips, l.names.id(s))
	}
	row := l.data.add(tEntries, channel, built.row, l.names.id(e.Replaces), l.names.id(e.SkipRange),
		firstSkip, uint32(len(e.Skips)), rank)
	listed := &builtEntry{row: row, pkg: l.index.Name, channel: o.Value.Name, channelRow: channel, entry: e, bundle: built}
	if message, ok := l.deprecations[reference{declcfg.SchemaBundle, e.Name}]; ok {
		listed.deprecation = &message
	}
	l.byChannel = append(l.byChannel, listed)
	l.edges = append(l.edges, edge{e.Replaces, row})
	for _, s := range e.Skips {
		if s != e.Replaces {
			l.edges = append(l.edges, edge{s, row})
		}
	}
	for _, k := range built.kinds {
		l.providers[k] = append(l.providers[k], row)
	}
}

// readDeprecations collects the messages of the package.
func (l *packageLinker) readDeprecations() {
	for n, o := range l.index.Deprecations {
		if n > 0 {
			l.fail(o.Meta, "", "deprecations of the package %q stand at %v too", l.index.Name, l.index.Deprecations[0].Meta.Pos)
			continue
		}
		if o.Value == nil {
			continue
		}
		for i, e := range o.Value.Entries {
			ref := reference{e.Reference.Schema, e.Reference.Name}
			if _, twice := l.deprecations[ref]; twice {
				l.fail(o.Meta, entryPointer(i)+"/reference", "%s %q is deprecated twice", ref.schema, ref.name)
			}
			l.deprecations[ref] = e.Message
		}
	}
}

// deprecated returns the string of a message plus one, and 0 for what is not deprecated.
func (l *packageLinker) deprecated(schema, name string) uint32 {
	if message, ok := l.deprecations[reference{schema, name}]; ok {
		return l.names.id(message) + 1
	}
	return 0
}

var errHeads = errors.New("want exactly one head, an entry that no other replaces or skips")

// rankEntries returns by name how near entries are to the head, which is 0; see [Store.Replacement].
func rankEntries(c *graph.Channel, entries []declcfg.Entry) (map[string]uint32, error) {
	heads := c.Heads()
	if len(heads) != 1 {
		return nil, fmt.Errorf("%w, found %d", errHeads, len(heads))
	}
	ranks := map[string]uint32{}
	for _, name := range append(c.Chain(), byDistance(heads[0], entries)...) {
		if _, ok := ranks[name]; !ok {
			ranks[name] = uint32(len(ranks))
		}
	}
	return ranks, nil
}

// byDistance returns the names of all entries by the number of edges from the head, then by name. Those that no edges
// lead to come last.
func byDistance(head string, entries []declcfg.Entry) []string {
	byName := make(map[string]declcfg.Entry, len(entries))
	for _, e := range entries {
		if _, twice := byName[e.Name]; !twice {
			byName[e.Name] = e
		}
	}
	seen := map[string]bool{head: true}
	sorted := []string{}
	for ring := []string{head}; len(ring) > 0; {
		slices.Sort(ring)
		sorted = append(sorted, ring...)
		var next []string
		for _, name := range ring {
			e := byName[name]
			for _, to := range append([]string{e.Replaces}, e.Skips...) {
				if _, ok := byName[to]; ok && !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		ring = next
	}
	var rest []string
	for name := range byName {
		if !seen[name] {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(sorted, rest...)
}
