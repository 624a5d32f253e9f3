package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	masterminds "github.com/Masterminds/semver/v3"
	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// V1Options are the settings of a ClusterExtension of OLM v1. The zero value uses all channels.
type V1Options struct {
	Channels      []*Channel  // the channels whose bundles and edges are used; empty means all, and bundles in no channel
	Version       *Constraint // the versions that may be installed; nil for any
	SelfCertified bool        // upgradeConstraintPolicy: SelfCertified, which ignores edges

	// Releases is OLM's feature gate BundleReleaseSupport, which is off by default: OLM then ignores the releases in
	// olm.package properties. With and without it, the build metadata of a version without release is its release.
	Releases bool
}

// A Constraint is a version range in spec.version of a ClusterExtension, in the syntax of
// github.com/Masterminds/semver: ">=1.2, <2", "1.x", "~1.4.0". Unlike a skipRange, it contains pre-releases only if it
// names one.
type Constraint struct {
	text       string
	constraint *masterminds.Constraints
}

// ParseConstraint parses a version range.
func ParseConstraint(text string) (*Constraint, error) {
	c, err := masterminds.NewConstraint(text)
	if err != nil {
		return nil, fmt.Errorf("version range %q is invalid: %w", text, legible.ExplainWhiteSpace(err, text, " "))
	}
	return &Constraint{text, c}, nil
}

// String returns the text that the constraint was parsed from.
func (c *Constraint) String() string { return c.text }

// Contains reports whether a version satisfies the constraint; a nil constraint contains all versions. Releases and
// build metadata are ignored.
func (c *Constraint) Contains(v semver.Version) bool {
	if c == nil {
		return true
	}
	prerelease := declcfg.Release(v.Pre).String() // a release has the syntax of a pre-release
	return c.constraint.Check(masterminds.New(v.Major, v.Minor, v.Patch, prerelease, ""))
}

// V1 returns the updates of OLM v1. The candidates for an installed bundle are, in the selected channels and versions,
// the bundle itself, bundles of the same version, and all bundles that replace or skip it or have its version in their
// skipRange. It is updated to the candidate with the highest version; deprecated candidates come last. Heads, skipped
// entries and the default channel are not treated specially. If there is no candidate, or if the chosen one has a
// dependency, OLM reports an error; see [Plan.Err].
//
// With SelfCertified, all bundles in the selected channels and versions are candidates, so the update may lead to a
// lower version.
func (p *Package) V1(o V1Options) *Plan {
	bundles := p.Bundles
	if len(o.Channels) == 1 && !o.SelfCertified {
		bundles = p.updatable(o.Channels[0])
		for first := range p.groupByVersion(o, bundles) {
			bundles = append(bundles, p.sameVersion(o.Releases)[first.rank]...)
		}
		bundles = byRank(bundles)
	}
	return p.v1(o, p.channelsOf(o), bundles)
}

// channelsOf returns the channels whose edges are used.
func (p *Package) channelsOf(o V1Options) []*Channel {
	if len(o.Channels) > 0 {
		return o.Channels
	}
	return p.Channels
}

// Plans returns the updates of the [Channel.Members] of a channel in OLM Classic and OLM v1, but not of other bundles.
// Except for sorting, it takes time linear in the members and their edges, independent of the size of the package. The
// error is the error of [Package.Classic].
func (p *Package) Plans(c *Channel) (classic, v1 *Plan, err error) {
	classic, err = p.classic(c, c.members)
	channels := []*Channel{c}
	return classic, p.v1(V1Options{Channels: channels}, channels, c.members), err
}

// v1 plans the updates of bundles, which must include the members of the channels.
func (p *Package) v1(o V1Options, channels []*Channel, bundles []*Bundle) *Plan {
	planner := newPlanner(V1, p, bundles)
	planner.plan.v1 = o
	candidates := p.candidates(o)
	if len(candidates) > 0 {
		planner.setGoal(candidates[0])
	}
	if o.SelfCertified {
		for _, b := range bundles {
			planner.claim(b, Step{planner.plan.goal, Forced, nil})
		}
		return planner.finish()
	}
	same := p.groupByVersion(o, bundles)
	entries := entriesOf(channels)
	for _, to := range candidates {
		for _, e := range entries[to] {
			planner.claimEntry(e.channel, e.node)
		}
		if to.Version == nil {
			continue
		}
		planner.claim(to, Step{to, Same, nil})
		if equal := p.sameVersion(o.Releases)[to.rank]; equal != nil {
			for _, b := range same[equal[0]] {
				planner.claim(b, Step{to, Same, nil})
			}
			delete(same, equal[0])
		}
	}
	return planner.finish()
}

