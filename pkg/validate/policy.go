package validate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Policy is what the maintainers of a catalog demand of it beyond the format. The zero value demands nothing.
type Policy struct {
	DefaultChannel string         `json:"defaultChannel"` // of every package; "" is any
	ChannelNames   *regexp.Regexp `json:"channelNames"`   // which the names of channels match; nil is any
	LargestSkip    *Skip          `json:"largestSkip"`    // how far an update may reach; nil is any
	Registries     []string       `json:"registries"`     // of images, as HOST or HOST/PATH; empty is all
}

// A Skip is how far an update may reach: from 1.2.3, one minor version reaches every 1.3 but not 1.4.
type Skip struct {
	Major uint64 `json:"major"` // major versions
	Minor uint64 `json:"minor"` // minor versions, within a major one
}

// allows reports whether an update may reach as far as from one version to the other.
func (s *Skip) allows(a, b *declcfg.Version) bool {
	switch from, to := a.Semver, b.Semver; {
	case to.Major > from.Major:
		return to.Major-from.Major <= s.Major
	case to.Major == from.Major && to.Minor > from.Minor:
		return to.Minor-from.Minor <= s.Minor
	}
	return true
}

// policy checks a package against the policy of the catalog.
func (r *relations) policy(p *declcfg.PackageIndex) {
	policy := r.validator.opts.Policy
	for _, o := range p.Packages {
		if o.Value != nil && policy.DefaultChannel != "" && o.Value.DefaultChannel != policy.DefaultChannel {
			r.of(o.Meta).add("policy-default-channel", "/defaultChannel",
				"the default channel of package %q is %q, want %q", p.Name, o.Value.DefaultChannel, policy.DefaultChannel)
		}
	}
	for _, c := range p.Channels {
		if policy.ChannelNames != nil && !policy.ChannelNames.MatchString(c.Meta.Name) {
			r.of(c.Meta).add("policy-channel-name", "/name", "the name of channel %q does not match %q",
				c.Meta.Name, policy.ChannelNames)
		}
	}
	if policy.LargestSkip != nil {
		r.skips(p, policy.LargestSkip)
	}
}

// skips reports entries that replace or skip bundles of versions too far below their own.
func (r *relations) skips(p *declcfg.PackageIndex, largest *Skip) {
	versions := versionsOf(p)
	for _, c := range p.Channels {
		if c.Value == nil {
			continue
		}
		for i, e := range c.Value.Entries {
			to := versions[e.Name]
			if to == nil {
				continue
			}
			for _, name := range slices.Concat([]string{e.Replaces}, e.Skips) {
				if from := versions[name]; from != nil && !largest.allows(from, to) {
					r.of(c.Meta).add("policy-skip", index("/entries", i), "the update from %q to %q is too large", name, e.Name)
				}
			}
		}
	}
}

// registry reports an image that comes from elsewhere than the policy allows.
func (s *scope) registry(image string, at jsontext.Pointer) {
	allowed := s.v.opts.Policy.Registries
	within := func(registry string) bool {
		rest, ok := strings.CutPrefix(image, strings.TrimSuffix(registry, "/"))
		return ok && strings.HasPrefix(rest, "/")
	}
	if len(allowed) == 0 || slices.ContainsFunc(allowed, within) {
		return
	}
	if s.add("policy-registry", at, "image %q is not in %s", image, strings.Join(allowed, ", ")) {
		s.found[len(s.found)-1].cause, _, _ = strings.Cut(image, "/")
	}
}
