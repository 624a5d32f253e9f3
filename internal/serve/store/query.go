package store

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/serve/store/internal/index"
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
	message := &api.Package{
		Name: name, DefaultChannelName: p.DefaultChannel, Deprecation: s.deprecation(p.Deprecation),
	}
	for _, number := range p.Channels {
		c := s.index.Channels[number]
		message.Channels = append(message.Channels, &api.Channel{
			Name: c.Name, CsvName: s.entryName(c.Head), Deprecation: s.deprecation(c.Deprecation),
		})
	}
	return proto.Marshal(message)
}

// deprecation returns a deprecation with a message, which is the number of a string plus one. It returns nil for 0.
func (s *Store) deprecation(message uint32) *api.Deprecation {
	if message == 0 {
		return nil
	}
	return &api.Deprecation{Message: s.index.Strings[message-1]}
}

// entryName returns the name of the bundle of an entry.
func (s *Store) entryName(entry uint32) string {
	return s.index.Strings[s.index.BundleName[s.index.EntryBundle[entry]]]
}

// Bundles yields the api.Bundle of ListBundles for every bundle in every channel: with replaces and skips, and without
// manifests if the bundle has an image. They are sorted by channel, package and bundle. An empty catalog yields
// nothing.
func (s *Store) Bundles() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		bundles := s.index.EntryBundle
		for _, l := range s.index.Lists {
			if !s.list(l.Record, bundles[:l.Entries], yield) {
				return
			}
			bundles = bundles[l.Entries:]
		}
	}
}

