package store

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"
)

// PackageNames returns the names of all packages, sorted. The caller may not change the slice.
func (s *Store) PackageNames() []string { return s.packages }

// Package returns an api.Package: its channels by name, each with its head, and what is deprecated of them.
func (s *Store) Package(name string) ([]byte, error) {
	p, err := s.pkg(name)
	if err != nil {
		return nil, err
	}
	x := s.index
	dst := appendIf(nil, packageName, x.bytes(p.name))
	var channel []byte
	for i := range p.channelCount {
		c := x.channel(p.firstChannel + i)
		channel = appendIf(channel[:0], channelName, x.bytes(c.name))
		channel = appendIf(channel, channelCSVName, x.bytes(x.bundle(x.entry(c.head).bundle).name))
		if c.deprecation > 0 {
			channel = appendDeprecation(channel, channelDeprecation, x.bytes(c.deprecation-1))
		}
		dst = appendField(dst, packageChannels, channel)
	}
	dst = appendIf(dst, packageDefaultChannelName, x.bytes(p.defaultChannel))
	if p.deprecation > 0 {
		dst = appendDeprecation(dst, packageDeprecation, x.bytes(p.deprecation-1))
	}
	return dst, nil
}

// Bundles yields an api.Bundle for every bundle in every channel as ListBundles has it: with replaces and skips, and
// without manifests where the bundle has an image. They are ordered by channel, package and bundle. A catalog without
// any yields nothing.
func (s *Store) Bundles() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		at := listCursor{index: s.index}
		for i := range s.index.rows(tLists) {
			if !s.list(uint32(i), &at, yield) {
				return
			}
		}
	}
}

// list yields the messages of one record of the list, whose first entry is the next of at. It tells whether to go on.
func (s *Store) list(i uint32, at *listCursor, yield func([]byte, error) bool) bool {
	row := s.index.row(tLists, i)
	data, err := s.record(nil, row[0])
	if err != nil {
		yield(nil, err)
		return false
	}
	for range row[1] {
		message, n := protowire.ConsumeBytes(data)
		e, more := at.next()
		if n < 0 || !more {
			yield(nil, dataLoss(s.index.record(row[0]), errWire))
			return false
		}
		data = data[n:]
		message = slices.Clip(message)
		if b := s.index.bundle(e.bundle); b.whole {
			if message, err = s.body(message, b, false); err != nil {
				yield(nil, err)
				return false
			}
		}
		if !yield(message, nil) {
			return false
		}
	}
	return true
}

// A listCursor goes through the entries in the order of lists.
type listCursor struct {
	index      *indexData
	channels   int // that were begun
	entry, end uint32
}

func (c *listCursor) next() (entryRow, bool) {
	for c.entry == c.end {
		if c.channels == c.index.rows(tOrder) {
			return entryRow{}, false
		}
		row := c.index.channel(c.index.row(tOrder, uint32(c.channels))[0])
		c.channels++
		c.entry, c.end = row.firstEntry, row.firstEntry+row.entryCount
	}
	c.entry++
	return c.index.entry(c.entry - 1), true
}

// Bundle appends to dst an api.Bundle as GetBundle has it: with manifests, and without replaces and skips. Dst comes
// back as it was where there is an error.
func (s *Store) Bundle(dst []byte, pkg, channel, name string) ([]byte, error) {
	c, err := s.channel(pkg, channel)
	if err != nil {
		return dst, err
	}
	e, ok := s.entry(c, name)
	if !ok {
		return dst, notFound("package %q, channel %q, bundle %q not found", pkg, channel, name)
	}
	x := s.index
	b := x.bundle(e.bundle)
	out := appendIf(dst, bundleChannelName, channel)
	out = appendIf(out, bundleSkipRange, x.bytes(e.skipRange))
	if b.deprecation > 0 {
		out = appendDeprecation(out, bundleDeprecation, x.bytes(b.deprecation-1))
	}
	if out, err = s.body(out, b, true); err != nil {
		return dst, err
	}
	return out, nil
}

