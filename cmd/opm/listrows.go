package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A listed is an item of a listing. Its fields are what JSON and YAML show.
type listed interface {
	title() string // its name
	isIn(channel string) bool
	isDeprecated() bool
	row(wide bool) []string
}

// A deprecation says whether an item is deprecated: it itself, not what it is a part of.
type deprecation struct {
	Deprecated bool   `json:"deprecated"`
	Message    string `json:"deprecationMessage,omitempty"`
}

func (d deprecation) isDeprecated() bool { return d.Deprecated }

// A packageLister makes the items of a package of a valid catalog.
type packageLister struct {
	*declcfg.PackageIndex
	bundle     map[string]*declcfg.BundleSummary // by name
	deprecated map[[2]string]deprecation         // by schema and name; packages have none
}

func newPackageLister(x *declcfg.PackageIndex) (*packageLister, error) {
	p := &packageLister{x, make(map[string]*declcfg.BundleSummary, len(x.Bundles)), map[[2]string]deprecation{}}
	for _, b := range x.Bundles {
		p.bundle[b.Value.Name] = b.Value
	}
	for _, d := range x.Deprecations {
		v, err := d.Meta.Decode() // again, since the index has no messages
		if err != nil {
			return nil, err
		}
		for _, e := range v.(*declcfg.Deprecations).Entries {
			p.deprecated[[2]string{e.Reference.Schema, e.Reference.Name}] = deprecation{true, e.Message}
		}
	}
	return p, nil
}

// headOf returns the head of a channel of a valid catalog, which has one.
func headOf(c *declcfg.Channel) string { return graph.New(c.Entries).Heads()[0] }

// headVersion returns the version of a bundle with its release.
func (p *packageLister) headVersion(bundle string) string {
	if b := p.bundle[bundle]; b != nil && b.Version != nil {
		return b.Version.String()
	}
	return ""
}

// version returns the version of a bundle and its release.
func (p *packageLister) version(bundle string) (version, release string) {
	if b := p.bundle[bundle]; b != nil && b.Version != nil {
		return b.Version.Semver.String(), b.Version.Release.String()
	}
	return "", ""
}

func (p *packageLister) image(bundle string) string {
	if b := p.bundle[bundle]; b != nil {
		return b.Image
	}
	return ""
}

// A packageItem is what list packages lists.
type packageItem struct {
	Name           string `json:"name"`
	DisplayName    string `json:"displayName"` // of the head of the default channel
	DefaultChannel string `json:"defaultChannel"`
	Head           string `json:"head"`        // of the default channel
	HeadVersion    string `json:"headVersion"` // with the release
	Channels       int    `json:"channels"`
	Bundles        int    `json:"bundles"`
	deprecation    `json:",inline"`

	manifestName string // the display name that upstream shows
	channels     []string
}

func (p *packageLister) packages() ([]listed, error) {
	i := &packageItem{
		Name:           p.Name,
		DefaultChannel: p.Packages[0].Value.DefaultChannel,
		Channels:       len(p.Channels),
		Bundles:        len(p.Bundles),
		deprecation:    p.deprecated[[2]string{declcfg.SchemaPackage, ""}],
	}
	for _, c := range p.Channels {
		i.channels = append(i.channels, c.Value.Name)
		if c.Value.Name == i.DefaultChannel {
			i.Head = headOf(c.Value)
		}
	}
	i.HeadVersion = p.headVersion(i.Head)
	var err error
	i.DisplayName, i.manifestName, err = p.displayNames(i.Head)
	return []listed{i}, err
}

// displayNames returns the display name of a bundle in either form of its metadata, and the one in its manifests.
func (p *packageLister) displayNames(bundle string) (either, manifest string, err error) {
	i := slices.IndexFunc(p.PackageIndex.Bundles, func(b declcfg.Indexed[declcfg.BundleSummary]) bool {
		return b.Value.Name == bundle
	})
	if i < 0 {
		return "", "", nil
	}
	v, err := p.PackageIndex.Bundles[i].Meta.Decode()
	if err != nil {
		return "", "", err
	}
	b := v.(*declcfg.Bundle)
	manifest = b.ManifestDisplayName()
	return cmp.Or(manifest, metadataDisplayName(b)), manifest, nil
}

// metadataDisplayName returns the display name in the olm.csv.metadata of a bundle, or "".
func metadataDisplayName(b *declcfg.Bundle) string {
	var metadata struct {
		DisplayName string `json:"displayName"`
	}
	for _, p := range b.Properties {
		if p.Type == declcfg.PropertyCSVMetadata && p.Unmarshal(&metadata) == nil {
			return metadata.DisplayName
		}
	}
	return ""
}

func (i *packageItem) title() string { return i.Name }

func (i *packageItem) isIn(channel string) bool { return slices.Contains(i.channels, channel) }

func (i *packageItem) row(wide bool) []string {
	if !wide {
		return []string{i.Name, i.manifestName, i.DefaultChannel}
	}
	return orDashes(i.Name, i.DisplayName, i.DefaultChannel, i.Head, i.HeadVersion,
		strconv.Itoa(i.Channels), strconv.Itoa(i.Bundles), yesNo(i.Deprecated))
}

