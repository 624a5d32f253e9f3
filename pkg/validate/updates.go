package validate

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// updates checks the update paths in packages.
func (r *relations) updates(ctx context.Context, packages iter.Seq[*declcfg.PackageIndex]) {
	var found []scope // added later, because packages may use the scopes of r
	for channels := range parallel.Map(ctx, 0, packages, r.validator.updates) {
		for _, s := range channels {
			if len(s.found) > 0 {
				found = append(found, s)
			}
		}
	}
	for _, s := range found {
		n := min(len(s.found), r.room)
		r.room -= n
		all := r.of(s.meta)
		all.found = append(all.found, s.found[:n]...)
	}
}

type channelUpdates struct {
	scope
	pkg         *graph.Package
	channel     *graph.Channel
	head, top   *graph.Bundle // top has the highest version, among bundles that are not deprecated if possible
	classic, v1 *graph.Plan

	causes  map[*graph.Bundle]int // cause of the problems of a bundle, as an index into found
	skipped map[string]int        // problems about bundles that are both replaced and skipped, as indexes into found
	lower   map[string]int        // problems about bundles whose successor has a lower version, as indexes into found
}

func (v *validator) updates(x *declcfg.PackageIndex) []scope {
	p := graph.NewPackage(x)
	for _, b := range p.Bundles { // rules deprecated-property and v1-dependency report these
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
	for _, e := range u.channel.Entries() {
		at := place.Item("/entries", u.channel.Index(e.Name))
		b := u.pkg.Bundle(e.Name)
		if b == nil {
			continue
		}
		if e.Replaces != "" {
			if skip := slices.Index(e.Skips, e.Replaces); skip >= 0 {
				u.cause(u.skipped, e.Name, e.Replaces, ruleReplacesAndSkips, place.Item(at+"/skips", skip),
					"entry %q both replaces and skips %q", e.Name, e.Replaces)
			}
			u.checkDowngrade(b, e.Replaces, "replaces", at+"/replaces")
		}
		for j, skip := range e.Skips {
			u.checkDowngrade(b, skip, "skips", place.Item(at+"/skips", j))
		}
	}
	if head, _ := u.channel.Entry(u.head.Name); head.Replaces == "" && len(u.channel.Entries()) > 1 {
		u.add(ruleSkipsOnly, "/entries",
			"no entry can be reached from the head %q by replaces: OLM Classic can install nothing else", u.head.Name)
	}
	u.checkVersions()
	classic, v1, err := u.pkg.Plans(u.channel)
	if err != nil {
		u.add(ruleUpdateClassic, "", "OLM Classic refuses the channel: %v", err)
		return
	}
	u.classic, u.v1 = classic, v1
	u.checkEnds()
}

func (u *channelUpdates) checkDowngrade(b *graph.Bundle, name, edge string, ptr jsontext.Pointer) {
	older := u.pkg.Bundle(name)
	if older == nil || older.Version == nil || b.Version == nil || older.Version.Compare(*b.Version) <= 0 {
		return
	}
	if b == u.head && older == u.top && !u.v.isOff(ruleHeadVersion) && !u.v.alone[ruleUpdateDowngrade.Name] {
		return // rule head-version reports this
	}
	u.cause(u.lower, b.Name, name, ruleUpdateDowngrade, ptr, "entry %q %s %q, whose version %s is higher than its own, %s",
		b.Name, edge, name, older.Version, b.Version)
}

// checkVersions compares the version of the head with the other versions of the channel.
func (u *channelUpdates) checkVersions() {
	if u.top == nil || u.head.Version == nil {
		return
	}
	if u.head.Version.Compare(*u.top.Version) < 0 {
		u.cause(u.lower, u.head.Name, u.top.Name, ruleHeadVersion, u.entry(u.head),
			"the head %q has version %s, but %q has the higher version %s",
			u.head.Name, u.head.Version, u.top.Name, u.top.Version)
	}
	// A channel for pre-releases is not the default channel, and its head is a pre-release.
	forReleases := len(u.head.Version.Semver.Pre) == 0 || u.channel.Name == u.pkg.DefaultChannel
	if len(u.top.Version.Semver.Pre) == 0 || !forReleases {
		return
	}
	for _, e := range u.channel.Entries() {
		if b := u.pkg.Bundle(e.Name); b != nil && b.Version != nil && !b.Deprecated && len(b.Version.Semver.Pre) == 0 {
			u.add(rulePrereleaseWinner, u.entry(u.top), "the highest version of the channel is the pre-release %s, "+
				"which OLM v1 installs although there are releases such as %s", u.top.Version, b.Version)
			return
		}
	}
}

func (u *channelUpdates) entry(b *graph.Bundle) jsontext.Pointer {
	return place.Item("/entries", max(u.channel.Index(b.Name), 0))
}

// isBelow reports whether b has no version or a lower version than c, whose version must not be nil.
func isBelow(b, c *graph.Bundle) bool { return b.Version == nil || b.Version.Compare(*c.Version) < 0 }

// A minor is the major and minor number of a version.
type minor struct{ major, minor uint64 }

func minorOf(b *graph.Bundle) minor {
	if b.Version == nil {
		return minor{}
	}
	return minor{b.Version.Semver.Major, b.Version.Semver.Minor}
}

// latestOfMinors returns the bundle with the highest version of each minor version in the channel.
func (u *channelUpdates) latestOfMinors() map[minor]*graph.Bundle {
	latest := map[minor]*graph.Bundle{}
	for _, b := range u.channel.Members() { // sorted by version
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

var updateRules = &problem.Group{Title: "Updates", Rules: []*problem.Rule{
	ruleReplacesAndSkips, ruleUpdateDowngrade, ruleSkipsOnly, ruleHeadVersion, rulePrereleaseWinner, ruleUpdateClassic,
	ruleUpdateLoop, ruleZRelease, ruleUpdateV1, ruleUpdatesDiffer,
}}

var (
	ruleReplacesAndSkips = &problem.Rule{Name: "replaces-and-skips", Severity: problem.Info,
		Summary: "an entry does not skip what it replaces",
		Reason: "The chain of updates ends before a skipped entry, so everything that the skipped entry replaces is " +
			"stranded.",
		Fix: "replace the entry before it, or do not skip it"}
	ruleUpdateDowngrade = &problem.Rule{Name: "update-downgrade", Severity: problem.Warning,
		Summary: "an entry replaces and skips lower versions than its own",
		Reason:  "OLM Classic ignores versions and installs the lower one over the higher one; OLM v1 does not.",
		Fix:     "reverse the edge, or correct the versions"}
	ruleSkipsOnly = &problem.Rule{Name: "skips-only", Severity: problem.Info,
		Summary: "the head of a channel with several entries replaces one of them",
		Reason: "Without a chain of replaces, OLM Classic only knows the head: it can neither install another version when " +
			"the head cannot be installed nor update through one.",
		Fix: "have each entry replace the one before it"}
	ruleHeadVersion = &problem.Rule{Name: "head-version", Severity: problem.Warning,
		Summary: "the head of a channel has its highest version",
		Reason:  "New users of OLM Classic get the head, new users of OLM v1 the highest version.",
		Fix:     "make the highest version the head, or correct the versions"}
	rulePrereleaseWinner = &problem.Rule{Name: "prerelease-winner", Severity: problem.Warning,
		Summary: "a channel for releases does not have a pre-release as its highest version",
		Reason:  "By default OLM v1 installs the highest version, pre-releases included.",
		Fix:     "keep pre-releases in a channel of their own"}
	ruleUpdateClassic = &problem.Rule{Name: "update-classic", Severity: problem.Warning,
		Summary: "OLM Classic updates every bundle of a channel to its head",
		Reason:  "Users of a bundle that only a skipped entry replaces are never offered an update.",
		Fix:     "have an entry that is not skipped replace or skip it, or include its version in a skipRange"}
	ruleUpdateLoop = &problem.Rule{Name: "update-loop", Severity: problem.Warning,
		Summary: "updates end",
		Reason:  "OLM Classic would install the bundles of the loop one after the other, without end.",
		Fix:     "end the skipRange below the version of its entry, or reverse the edge"}
	ruleZRelease = &problem.Rule{Name: "z-release", Severity: problem.Warning,
		Summary: "every patch release can update to the latest patch release of its minor version, or beyond",
		Reason:  "Users expect the fixes for their minor version.",
		Fix:     "have the latest release skip the others, or include them in its skipRange"}
	ruleUpdateV1 = &problem.Rule{Name: "update-v1", Severity: problem.Warning,
		Summary: "OLM v1 updates everything in a channel to its highest version",
		Reason: "OLM v1 updates neither to a lower version nor to a deprecated bundle, so a path through one of these ends " +
			"before it.",
		Fix: "have a bundle behind it skip the installed one, or include it in its skipRange"}
	ruleUpdatesDiffer = &problem.Rule{Name: "updates-differ", Severity: problem.Info,
		Summary: "OLM Classic and OLM v1 update to the same bundle",
		Reason: "Moving a cluster from one to the other changes its updates. Classic prefers the bundle nearest the head, " +
			"v1 the highest version, deprecated ones last.",
		Fix: "compare the two with: opm updates CATALOG --package PACKAGE"}
)
