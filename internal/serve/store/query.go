package store

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// PackageNames returns the names of all packages, sorted. The caller must not change the slice.
func (s *Store) PackageNames() []string { return s.packages }

// Package returns an api.Package: its channels by name, each with its head, and their deprecations.
func (s *Store) Package(name string) ([]byte, error) {
	p, err := s.pkg(name)
	if err != nil {
		return nil, err
	}
	x := s.index
	message := &api.Package{
		Name: name, DefaultChannelName: x.string(p.DefaultChannel), Deprecation: x.deprecation(p.Deprecation),
	}
	for _, c := range p.Channels.of(x.Channels) {
		message.Channels = append(message.Channels, &api.Channel{
			Name: x.string(c.Name), CsvName: x.entryName(c.Head), Deprecation: x.deprecation(c.Deprecation),
		})
	}
	return proto.Marshal(message)
}

// deprecation returns a deprecation with a message, nil for none.
func (x *index) deprecation(message optional[stringRow]) *api.Deprecation {
	if s, ok := message.get(); ok {
		return &api.Deprecation{Message: x.string(s)}
	}
	return nil
}

func (x *index) entryName(e id[entryRow]) string {
	return x.string(x.Bundles[x.Entries[e].Bundle].Name)
}

// Bundles yields the api.Bundle of ListBundles for every bundle in every channel: with replaces and skips, and without
// manifests if the bundle has an image. They are sorted by channel, package and bundle. An empty catalog yields
// nothing.
func (s *Store) Bundles() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, l := range s.index.Lists {
			if !s.list(l, yield) {
				return
			}
		}
	}
}

// list yields the messages of one record of the list. It reports whether to continue.
func (s *Store) list(l listRow, yield func([]byte, error) bool) bool {
	data, err := s.record(nil, l.Record)
	if err != nil {
		yield(nil, err)
		return false
	}
	for _, e := range l.Entries.of(s.index.Entries) {
		message, n := protowire.ConsumeBytes(data)
		if n < 0 {
			yield(nil, dataLoss(s.index.Records[l.Record], errWire))
			return false
		}
		data, message = data[n:], slices.Clip(message)
		if b := s.index.Bundles[e.Bundle]; b.Whole != 0 {
			content, err := s.body(nil, b)
			if err != nil {
				yield(nil, err)
				return false
			}
			message = slices.Concat(content.appendManifests([][]byte{message})...)
		}
		if !yield(message, nil) {
			return false
		}
	}
	return true
}

// ChannelHead returns the name of the bundle that no other in the channel replaces or skips.
func (s *Store) ChannelHead(pkg, channel string) (string, error) {
	c, err := s.channel(pkg, channel)
	if err != nil {
		return "", err
	}
	return s.index.entryName(c.Head), nil
}

// Replacement returns the name of the bundle in a channel that replaces or skips the named one, which need not be in
// the catalog. Of several, it returns the one nearest to the head: the first one on the chain of replaces from the
// head; otherwise the one with the fewest edges from the head, and of several the first by name. A skipRange does not
// count.
func (s *Store) Replacement(name, pkg, channel string) (string, error) {
	c, err := s.channel(pkg, channel)
	if err != nil {
		return "", err
	}
	x, found := s.index, false
	var best id[entryRow]
	for _, edge := range s.edgesTo(name) {
		if !c.Entries.has(edge.From) {
			continue
		}
		if !found || x.Entries[edge.From].Rank < x.Entries[best].Rank {
			best, found = edge.From, true
		}
	}
	if !found {
		return "", notFound("no entry found for package %q, channel %q", pkg, channel)
	}
	return x.entryName(best), nil
}

// EntriesThatReplace yields an api.ChannelEntry for every bundle in a channel that replaces the named one, and one for
// every skip of it by a bundle that does not replace it; the field replaces of the latter is the name that the bundle
// replaces. They are sorted by package, channel and bundle.
func (s *Store) EntriesThatReplace(name string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		edges := s.edgesTo(name)
		if len(edges) == 0 {
			yield(nil, notFound("no channel entries found that replace %s", name))
			return
		}
		for _, edge := range edges {
			e := s.index.Entries[edge.From]
			if !yield(s.channelEntry(e, e.Replaces)) {
				return
			}
		}
	}
}

// EntriesThatProvide yields an api.ChannelEntry for every bundle in a channel that provides the kind, followed by one
// for each bundle that it skips and does not replace, whose field replaces is the skipped bundle. They are sorted by
// package, channel and bundle. With latestOnly, only channel heads count, and only skips of bundles in the channel.
func (s *Store) EntriesThatProvide(group, version, kind string, latestOnly bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		found := false
		for _, p := range s.providers(group, version, kind) {
			e := s.index.Entries[p.Entry]
			c := s.index.Channels[e.Channel]
			if latestOnly && c.Head != p.Entry {
				continue
			}
			found = true
			if !yield(s.channelEntry(e, e.Replaces)) {
				return
			}
			for _, skip := range e.Skips.of(s.index.Skips) {
				_, inChannel := s.entry(c, skip.Name)
				if skip.Name == e.Replaces || latestOnly && !inChannel {
					continue
				}
				if !yield(s.channelEntry(e, skip.Name)) {
					return
				}
			}
		}
		if !found {
			yield(nil, notFound("no channel entries found that provide group:%q version:%q kind:%q", group, version, kind))
		}
	}
}