// list yields the messages of one record of the list, which has these bundles. It reports whether to continue.
func (s *Store) list(record uint32, bundles []uint32, yield func([]byte, error) bool) bool {
	data, err := s.record(nil, record)
	if err != nil {
		yield(nil, err)
		return false
	}
	for _, bundle := range bundles {
		message, n := protowire.ConsumeBytes(data)
		if n < 0 {
			yield(nil, dataLoss(s.records[record], errWire))
			return false
		}
		data, message = data[n:], slices.Clip(message)
		if s.index.BundleWhole[bundle] {
			content, err := s.body(nil, bundle)
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
	return s.entryName(c.Head), nil
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
	var best uint32
	for _, e := range s.edgesTo(name) {
		if x.Channels[x.EntryChannel[e]] == c && (!found || x.EntryRank[e] < x.EntryRank[best]) {
			best, found = e, true
		}
	}
	if !found {
		return "", notFound("no entry found for package %q, channel %q", pkg, channel)
	}
	return s.entryName(best), nil
}

// EntriesThatReplace yields an api.ChannelEntry for every bundle in a channel that replaces the named one, and one for
// every skip of it by a bundle that does not replace it; the field replaces of the latter is the name that the bundle
// replaces. They are sorted by package, channel and bundle.
func (s *Store) EntriesThatReplace(name string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		entries := s.edgesTo(name)
		if len(entries) == 0 {
			yield(nil, notFound("no channel entries found that replace %s", name))
			return
		}
		for _, e := range entries {
			if !yield(s.channelEntry(e, s.index.EntryReplaces[e])) {
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
		for _, e := range s.providers(group, version, kind) {
			c := s.index.Channels[s.index.EntryChannel[e]]
			if latestOnly && c.Head != e {
				continue
			}
			found = true
			replaces := s.index.EntryReplaces[e]
			if !yield(s.channelEntry(e, replaces)) {
				return
			}
			for _, skip := range part(s.index.Skips, s.index.EntrySkipsEnd, int(e)) {
				_, inChannel := s.entry(c, s.index.Strings[skip])
				if skip == replaces || latestOnly && !inChannel {
					continue
				}
				if !yield(s.channelEntry(e, skip)) {
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
	for _, e := range s.providers(group, version, kind) {
		c := x.Channels[x.EntryChannel[e]]
		p := x.Packages[c.Package]
		if c.Head == e && c.Name == p.DefaultChannel {
			return p.Name, c.Name, s.entryName(e), nil
		}
	}
	return "", "", "", notFound("no entry found that provides group:%q version:%q kind:%q", group, version, kind)
}

// PackagesProviding returns the names of the packages with a bundle that provides an API, sorted. It returns none if
// the store was built for HTTP only.
func (s *Store) PackagesProviding(k declcfg.GVK) []string {
	x := s.index
	var names []string
	for _, e := range s.providers(k.Group, k.Version, k.Kind) {
		names = append(names, x.Packages[x.Channels[x.EntryChannel[e]].Package].Name)
	}
	return slices.Compact(names)
}

// CustomMetas yields a google.protobuf.Struct for every object with this schema and package, in the order of the
// catalog. The package "" means the objects without a package. A built-in schema, or a query without results, yields
// nothing.
func (s *Store) CustomMetas(schema, pkg string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		objects := search(s.index.Custom, func(c *index.Custom) int {
			return cmp.Or(cmp.Compare(c.Schema, schema), cmp.Compare(c.Package, pkg))
		})
		for _, o := range objects {
			data, err := s.record(nil, o.Record)
			if !yield(data, err) || err != nil {
				return
			}
		}
	}
}

// channelEntry returns an api.ChannelEntry for an entry and the number of a string.
func (s *Store) channelEntry(entry, replaces uint32) ([]byte, error) {
	c := s.index.Channels[s.index.EntryChannel[entry]]
	return proto.Marshal(&api.ChannelEntry{
		PackageName: s.index.Packages[c.Package].Name, ChannelName: c.Name,
		BundleName: s.entryName(entry), Replaces: s.index.Strings[replaces],
	})
}

type lookupError struct{ msg string }

func (e *lookupError) Error() string { return e.msg }

func (e *lookupError) Unwrap() error { return ErrNotFound }

func notFound(format string, args ...any) error { return &lookupError{fmt.Sprintf(format, args...)} }

func (s *Store) pkg(name string) (*index.Package, error) {
	i, ok := slices.BinarySearch(s.packages, name)
	if !ok {
		return nil, notFound("package %q not found", name)
	}
	return s.index.Packages[i], nil
}

func (s *Store) channel(pkg, name string) (*index.Channel, error) {
	p, err := s.pkg(pkg)
	if err != nil {
		return nil, err
	}
	i, ok := slices.BinarySearchFunc(p.Channels, name, func(number uint32, name string) int {
		return cmp.Compare(s.index.Channels[number].Name, name)
	})
	if !ok {
		return nil, notFound("package %q, channel %q not found", pkg, name)
	}
	return s.index.Channels[p.Channels[i]], nil
}

func (s *Store) entry(c *index.Channel, name string) (entry uint32, ok bool) {
	i, ok := slices.BinarySearchFunc(c.Entries, name, func(number uint32, name string) int {
		return cmp.Compare(s.entryName(number), name)
	})
	if !ok {
		return 0, false
	}
	return c.Entries[i], true
}

// edgesTo returns the entries with an edge to a name.
func (s *Store) edgesTo(name string) []uint32 {
	x := s.index
	first, end := equalRun(len(x.EdgeName), func(i int) int { return cmp.Compare(x.Strings[x.EdgeName[i]], name) })
	return x.EdgeEntry[first:end]
}

// providers returns the entries of bundles that provide a kind.
func (s *Store) providers(group, version, kind string) []uint32 {
	x := s.index
	i, ok := sort.Find(len(x.KindKind), func(i int) int {
		return cmp.Or(cmp.Compare(group, x.Strings[x.KindGroup[i]]), cmp.Compare(version, x.Strings[x.KindVersion[i]]),
			cmp.Compare(kind, x.Strings[x.KindKind[i]]))
	})
	if !ok {
		return nil
	}
	return part(x.Providers, x.KindProvidersEnd, i)
}
