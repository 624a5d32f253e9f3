package validate

import (
	"cmp"
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// updates checks the updates of installed bundles, in packages without errors.
func (r *relations) updates(ctx context.Context) {
	if !slices.ContainsFunc(Rules().Group("Updates"), func(u problem.Rule) bool { return !r.validator.off[u.Name] }) {
		return
	}
	for m, s := range r.scopes {
		if s.broken {
			r.wrong[m.Owner()] = true
		}
	}
	var packages []*declcfg.PackageIndex
	for _, p := range r.index.Packages() {
		if p.Name != "" && !r.wrong[p.Name] && !r.lost.from(p.Name) {
			packages = append(packages, p)
		}
	}
	for channels := range parallel.Map(ctx, 0, slices.Values(packages), r.validator.updates) {
		for _, s := range channels {
			n := min(len(s.found), r.room)
			r.room -= n
			all := r.of(s.meta)
			all.found = append(all.found, s.found[:n]...)
		}
	}
}

// A channelUpdates checks one channel.
type channelUpdates struct {
	scope
	pkg         *graph.Package
	channel     *graph.Channel
	head, top   *graph.Bundle // top is of the highest version, and not deprecated if there is such a one
	classic, v1 *graph.Plan

	causes  map[*graph.Bundle]int // of what becomes of a bundle, by index in found
	skipped map[string]int        // problems about a bundle that its successor skips as well, likewise
	lower   map[string]int        // problems about a bundle whose successor is lower, likewise
}

// updates checks the channels of one package.
func (v *validator) updates(x *declcfg.PackageIndex) []scope {
	p := graph.NewPackage(x)
	for _, b := range p.Bundles { // the rules deprecated-property and v1-dependency report these
		b.Prohibited, b.Dependency = false, ""
	}
	room := maxProblems
	var all []scope
	for _, o := range x.Channels {
		c := p.Channel(o.Meta.Name)
		u := channelUpdates{
			scope: scope{v: v, meta: o.Meta, room: &room}, pkg: p, channel: c, head: p.Bundle(c.Heads()[0]),
			causes: map[*graph.Bundle]int{}, skipped: map[string]int{}, lower: map[string]int{},
		}
		u.check()
		all = append(all, u.scope)
	}
	return all
}

func (u *channelUpdates) check() {
	u.findTop()
	u.checkEntries()
	u.checkChain()
	u.checkVersions()
	classic, v1, err := u.pkg.Plans(u.channel)
	if err != nil {
		u.add("update-classic", "", "OLM Classic refuses the channel: %v", err)
		return
	}
	u.classic, u.v1 = classic, v1
	u.checkEnds()
}

// checkEntries looks at each edge by itself.
func (u *channelUpdates) checkEntries() {
	for _, e := range u.channel.Entries() {
		at := index("/entries", u.channel.Index(e.Name))
		b := u.pkg.Bundle(e.Name)
		if b == nil {
			continue
		}
		if e.Replaces != "" {
			if skip := slices.Index(e.Skips, e.Replaces); skip >= 0 {
				u.cause(u.skipped, e.Name, e.Replaces, "replaces-and-skips", index(at+"/skips", skip),
					"entry %q both replaces and skips %q", e.Name, e.Replaces)
			}
			u.checkDowngrade(b, e.Replaces, "replaces", at+"/replaces")
		}
		for j, skip := range e.Skips {
			u.checkDowngrade(b, skip, "skips", index(at+"/skips", j))
		}
	}
}

func (u *channelUpdates) checkDowngrade(b *graph.Bundle, name, edge string, ptr jsontext.Pointer) {
	older := u.pkg.Bundle(name)
	if older == nil || older.Version == nil || b.Version == nil || older.Version.Compare(*b.Version) <= 0 {
		return
	}
	if b == u.head && older == u.top && !u.v.off["head-version"] && !u.v.alone["update-downgrade"] {
		return // head-version says the same
	}
	u.cause(u.lower, b.Name, name, "update-downgrade", ptr, "entry %q %s %q, whose version %s is higher than its own, %s",
		b.Name, edge, name, older.Version, b.Version)
}

// checkChain reports a channel of which OLM Classic knows the head only.
func (u *channelUpdates) checkChain() {
	if head, _ := u.channel.Entry(u.head.Name); head.Replaces == "" && len(u.channel.Entries()) > 1 {
		u.add("skips-only", "/entries",
			"no entry can be reached from the head %q by replaces: OLM Classic can install nothing else", u.head.Name)
	}
}

// findTop finds what OLM v1 would install.
func (u *channelUpdates) findTop() {
	for _, e := range u.channel.Entries() {
		b := u.pkg.Bundle(e.Name)
		if b == nil || b.Version == nil {
			continue
		}
		if u.top == nil || u.top.Deprecated && !b.Deprecated ||
			u.top.Deprecated == b.Deprecated && b.Version.Compare(*u.top.Version) > 0 {
			u.top = b
		}
	}
}

// checkVersions compares the head with the other versions.
func (u *channelUpdates) checkVersions() {
	if u.top == nil || u.head.Version == nil {
		return
	}
	if u.head.Version.Compare(*u.top.Version) < 0 {
		u.cause(u.lower, u.head.Name, u.top.Name, "head-version", u.entry(u.head),
			"the head %q has version %s, but %q has the higher version %s",
			u.head.Name, u.head.Version, u.top.Name, u.top.Version)
	}
	// A channel that is not the default and has a pre-release as its head is for pre-releases.
	forReleases := len(u.head.Version.Semver.Pre) == 0 || u.channel.Name == u.pkg.DefaultChannel
	if len(u.top.Version.Semver.Pre) == 0 || !forReleases {
		return
	}
	for _, e := range u.channel.Entries() {
		if b := u.pkg.Bundle(e.Name); b != nil && b.Version != nil && !b.Deprecated && len(b.Version.Semver.Pre) == 0 {
			u.add("prerelease-winner", u.entry(u.top), "the highest version of the channel is the pre-release %s, "+
				"which OLM v1 installs although there are releases such as %s", u.top.Version, b.Version)
			return
		}
	}
}

// entry returns the place of a bundle in the channel.
func (u *channelUpdates) entry(b *graph.Bundle) jsontext.Pointer {
	return index("/entries", max(u.channel.Index(b.Name), 0))
}

// isBelow reports whether b has no version or a lower one than c, which has one.
func isBelow(b, c *graph.Bundle) bool { return b.Version == nil || b.Version.Compare(*c.Version) < 0 }

// A minor is the first two numbers of a version.
type minor struct{ major, minor uint64 }

func minorOf(b *graph.Bundle) minor {
	if b.Version == nil {
		return minor{}
	}
	return minor{b.Version.Semver.Major, b.Version.Semver.Minor}
}

// latestOfMinors returns the highest version of each minor version in the channel.
func (u *channelUpdates) latestOfMinors() map[minor]*graph.Bundle {
	latest := map[minor]*graph.Bundle{}
	for _, b := range u.channel.Members() { // by version
		if _, ok := u.channel.Entry(b.Name); ok && b.Version != nil {
			latest[minorOf(b)] = b
		}
	}
	return latest
}

func nameOf(s graph.Step) string {
	if s.To == nil {
		return "nothing"
	}
	return cmp.Or(s.To.Name, "nothing")
}
