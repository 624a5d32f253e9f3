package list

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/opm-toolchain/opm/internal/search"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// Keys returns the keys of rows in JSON and YAML, in their order, each with the tag help of its field in parentheses:
// "bundles (count)".
func Keys[R Row]() []string {
	var keys []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if about := field.Tag.Get("help"); about != "" {
			key += " (" + about + ")"
		}
		if key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// A selectable is a row that Options can select.
type selectable interface {
	Row
	isIn(channel string) bool
	isDeprecated() bool
}

// A Deprecation is the deprecation of the object in a row. Deprecations of its package or channel do not count.
type Deprecation struct {
	Deprecated bool   `json:"deprecated"                   help:"true or false"`
	Message    string `json:"deprecationMessage,omitempty" help:"if deprecated"`
}

func (d Deprecation) isDeprecated() bool { return d.Deprecated }

// A lister builds the rows of a package of a valid catalog.
type lister struct {
	*declcfg.PackageIndex
	byName     map[string]declcfg.Indexed[declcfg.BundleSummary]
	deprecated map[declcfg.Subject]string
}

func newLister(x *declcfg.PackageIndex) *lister {
	l := &lister{x, make(map[string]declcfg.Indexed[declcfg.BundleSummary], len(x.Bundles)), x.DeprecationMessages()}
	for _, b := range x.Bundles {
		l.byName[b.Value.Name] = b
	}
	return l
}

func (l *lister) deprecation(schema, name string) Deprecation {
	message, ok := l.deprecated[declcfg.Subject{Schema: schema, Name: name}]
	return Deprecation{ok, message}
}

// defaultChannel returns the name of the default channel.
func (l *lister) defaultChannel() string { return l.Packages[0].Value.DefaultChannel }

// headOf returns the head of a channel of a valid catalog, which has exactly one.
func headOf(c *declcfg.Channel) string { return graph.New(c.Entries).Heads()[0] }

// bundle returns the summary of a bundle, or an empty one if the bundle is not in the catalog.
func (l *lister) bundle(name string) declcfg.BundleSummary {
	if b := l.byName[name].Value; b != nil {
		return *b
	}
	return declcfg.BundleSummary{}
}

// versionOf returns a version without its release, and the release. Both are "" if v is nil.
func versionOf(v *declcfg.Version) (version, release string) {
	if v == nil {
		return "", ""
	}
	return v.Semver.String(), v.Release.String()
}

// fullVersion returns a version with its release, or "" if v is nil.
func fullVersion(v *declcfg.Version) string {
	if v == nil {
		return ""
	}
	return v.String()
}

// sortedChannels returns the channels, sorted by name with compare.
func (l *lister) sortedChannels(compare func(a, b string) int) []*declcfg.Channel {
	var all []*declcfg.Channel
	for _, c := range l.PackageIndex.Channels {
		all = append(all, c.Value)
	}
	slices.SortStableFunc(all, func(a, b *declcfg.Channel) int { return compare(a.Name, b.Name) })
	return all
}

// A Package is a row of [Packages].
type Package struct {
	Name           string `json:"name"`
	DisplayName    string `json:"displayName"` // of the head of the default channel
	DefaultChannel string `json:"defaultChannel"`
	Head           string `json:"head"        help:"of that channel"` // of the default channel
	HeadVersion    string `json:"headVersion"`                        // with the release
	Channels       int    `json:"channels"    help:"count"`           // number of channels
	Bundles        int    `json:"bundles"     help:"count"`           // number of bundles
	Deprecation

	manifestName string // the display name that upstream shows
	channels     []string
}

func (l *lister) packages() ([]Package, error) {
	p := Package{
		Name:           l.Name,
		DefaultChannel: l.defaultChannel(),
		Channels:       len(l.Channels),
		Bundles:        len(l.Bundles),
		Deprecation:    l.deprecation(declcfg.SchemaPackage, ""),
	}
	for _, c := range l.Channels {
		p.channels = append(p.channels, c.Value.Name)
		if c.Value.Name == p.DefaultChannel {
			p.Head = headOf(c.Value)
		}
	}
	p.HeadVersion = fullVersion(l.bundle(p.Head).Version)
	if head, ok := l.byName[p.Head]; ok {
		v, err := head.Meta.Decode()
		if err != nil {
			return nil, err
		}
		b := v.(*declcfg.Bundle)
		p.manifestName = b.ManifestDisplayName()
		p.DisplayName = cmp.Or(p.manifestName, search.MetadataOf(b).DisplayName)
	}
	return []Package{p}, nil
}

func (p Package) title() string { return p.Name }

func (p Package) isIn(channel string) bool { return slices.Contains(p.channels, channel) }

func (Package) layout() layout {
	return layout{
		columns: []string{"NAME", "DISPLAY NAME", "DEFAULT CHANNEL"}, raw: true,
		wide: []string{"HEAD", "VERSION", "CHANNELS", "BUNDLES", "DEPRECATED"},
	}
}

func (p Package) cells(wide bool) []string {
	if !wide {
		return []string{p.Name, p.manifestName, p.DefaultChannel}
	}
	return []string{
		p.Name, p.DisplayName, p.DefaultChannel, p.Head, p.HeadVersion,
		strconv.Itoa(p.Channels), strconv.Itoa(p.Bundles), yesNo(p.Deprecated),
	}
}

// A Channel is a row of [Channels].
type Channel struct {
	Package     string `json:"package"`
	Name        string `json:"name"`
	Head        string `json:"head"`
	HeadVersion string `json:"headVersion"` // with the release
	Default     bool   `json:"default"     help:"true or false"`
	Bundles     int    `json:"bundles"     help:"count"` // number of bundles
	Deprecation
}

func (l *lister) channels() ([]Channel, error) {
	var all []Channel
	for _, c := range l.sortedChannels(strings.Compare) {
		head := headOf(c)
		all = append(all, Channel{
			Package: l.Name, Name: c.Name, Head: head, HeadVersion: fullVersion(l.bundle(head).Version),
			Default: c.Name == l.defaultChannel(), Bundles: len(c.Entries),
			Deprecation: l.deprecation(declcfg.SchemaChannel, c.Name),
		})
	}
	return all, nil
}

func (c Channel) title() string { return c.Name }

func (c Channel) isIn(channel string) bool { return c.Name == channel }

func (Channel) layout() layout {
	return layout{
		columns: []string{"PACKAGE", "CHANNEL", "HEAD"}, raw: true,
		wide: []string{"VERSION", "DEFAULT", "BUNDLES", "DEPRECATED"},
	}
}

func (c Channel) cells(wide bool) []string {
	cells := []string{c.Package, c.Name, c.Head}
	if wide {
		cells = append(cells, c.HeadVersion, yesNo(c.Default), strconv.Itoa(c.Bundles), yesNo(c.Deprecated))
	}
	return cells
}

// A Bundle is a row of [Bundles]: a bundle in one of its channels.
type Bundle struct {
	Package   string   `json:"package"`
	Channel   string   `json:"channel"`
	Name      string   `json:"name"`
	Version   string   `json:"version"`
	Release   string   `json:"release"`
	Replaces  string   `json:"replaces"`
	Skips     []string `json:"skips"`
	SkipRange string   `json:"skipRange"`
	Image     string   `json:"image"`
	Deprecation
}

func (l *lister) bundles() ([]Bundle, error) {
	var all []Bundle
	for _, c := range l.sortedChannels(strings.Compare) {
		entries := slices.Clone(c.Entries)
		slices.SortStableFunc(entries, func(a, b declcfg.Entry) int { return cmp.Compare(a.Name, b.Name) })
		for _, e := range entries {
			b := Bundle{
				Package: l.Name, Channel: c.Name, Name: e.Name,
				Replaces: e.Replaces, Skips: e.Skips, SkipRange: e.SkipRange, Image: l.bundle(e.Name).Image,
				Deprecation: l.deprecation(declcfg.SchemaBundle, e.Name),
			}
			b.Version, b.Release = versionOf(l.bundle(e.Name).Version)
			all = append(all, b)
		}
	}
	return all, nil
}

func (b Bundle) title() string { return b.Name }

func (b Bundle) isIn(channel string) bool { return b.Channel == channel }

func (Bundle) layout() layout {
	return layout{
		columns: []string{"PACKAGE", "CHANNEL", "BUNDLE", "REPLACES", "SKIPS", "SKIP RANGE", "IMAGE"}, raw: true,
		wide: []string{"VERSION", "RELEASE", "DEPRECATED"},
	}
}

func (b Bundle) cells(wide bool) []string {
	cells := []string{b.Package, b.Channel, b.Name, b.Replaces, strings.Join(b.Skips, ","), b.SkipRange, b.Image}
	if wide {
		cells = append(cells, b.Version, b.Release, yesNo(b.Deprecated))
	}
	return cells
}

// A Version is a row of [Versions]: a bundle with all of its channels.
type Version struct {
	Package  string   `json:"package"`
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Release  string   `json:"release"`
	Channels []string `json:"channels"`
	HeadOf   []string `json:"headOf"   help:"channels of which it is the head"` // channels
	Image    string   `json:"image"`
	Deprecation
}

func (l *lister) versions() ([]Version, error) {
	var all []Version
	at := map[string]int{}
	for _, b := range slices.Backward(graph.NewPackage(l.PackageIndex).Bundles) {
		if b.Virtual {
			continue
		}
		v := Version{
			Package: l.Name, Name: b.Name, Image: l.bundle(b.Name).Image,
			Deprecation: l.deprecation(declcfg.SchemaBundle, b.Name),
		}
		v.Version, v.Release = versionOf(b.Version)
		at[b.Name] = len(all)
		all = append(all, v)
	}
	for _, c := range l.sortedChannels(graph.CompareChannels) {
		for _, e := range c.Entries {
			v := &all[at[e.Name]]
			v.Channels = append(v.Channels, c.Name)
		}
		head := &all[at[headOf(c)]]
		head.HeadOf = append(head.HeadOf, c.Name)
	}
	return all, nil
}

func (v Version) title() string { return v.Name }

func (v Version) isIn(channel string) bool { return slices.Contains(v.Channels, channel) }

func (Version) layout() layout {
	return layout{
		columns: []string{"VERSION", "RELEASE", "NAME", "CHANNELS", "DEPRECATED"},
		wide:    []string{"HEAD OF", "IMAGE"},
	}
}

func (v Version) cells(wide bool) []string {
	cells := []string{v.Version, v.Release, v.Name, strings.Join(v.Channels, ","), yesNo(v.Deprecated)}
	if wide {
		cells = append(cells, strings.Join(v.HeadOf, ","), v.Image)
	}
	return cells
}
