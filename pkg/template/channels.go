package template

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A channelType is the part of the version that the bundles of a channel share.
type channelType string

const (
	majorChannel channelType = "major" // stable-v1
	minorChannel channelType = "minor" // stable-v1.2
)

type generator struct {
	major, minor bool // types of channels to generate
	preferred    channelType
	strict       bool // see StrictChannels

	pkg    string
	stages []stageBundles // least stable first
}

// stageBundles are the bundles of a stage, lowest version first.
type stageBundles struct {
	name    string
	bundles []*bundle
}

func (g *generator) add(name string, bundles []*bundle) {
	bundles = slices.SortedStableFunc(slices.Values(bundles), func(a, b *bundle) int {
		return a.Version.Semver.Compare(b.Version.Semver)
	})
	g.stages = append(g.stages, stageBundles{name, bundles})
}

func (g *generator) types() (types []channelType) {
	if g.major {
		types = append(types, majorChannel)
	}
	if g.minor {
		types = append(types, minorChannel)
	}
	return types
}

// channels returns the channels sorted by name, and the name of the default channel.
func (g *generator) channels() (all []*declcfg.Channel, defaultChannel string) {
	best := candidate{version: semver.Version{}}
	for i, s := range g.stages {
		for _, t := range g.types() {
			byName := map[string]*declcfg.Channel{}
			for _, b := range s.bundles {
				name := channelName(s.name, t, b.Version.Semver)
				if byName[name] == nil {
					byName[name] = &declcfg.Channel{Schema: declcfg.SchemaChannel, Name: name, Package: g.pkg}
					best = g.better(best, candidate{name, i, t, b.Version.Semver})
				}
				byName[name].Entries = append(byName[name].Entries, declcfg.Entry{Name: b.Name})
			}
			g.connect(s.bundles, t, s.name, byName)
			all = slices.AppendSeq(all, maps.Values(byName))
		}
	}
	slices.SortFunc(all, func(a, b *declcfg.Channel) int { return cmp.Compare(a.Name, b.Name) })
	return all, best.name
}

func channelName(stage string, t channelType, v semver.Version) string {
	if t == majorChannel {
		return fmt.Sprintf("%s-v%d", stage, v.Major)
	}
	return fmt.Sprintf("%s-v%d.%d", stage, v.Major, v.Minor)
}

type candidate struct {
	name    string
	stage   int
	typ     channelType
	version semver.Version // lowest version in the channel
}

// better returns the better candidate for the default channel. As in upstream, the version is compared before the type
// unless g.strict is set: stable-v1.2 is better than stable-v1 even if major channels are preferred, and a channel
// whose lowest version is below 0.0.0 is worse than no channel.
func (g *generator) better(c, d candidate) candidate {
	stage := cmp.Compare(c.stage, d.stage)
	version := c.version.Compare(d.version)
	typ := cmp.Compare(g.rank(c.typ), g.rank(d.typ))
	order := cmp.Or(stage, version, typ)
	if g.strict {
		order = cmp.Or(stage, typ, version)
	}
	if order >= 0 {
		return c
	}
	return d
}

// rank returns the rank of a channel type: 0 for no type, 2 for the preferred type, 1 for the other type.
func (g *generator) rank(t channelType) int {
	switch t {
	case "":
		return 0
	case g.preferred:
		return 2
	}
	return 1
}

// connect sets the update edges of the channels of one type. Only the highest entry of each minor version has edges: it
// replaces the highest entry of the previous minor version, and skips all other lower entries of its major version.
func (g *generator) connect(bundles []*bundle, t channelType, stage string, byName map[string]*declcfg.Channel) {
	var first, before string // lowest version of the major version; highest bundle of the previous minor version
	var lower []string       // bundles of the major version with a lower version
	for i, b := range bundles {
		v := b.Version.Semver
		if i > 0 && bundles[i-1].Version.Semver.Major != v.Major {
			before, lower = "", nil
		}
		if len(lower) == 0 {
			first = v.String()
		}
		if i+1 == len(bundles) || minorOf(bundles[i+1]) != minorOf(b) {
			c := byName[channelName(stage, t, v)]
			e := &c.Entries[slices.IndexFunc(c.Entries, func(e declcfg.Entry) bool { return e.Name == b.Name })]
			e.Replaces = before
			e.Skips = slices.DeleteFunc(slices.Sorted(slices.Values(lower)), func(s string) bool { return s == before })
			if g.strict {
				within(c, e, first, v)
			}
			before = b.Name
		}
		lower = append(lower, b.Name)
	}
}

func minorOf(b *bundle) [2]uint64 { return [2]uint64{b.Version.Semver.Major, b.Version.Semver.Minor} }

// within replaces the edges of an entry to bundles outside of its channel by a skipRange that covers these bundles, so
// that users who switch to the channel are updated.
func within(c *declcfg.Channel, e *declcfg.Entry, first string, v semver.Version) {
	if len(outside(c, *e)) == 0 {
		return
	}
	if !has(c, e.Replaces) {
		e.Replaces = ""
	}
	e.Skips = slices.DeleteFunc(e.Skips, func(s string) bool { return !has(c, s) })
	e.SkipRange = fmt.Sprintf(">=%s <%s", first, v)
}

// outside returns the names that an entry replaces or skips and that are not in its channel.
func outside(c *declcfg.Channel, e declcfg.Entry) (names []string) {
	for _, name := range append([]string{e.Replaces}, e.Skips...) {
		if name != "" && !has(c, name) {
			names = append(names, name)
		}
	}
	return names
}

func has(c *declcfg.Channel, name string) bool {
	return slices.ContainsFunc(c.Entries, func(e declcfg.Entry) bool { return e.Name == name })
}

// warnOfLooseChannels warns about channels that StrictChannels would generate differently.
func (r *rendering) warnOfLooseChannels(g *generator, channels []*declcfg.Channel, defaultChannel string) {
	if g.strict {
		return
	}
	var names []string
	for _, c := range channels {
		if slices.ContainsFunc(c.Entries, func(e declcfg.Entry) bool { return len(outside(c, e)) > 0 }) {
			names = append(names, c.Name)
		}
	}
	if len(names) > 0 {
		r.warnf("/generateMinorChannels", "entries update bundles that are not in their channel (%s); "+
			"with --strict-channels they have a skipRange instead", strings.Join(names, ", "))
	}
	strict := *g
	strict.strict = true
	if _, want := strict.channels(); want != defaultChannel {
		r.warnf("/defaultChannelTypePreference", "the default channel is %q, although %s channels are preferred; "+
			"with --strict-channels it is %q", defaultChannel, g.preferred, want)
	}
}