// ChannelHead returns the name of the bundle that nothing in the channel replaces or skips.
func (s *Store) ChannelHead(pkg, channel string) (string, error) {
	c, err := s.channel(pkg, channel)
	if err != nil {
		return "", err
	}
	return s.index.string(s.index.bundle(s.index.entry(c.head).bundle).name), nil
}

// Replacement returns the name of the bundle of a channel that replaces or skips the one called name, which may be one
// that the catalog does not hold. Of several it is the one nearest to the head: what following replaces from the head
// reaches first; then what is the fewest edges away from it, and of those the first by name. A skipRange has no part in
// this.
func (s *Store) Replacement(name, pkg, channel string) (string, error) {
	c, err := s.channel(pkg, channel)
	if err != nil {
		return "", err
	}
	var best *entryRow
	for _, i := range s.edgesTo(name) {
		if i < c.firstEntry || i >= c.firstEntry+c.entryCount {
			continue
		}
		if e := s.index.entry(i); best == nil || e.rank < best.rank {
			best = &e
		}
	}
	if best == nil {
		return "", notFound("no entry found for package %q, channel %q", pkg, channel)
	}
	return s.index.string(s.index.bundle(best.bundle).name), nil
}

// EntriesThatReplace yields an api.ChannelEntry for every bundle in a channel that replaces the one called name, and
// one for every skip of it by a bundle that does not replace it; their replaces is what the bundle replaces, not name.
// They are ordered by package, channel and bundle.
func (s *Store) EntriesThatReplace(name string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		edges := s.edgesTo(name)
		if len(edges) == 0 {
			yield(nil, notFound("no channel entries found that replace %s", name))
			return
		}
		for _, i := range edges {
			e := s.index.entry(i)
			if !yield(s.channelEntry(e, e.replaces), nil) {
				return
			}
		}
	}
}

// EntriesThatProvide yields an api.ChannelEntry for every bundle in a channel that provides the kind, followed by one
// for each bundle that it skips and does not replace, with that as its replaces. They are ordered by package, channel
// and bundle. With latestOnly, they are those of channel heads, and of skips those that are in the channel.
func (s *Store) EntriesThatProvide(group, version, kind string, latestOnly bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		found := false
		for _, i := range s.providers(group, version, kind) {
			e := s.index.entry(i)
			c := s.index.channel(e.channel)
			if latestOnly && c.head != i {
				continue
			}
			found = true
			for to := range s.provided(c, e, latestOnly) {
				if !yield(s.channelEntry(e, to), nil) {
					return
				}
			}
		}
		if !found {
			yield(nil, notFound("no channel entries found that provide group:%q version:%q kind:%q", group, version, kind))
		}
	}
}

// provided yields what the channel entries of a provider have as their replaces.
func (s *Store) provided(c channelRow, e entryRow, inChannel bool) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if !yield(e.replaces) {
			return
		}
		for _, skip := range s.index.tables[tSkips][e.firstSkip : e.firstSkip+e.skipCount] {
			if skip == e.replaces {
				continue
			}
			if inChannel {
				if _, ok := s.entryOf(c, skip); !ok {
					continue
				}
			}
			if !yield(skip) {
				return
			}
		}
	}
}

// DefaultProvider returns the bundle to install for a kind: the first package by name that provides it with the head of
// its default channel.
func (s *Store) DefaultProvider(group, version, kind string) (pkg, channel, bundle string, err error) {
	x := s.index
	for _, i := range s.providers(group, version, kind) {
		e := x.entry(i)
		c := x.channel(e.channel)
		p := x.pkg(c.pkg)
		if c.head == i && c.name == p.defaultChannel {
			return x.string(p.name), x.string(c.name), x.string(x.bundle(e.bundle).name), nil
		}
	}
	return "", "", "", notFound("no entry found that provides group:%q version:%q kind:%q", group, version, kind)
}