// DefaultProvider returns the bundle to install for a kind: from the first package by name whose default channel has a
// head that provides it.
func (s *Store) DefaultProvider(group, version, kind string) (pkg, channel, bundle string, err error) {
	x := s.index
	for _, provider := range s.providers(group, version, kind) {
		c := x.Channels[x.Entries[provider.Entry].Channel]
		p := x.Packages[c.Package]
		if c.Head == provider.Entry && c.Name == p.DefaultChannel {
			return x.string(p.Name), x.string(c.Name), x.entryName(c.Head), nil
		}
	}
	return "", "", "", notFound("no entry found that provides group:%q version:%q kind:%q", group, version, kind)
}

// PackagesProviding returns the names of the packages with a bundle that provides an API, sorted. It returns none if
// the store was built for HTTP only.
func (s *Store) PackagesProviding(k declcfg.GVK) []string {
	x := s.index
	var names []string
	for _, p := range s.providers(k.Group, k.Version, k.Kind) {
		names = append(names, x.string(x.Packages[x.Channels[x.Entries[p.Entry].Channel].Package].Name))
	}
	return slices.Compact(names)
}

// CustomMetas yields a google.protobuf.Struct for every object with this schema and package, in the order of the
// catalog. The package "" means the objects without a package. A built-in schema, or a query without results, yields
// nothing.
func (s *Store) CustomMetas(schema, pkg string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		schemaID, ok := s.index.find(schema)
		packageID, known := s.index.find(pkg)
		if !ok || !known {
			return
		}
		objects := search(s.index.Custom, func(r customRow) int {
			return cmp.Or(cmp.Compare(r.Schema, schemaID), cmp.Compare(r.Package, packageID))
		})
		for _, o := range objects {
			data, err := s.record(nil, o.Record)
			if !yield(data, err) || err != nil {
				return
			}
		}
	}
}

func (s *Store) channelEntry(e entryRow, replaces stringID) ([]byte, error) {
	x := s.index
	c := x.Channels[e.Channel]
	return proto.Marshal(&api.ChannelEntry{
		PackageName: x.string(x.Packages[c.Package].Name), ChannelName: x.string(c.Name),
		BundleName: x.string(x.Bundles[e.Bundle].Name), Replaces: x.string(replaces),
	})
}

type lookupError struct{ msg string }

func (e *lookupError) Error() string { return e.msg }

func (e *lookupError) Unwrap() error { return ErrNotFound }

func notFound(format string, args ...any) error { return &lookupError{fmt.Sprintf(format, args...)} }

func (s *Store) pkg(name string) (packageRow, error) {
	i, ok := slices.BinarySearch(s.packages, name)
	if !ok {
		return packageRow{}, notFound("package %q not found", name)
	}
	return s.index.Packages[i], nil
}

func (s *Store) channel(pkg, name string) (channelRow, error) {
	p, err := s.pkg(pkg)
	if err != nil {
		return channelRow{}, err
	}
	channels := p.Channels.of(s.index.Channels)
	i, ok := sort.Find(len(channels), func(i int) int { return cmp.Compare(name, s.index.string(channels[i].Name)) })
	if !ok {
		return channelRow{}, notFound("package %q, channel %q not found", pkg, name)
	}
	return channels[i], nil
}

func (s *Store) entry(c channelRow, name stringID) (entryRow, bool) {
	entries := c.Entries.of(s.index.Entries)
	i, ok := sort.Find(len(entries), func(i int) int {
		return cmp.Compare(name, s.index.Bundles[entries[i].Bundle].Name)
	})
	if !ok {
		return entryRow{}, false
	}
	return entries[i], true
}

func (s *Store) edgesTo(name string) []edgeRow {
	to, ok := s.index.find(name)
	if !ok {
		return nil
	}
	return search(s.index.Edges, func(r edgeRow) int { return cmp.Compare(r.To, to) })
}

func (s *Store) providers(group, version, kind string) []providerRow {
	var key [3]stringID
	for i, name := range []string{group, version, kind} {
		var ok bool
		if key[i], ok = s.index.find(name); !ok {
			return nil
		}
	}
	for _, k := range search(s.index.Kinds, func(r kindRow) int {
		return cmp.Or(cmp.Compare(r.Group, key[0]), cmp.Compare(r.Version, key[1]), cmp.Compare(r.Kind, key[2]))
	}) {
		return k.Providers.of(s.index.Providers)
	}
	return nil
}
