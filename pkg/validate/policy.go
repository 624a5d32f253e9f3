package validate

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Policy states requirements of the catalog maintainers beyond the format. The zero value has no requirements.
type Policy struct {
	DefaultChannel string   `json:"defaultChannel"` // of every package; "" allows any
	ChannelNames   *Pattern `json:"channelNames"`   // pattern of channel names; nil allows any
	LargestSkip    *Skip    `json:"largestSkip"`    // largest version step of an update; nil allows any
	Registries     []string `json:"registries"`     // of images, as HOST or HOST/PATH; empty allows all

	// BundleRegistries are those of bundle images, if they differ from Registries. Empty means that they do not.
	BundleRegistries []string `json:"bundleRegistries"`

	Packages   []string `json:"packages"`   // names of the packages that the catalog may have; empty allows any
	OnePackage bool     `json:"onePackage"` // the catalog has one package, not more
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
		if r.listed != nil && !r.listed[p.Name] {
			r.of(o.Meta).add(rulePolicyPackage, "/name", "the policy does not list package %q%s", p.Name,
				r.hints.Hint(p.Name, policy.Packages))
		}
		if policy.OnePackage && p.Name != r.firstPackage {
			r.of(o.Meta).add(rulePolicyOnePackage, "/name", "the catalog has package %q already, and package %q too",
				r.firstPackage, p.Name)
		}
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
	eachEntry(p, func(channel *declcfg.Meta, i int, e *declcfg.Entry) {
		to := versions[e.Name]
		if to == nil {
			return
		}
		for _, name := range slices.Concat([]string{e.Replaces}, e.Skips) {
			if from := versions[name]; from != nil && !largest.allows(from, to) {
				r.of(channel).add(rulePolicySkip, place.Item("/entries", i), "the update from %q to %q is too large", name, e.Name)
			}
		}
	})
}

// policyOfPackages prepares what the policy says about packages, as it is asked for each of them.
func (r *relations) policyOfPackages() {
	if names := r.validator.opts.Policy.Packages; len(names) > 0 {
		r.listed = map[string]bool{}
		for _, name := range names {
			r.listed[name] = true
		}
	}
	var first *declcfg.Meta
	for _, defined := range r.index.Definitions() {
		for _, o := range defined {
			if first == nil || o.Meta.Pos.Compare(first.Pos) < 0 {
				first, r.firstPackage = o.Meta, o.Meta.Name
			}
		}
	}
}

// An origin is where images may come from, and the rule about it.
type origin struct {
	rule       *problem.Rule
	registries []string // empty for all
}

func (p *Policy) relatedImages() origin { return origin{rulePolicyRegistry, p.Registries} }

func (p *Policy) bundleImages() origin {
	if len(p.BundleRegistries) == 0 {
		return origin{rulePolicyRegistry, p.Registries}
	}
	return origin{rulePolicyBundleRegistry, p.BundleRegistries}
}

// check returns an error for an image that comes from elsewhere.
func (o origin) check(image string) error {
	within := func(registry string) bool {
		rest, ok := strings.CutPrefix(image, strings.TrimSuffix(registry, "/"))
		return ok && strings.HasPrefix(rest, "/")
	}
	if len(o.registries) == 0 || slices.ContainsFunc(o.registries, within) {
		return nil
	}
	return fmt.Errorf("image %q is not in %s", legible.Value(image), legible.Value(strings.Join(o.registries, ", ")))
}

var policyRules = &problem.Group{Title: "Policy", Rules: []*problem.Rule{
	rulePolicyDefaultChannel, rulePolicyChannelName, rulePolicySkip, rulePolicyRegistry, rulePolicyBundleRegistry,
	rulePolicyPackage, rulePolicyOnePackage,
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
	rulePolicyBundleRegistry = &problem.Rule{Name: "policy-bundle-registry", Severity: problem.Error,
		Summary: "bundle images come from the registries that the policy allows for them",
		Reason:  "The policy is in opm.yaml, beside the catalog.",
		Fix:     "push the bundle image there, or change the policy"}
	rulePolicyPackage = &problem.Rule{Name: "policy-package", Severity: problem.Error,
		Summary: "the catalog has only packages that the policy lists",
		Reason:  "The policy is in opm.yaml, beside the catalog.",
		Fix:     "remove the package, or add it to the policy"}
	rulePolicyOnePackage = &problem.Rule{Name: "policy-one-package", Severity: problem.Error,
		Summary: "a catalog has one package, if the policy says so",
		Reason:  "The policy is in opm.yaml, beside the catalog.",
		Fix:     "make a catalog of its own for the package, or change the policy"}
)
