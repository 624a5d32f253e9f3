package validate

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Policy states requirements of the catalog maintainers beyond the format. The zero value has no requirements.
type Policy struct {
	DefaultChannel string   `json:"defaultChannel"` // of every package; "" allows any
	ChannelNames   *Pattern `json:"channelNames"`   // pattern of channel names; nil allows any
	LargestSkip    *Skip    `json:"largestSkip"`    // largest version step of an update; nil allows any
	Registries     []string `json:"registries"`     // of images, as HOST or HOST/PATH; empty allows all
}

// A Pattern is a regular expression of limited size: of at most 4,096 bytes and, with all repetitions, 10,000 parts. A
// policy is part of a catalog, so its pattern must not take more time than the catalog itself.
type Pattern struct{ *regexp.Regexp }

const (
	maxPattern      = 4096
	maxPatternParts = 10_000 // instructions of the compiled program
)

// UnmarshalText parses a pattern.
func (p *Pattern) UnmarshalText(text []byte) error {
	if len(text) > maxPattern {
		return fmt.Errorf("a pattern of %d bytes, want at most %d", len(text), maxPattern)
	}
	tree, err := syntax.Parse(string(text), syntax.Perl)
	if err != nil {
		return err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return err
	}
	if n := len(program.Inst); n > maxPatternParts {
		return fmt.Errorf("the pattern has %d parts with all repetitions, want at most %d", n, maxPatternParts)
	}
	p.Regexp, err = regexp.Compile(string(text))
	return err
}

// A Skip is the largest version step of an update: with one minor version, 1.2.3 can update to any 1.3 but not to 1.4.
type Skip struct {
	Major uint64 `json:"major"` // major versions
	Minor uint64 `json:"minor"` // minor versions within the same major version
}

// allows reports whether the policy allows an update from version a to version b.
func (s *Skip) allows(a, b *declcfg.Version) bool {
	switch from, to := a.Semver, b.Semver; {
	case to.Major > from.Major:
		return to.Major-from.Major <= s.Major
	case to.Major == from.Major && to.Minor > from.Minor:
		return to.Minor-from.Minor <= s.Minor
	}
	return true
}

func (r *relations) policy(p *declcfg.PackageIndex) {
	policy := r.validator.opts.Policy
	for _, o := range p.Packages {
		if o.Value != nil && policy.DefaultChannel != "" && o.Value.DefaultChannel != policy.DefaultChannel {
			r.of(o.Meta).add(rulePolicyDefaultChannel, "/defaultChannel",
				"the default channel of package %q is %q, want %q", p.Name, o.Value.DefaultChannel, policy.DefaultChannel)
		}
	}
	for _, c := range p.Channels {
		if policy.ChannelNames != nil && !policy.ChannelNames.MatchString(c.Meta.Name) {
			r.of(c.Meta).add(rulePolicyChannelName, "/name", "the name of channel %q does not match %q",
				c.Meta.Name, policy.ChannelNames)
		}
	}
	if policy.LargestSkip != nil {
		r.skips(p, policy.LargestSkip)
	}
}

// skips reports entries that replace or skip a bundle if the update from its version is larger than the policy allows.
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
					r.of(c.Meta).add(rulePolicySkip, index("/entries", i), "the update from %q to %q is too large", name, e.Name)
				}
			}
		}
	}
}

// checkRegistry returns an error for an image from a registry that the policy does not allow.
func (p *Policy) checkRegistry(image string) error {
	within := func(registry string) bool {
		rest, ok := strings.CutPrefix(image, strings.TrimSuffix(registry, "/"))
		return ok && strings.HasPrefix(rest, "/")
	}
	if len(p.Registries) == 0 || slices.ContainsFunc(p.Registries, within) {
		return nil
	}
	allowed := legible.Value(strings.Join(p.Registries, ", "))
	return fmt.Errorf("image %q is not in %s", legible.Value(image), allowed)
}

var policyRules = &problem.Group{Title: "Policy", Rules: []*problem.Rule{
	rulePolicyDefaultChannel, rulePolicyChannelName, rulePolicySkip, rulePolicyRegistry,
}}

var (
	rulePolicyDefaultChannel = &problem.Rule{Name: "policy-default-channel", Severity: problem.Error,
		Summary: "the default channel is the one that the policy names",
		Reason:  "The policy is in opm.yaml, beside the catalog.",
		Fix:     "change the default channel, or the policy"}
	rulePolicyChannelName = &problem.Rule{Name: "policy-channel-name", Severity: problem.Error,
		Summary: "the name of a channel matches the policy",
		Reason:  "The policy is in opm.yaml, beside the catalog.",
		Fix:     "rename the channel, or change the policy"}
	rulePolicySkip = &problem.Rule{Name: "policy-skip", Severity: problem.Error,
		Summary: "no update is larger than the policy allows",
		Reason: "The policy is in opm.yaml, beside the catalog. It has the largest number of major versions and, within a " +
			"major version, of minor versions that a replaces or a skip may span.",
		Fix: "add the versions in between to the channel, or change the policy"}
	rulePolicyRegistry = &problem.Rule{Name: "policy-registry", Severity: problem.Error,
		Summary: "images come from the registries that the policy allows",
		Reason:  "The policy is in opm.yaml, beside the catalog.",
		Fix:     "mirror the image, or change the policy"}
)