// A channelItem is what list channels lists.
type channelItem struct {
	Package     string `json:"package"`
	Name        string `json:"name"`
	Head        string `json:"head"`
	HeadVersion string `json:"headVersion"` // with the release
	Default     bool   `json:"default"`
	Bundles     int    `json:"bundles"`
	deprecation `json:",inline"`
}

func (p *packageLister) channels() ([]listed, error) {
	var all []listed
	for _, c := range p.byName() {
		head := headOf(c)
		all = append(all, &channelItem{
			Package: p.Name, Name: c.Name, Head: head, HeadVersion: p.headVersion(head),
			Default: c.Name == p.Packages[0].Value.DefaultChannel, Bundles: len(c.Entries),
			deprecation: p.deprecated[[2]string{declcfg.SchemaChannel, c.Name}],
		})
	}
	return all, nil
}

// byName returns the channels by their names.
func (p *packageLister) byName() []*declcfg.Channel {
	var all []*declcfg.Channel
	for _, c := range p.PackageIndex.Channels {
		all = append(all, c.Value)
	}
	slices.SortStableFunc(all, func(a, b *declcfg.Channel) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (i *channelItem) title() string { return i.Name }

func (i *channelItem) isIn(channel string) bool { return i.Name == channel }

func (i *channelItem) row(wide bool) []string {
	if !wide {
		return []string{i.Package, i.Name, i.Head}
	}
	return orDashes(i.Package, i.Name, i.Head, i.HeadVersion, yesNo(i.Default), strconv.Itoa(i.Bundles),
		yesNo(i.Deprecated))
}

// A bundleItem is what list bundles lists: a bundle in one of its channels.
type bundleItem struct {
	Package     string   `json:"package"`
	Channel     string   `json:"channel"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Release     string   `json:"release"`
	Replaces    string   `json:"replaces"`
	Skips       []string `json:"skips"`
	SkipRange   string   `json:"skipRange"`
	Image       string   `json:"image"`
	deprecation `json:",inline"`
}

func (p *packageLister) bundles() ([]listed, error) {
	var all []listed
	for _, c := range p.byName() {
		entries := slices.Clone(c.Entries)
		slices.SortStableFunc(entries, func(a, b declcfg.Entry) int { return cmp.Compare(a.Name, b.Name) })
		for _, e := range entries {
			i := &bundleItem{
				Package: p.Name, Channel: c.Name, Name: e.Name,
				Replaces: e.Replaces, Skips: e.Skips, SkipRange: e.SkipRange, Image: p.image(e.Name),
				deprecation: p.deprecated[[2]string{declcfg.SchemaBundle, e.Name}],
			}
			i.Version, i.Release = p.version(e.Name)
			all = append(all, i)
		}
	}
	return all, nil
}

func (i *bundleItem) title() string { return i.Name }

func (i *bundleItem) isIn(channel string) bool { return i.Channel == channel }

func (i *bundleItem) row(wide bool) []string {
	row := []string{i.Package, i.Channel, i.Name, i.Replaces, strings.Join(i.Skips, ","), i.SkipRange, i.Image}
	if !wide {
		return row
	}
	return orDashes(append(row, i.Version, i.Release, yesNo(i.Deprecated))...)
}

// A versionItem is what list versions lists: a bundle with all of its channels.
type versionItem struct {
	Package     string   `json:"package"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Release     string   `json:"release"`
	Channels    []string `json:"channels"`
	HeadOf      []string `json:"headOf"` // channels
	Image       string   `json:"image"`
	deprecation `json:",inline"`
}

func (p *packageLister) versions() ([]listed, error) {
	items := map[string]*versionItem{}
	var all []listed
	for _, b := range slices.Backward(graph.NewPackage(p.PackageIndex).Bundles) {
		if b.Virtual {
			continue
		}
		i := &versionItem{
			Package: p.Name, Name: b.Name, Image: p.image(b.Name),
			deprecation: p.deprecated[[2]string{declcfg.SchemaBundle, b.Name}],
		}
		i.Version, i.Release = p.version(b.Name)
		items[b.Name] = i
		all = append(all, i)
	}
	for _, c := range p.byName() {
		for _, e := range c.Entries {
			items[e.Name].Channels = append(items[e.Name].Channels, c.Name)
		}
		head := items[headOf(c)]
		head.HeadOf = append(head.HeadOf, c.Name)
	}
	return all, nil
}

func (i *versionItem) title() string { return i.Name }

func (i *versionItem) isIn(channel string) bool { return slices.Contains(i.Channels, channel) }

func (i *versionItem) row(wide bool) []string {
	row := []string{i.Version, i.Release, i.Name, strings.Join(i.Channels, ","), yesNo(i.Deprecated)}
	if wide {
		row = append(row, strings.Join(i.HeadOf, ","), i.Image)
	}
	return orDashes(row...)
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// orDashes puts a dash where there is nothing, so that scripts can count columns.
func orDashes(row ...string) []string {
	for i := range row {
		row[i] = cmp.Or(row[i], "-")
	}
	return row
}