// CustomMetas yields a google.protobuf.Struct for every object with that schema and package, which may be "" for those
// without one, in the order of the catalog. Of the schemas that the format itself defines, and where there is none, it
// yields nothing.
func (s *Store) CustomMetas(schema, pkg string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		schemaID, ok := s.index.find(schema)
		packageID, known := s.index.find(pkg)
		if !ok || !known {
			return
		}
		first, end := s.index.search(tCustom, schemaID, packageID)
		for i := first; i < end; i++ {
			data, err := s.record(nil, s.index.row(tCustom, i)[2])
			if !yield(data, err) || err != nil {
				return
			}
		}
	}
}

func (s *Store) channelEntry(e entryRow, replaces uint32) []byte {
	x := s.index
	c := x.channel(e.channel)
	dst := appendIf(nil, entryPackageName, x.bytes(x.pkg(c.pkg).name))
	dst = appendIf(dst, entryChannelName, x.bytes(c.name))
	dst = appendIf(dst, entryBundleName, x.bytes(x.bundle(e.bundle).name))
	return appendIf(dst, entryReplaces, x.bytes(replaces))
}

// A lookupError says what the catalog does not hold.
type lookupError struct{ msg string }

func (e *lookupError) Error() string { return e.msg }

func (e *lookupError) Unwrap() error { return ErrNotFound }

func notFound(format string, args ...any) error { return &lookupError{fmt.Sprintf(format, args...)} }

func (s *Store) pkg(name string) (packageRow, error) {
	i, ok := slices.BinarySearch(s.packages, name)
	if !ok {
		return packageRow{}, notFound("package %q not found", name)
	}
	return s.index.pkg(uint32(i)), nil
}

func (s *Store) channel(pkg, name string) (channelRow, error) {
	p, err := s.pkg(pkg)
	if err != nil {
		return channelRow{}, err
	}
	x := s.index
	i, ok := sort.Find(int(p.channelCount), func(i int) int {
		return cmp.Compare(name, x.string(x.channel(p.firstChannel+uint32(i)).name))
	})
	if !ok {
		return channelRow{}, notFound("package %q, channel %q not found", pkg, name)
	}
	return x.channel(p.firstChannel + uint32(i)), nil
}

// entry returns the entry of a bundle in a channel.
func (s *Store) entry(c channelRow, name string) (entryRow, bool) {
	id, ok := s.index.find(name)
	if !ok {
		return entryRow{}, false
	}
	return s.entryOf(c, id)
}

func (s *Store) entryOf(c channelRow, name uint32) (entryRow, bool) {
	x := s.index
	i, ok := sort.Find(int(c.entryCount), func(i int) int {
		return cmp.Compare(name, x.bundle(x.entry(c.firstEntry+uint32(i)).bundle).name)
	})
	if !ok {
		return entryRow{}, false
	}
	return x.entry(c.firstEntry + uint32(i)), true
}

// edgesTo returns the entries that replace or skip a bundle; see tEdges.
func (s *Store) edgesTo(name string) []uint32 {
	id, ok := s.index.find(name)
	if !ok {
		return nil
	}
	first, end := s.index.search(tEdges, id)
	entries := make([]uint32, 0, end-first)
	for i := first; i < end; i++ {
		entries = append(entries, s.index.row(tEdges, i)[1])
	}
	return entries
}

// providers returns the entries of bundles that provide a kind.
func (s *Store) providers(group, version, kind string) []uint32 {
	x := s.index
	var key [3]uint32
	for i, name := range []string{group, version, kind} {
		id, ok := x.find(name)
		if !ok {
			return nil
		}
		key[i] = id
	}
	first, end := x.search(tKinds, key[:]...)
	if first == end {
		return nil
	}
	row := x.row(tKinds, first)
	return x.tables[tProviders][row[3] : row[3]+row[4]]
}
