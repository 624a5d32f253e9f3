package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// Candidates returns the bundles that OLM v1 may install, the preferred one first: the bundles in the selected channels
// and versions. If a bundle is installed, only bundles that update it or have its version are candidates. OLM resolves
// to the first candidate, and may still refuse it; see [Bundle.Refusal].
//
// The installed bundle need not be in p. If it is nil, the steps have no edge.
func (p *Package) Candidates(o V1Options, installed *Bundle) []Step {
	entries := entriesOf(p.channelsOf(o))
	var steps []Step
	for _, to := range p.candidates(o) {
		switch {
		case installed == nil:
			steps = append(steps, Step{To: to})
		case o.SelfCertified:
			steps = append(steps, Step{to, Forced, nil})
		default:
			if s, ok := o.stepTo(to, entries[to], installed); ok {
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// stepTo returns the step from an installed bundle to the bundle of the entries, and whether there is one.
func (o V1Options) stepTo(to *Bundle, entries []entryRef, from *Bundle) (Step, bool) {
	for _, e := range entries {
		if by := e.channel.edgeTo(e.node, from); by != "" {
			return Step{to, by, e.channel}, true
		}
	}
	return Step{to, Same, nil}, o.same(to, from)
}

// edgeTo returns the edge by which an entry updates a bundle, or "".
func (c *Channel) edgeTo(entry int, b *Bundle) Edge {
	e := c.entries[entry]
	switch {
	case e.Replaces == b.Name:
		return Replaces
	case slices.Contains(e.Skips, b.Name):
		return Skips
	case b.Version != nil && c.inRange(entry, b):
		return SkipRange
	}
	return ""
}

// inRange reports whether the version of b is in the skipRange of an entry. b may be a bundle of another package.
func (c *Channel) inRange(entry int, b *Bundle) bool {
	version := b.semver()
	r := c.ranges[entry]
	bySemver := func(b *Bundle, v semver.Version) int { return b.semver().Compare(v) }
	if _, known := slices.BinarySearchFunc(c.versioned, version, bySemver); !known {
		r, _ = ParseRange(c.entries[entry].SkipRange) // an invalid range is empty
	}
	return r.Contains(version)
}

// WhyNot returns the reason why a bundle of p is not one of the [Package.Candidates], as a sentence without a full
// stop, or "" if it is a candidate.
func (p *Package) WhyNot(o V1Options, installed, b *Bundle) string {
	e := &explainer{Explanation: Explanation{To: b.Name}, from: installed, to: b}
	if installed != nil {
		e.From = installed.Name
	}
	e.checkCandidate(p, o)
	for _, c := range e.Checks {
		if !c.Holds {
			return c.Why
		}
	}
	return ""
}

// WhyAfter returns the reason why OLM v1 prefers another candidate to b, as a sentence without a full stop.
func (o V1Options) WhyAfter(b, preferred *Bundle) string {
	switch {
	case b.Deprecated && !preferred.Deprecated:
		return fmt.Sprintf("it is deprecated, and %s is not", preferred.Name)
	case o.compare(b, preferred) == 0:
		return fmt.Sprintf("%s has the same version and comes first", preferred.Name)
	case b.Version != nil && b.semver().EQ(preferred.semver()):
		return fmt.Sprintf("%s has a higher release", preferred.Name)
	}
	return fmt.Sprintf("%s has a higher version", preferred.Name)
}

// Refusal returns the *[RefusalError] that OLM v1 reports if it resolves to b and b has a dependency, or nil. OLM v1
// then does not try another bundle.
func (b *Bundle) Refusal() error {
	if b.Dependency == "" {
		return nil
	}
	return &RefusalError{b}
}

// A RefusalError is the error of OLM v1 for a bundle with a dependency, which it does not support.
type RefusalError struct{ Bundle *Bundle }

// Error returns the text of OLM.
func (e *RefusalError) Error() string {
	return fmt.Sprintf("validating bundle %q: bundle %q has a dependency declared via property %q "+
		"which is currently not supported", e.Bundle.Name, e.Bundle.Name, e.Bundle.Dependency)
}

// ErrNoBundles matches (see [errors.Is]) the error of OLM v1 for an installed bundle without candidates: no bundle
// updates it, and it is itself not in the selected channels and versions.
var ErrNoBundles = errors.New("no bundles found")

// An UnresolvedError is the error of OLM v1 if no catalog, or more than one, has a bundle to install.
type UnresolvedError struct {
	Installed string // the version of the installed bundle; "" if no bundle is installed
	Package   string
	Version   string   // the version range; "" for any
	Channels  []string // in the order of the ClusterExtension; empty for all
	Catalogs  []string // all catalogs with a bundle, sorted; two or more of them share the highest priority
}

// Error returns the text of OLM.
func (e *UnresolvedError) Error() string {
	var text strings.Builder
	if e.Installed != "" {
		fmt.Fprintf(&text, "error upgrading from currently installed version %q: ", e.Installed)
	}
	found := ErrNoBundles.Error()
	if len(e.Catalogs) > 0 {
		found = "found bundles"
	}
	fmt.Fprintf(&text, "%s for package %q", found, e.Package)
	if e.Version != "" {
		fmt.Fprintf(&text, " matching version %q", e.Version)
	}
	if len(e.Channels) > 0 {
		fmt.Fprintf(&text, " in channels %s", e.Channels)
	}
	if len(e.Catalogs) > 0 {
		fmt.Fprintf(&text, " in multiple catalogs with the same priority %s", e.Catalogs)
	}
	return text.String()
}

// Is reports whether target is ErrNoBundles and no catalog has a bundle.
func (e *UnresolvedError) Is(target error) bool {
	return target == ErrNoBundles && len(e.Catalogs) == 0
}