// An entryRef is a reference to an entry of a channel.
type entryRef struct {
	channel *Channel
	node    int
}

// entriesOf returns the entries of each bundle, in the order of the channels.
func entriesOf(channels []*Channel) map[*Bundle][]entryRef {
	entries := map[*Bundle][]entryRef{}
	for _, c := range channels {
		for _, i := range c.nodes {
			entries[c.bundles[i]] = append(entries[c.bundles[i]], entryRef{c, i})
		}
	}
	return entries
}

// groupByVersion groups bundles by version, by the first bundle of the package with that version. It omits bundles
// whose version is unique in the package.
func (p *Package) groupByVersion(o V1Options, bundles []*Bundle) map[*Bundle][]*Bundle {
	same := map[*Bundle][]*Bundle{}
	for _, b := range bundles {
		if equal := p.sameVersion(o.Releases)[b.rank]; equal != nil {
			same[equal[0]] = append(same[equal[0]], b)
		}
	}
	return same
}

// findSameVersion returns, by rank, all bundles of the same version, or nil if there is only one.
func (p *Package) findSameVersion(releases bool) [][]*Bundle {
	o := V1Options{Releases: releases}
	same := make(map[releasedVersion][]*Bundle, len(p.Bundles))
	for _, b := range p.Bundles {
		if b.Version != nil {
			same[o.released(b)] = append(same[o.released(b)], b)
		}
	}
	equal := make([][]*Bundle, len(p.Bundles))
	for _, bundles := range same {
		if len(bundles) == 1 {
			continue
		}
		for _, b := range bundles {
			equal[b.rank] = bundles
		}
	}
	return equal
}

// candidates returns the bundles that may be installed, the preferred one first.
func (p *Package) candidates(o V1Options) []*Bundle {
	bundles := p.Bundles
	if len(o.Channels) > 0 {
		bundles = nil
		for _, c := range o.Channels {
			for _, i := range c.nodes {
				bundles = append(bundles, c.bundles[i])
			}
		}
		bundles = byRank(bundles)
	}
	all := make([]*Bundle, 0, len(bundles))
	for _, b := range bundles {
		switch {
		case b.Virtual:
		case o.Version != nil && (b.Version == nil || !o.Version.Contains(b.semver())):
		default:
			all = append(all, b)
		}
	}
	slices.SortFunc(all, o.prefer)
	return all
}

// prefer orders bundles by preference: not deprecated before deprecated, then the higher version, then the higher
// release, then the first in the catalog.
func (o V1Options) prefer(a, b *Bundle) int {
	if a.Deprecated != b.Deprecated {
		if a.Deprecated {
			return 1
		}
		return -1
	}
	return cmp.Or(o.compare(b, a), cmp.Compare(a.place, b.place))
}

// compare compares versions as OLM v1 does.
func (o V1Options) compare(b, c *Bundle) int {
	if b.Version == nil || c.Version == nil {
		return b.compareVersion(c)
	}
	return o.VersionOf(*b.Version).Compare(o.VersionOf(*c.Version))
}

// VersionOf returns a version as OLM v1 reads it. If it has no release, or OLM ignores that, its build metadata becomes
// the release if it is valid as one. The result has no build metadata.
func (o V1Options) VersionOf(v declcfg.Version) declcfg.Version {
	if !o.Releases {
		v.Release = nil
	}
	if len(v.Release) == 0 {
		if release, err := declcfg.ParseRelease(strings.Join(v.Semver.Build, ".")); err == nil {
			v.Release = release
		}
	}
	v.Semver.Build = nil
	return v
}

// A releasedVersion is a version with its release, as a comparable key.
type releasedVersion struct{ version, release string }

func (o V1Options) released(b *Bundle) releasedVersion {
	v := o.VersionOf(*b.Version)
	return releasedVersion{v.Semver.String(), v.Release.String()}
}

// same reports whether two bundles have the same version in OLM v1.
func (o V1Options) same(b, c *Bundle) bool {
	return b.Version != nil && c.Version != nil && o.released(b) == o.released(c)
}
