package filter

import (
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A usablePart is the part of a package that remains without its unusable bundles.
type usablePart struct {
	reason   string                // why nothing remains; otherwise ""
	index    *declcfg.PackageIndex // with repaired channels; nil if nothing remains
	reduced  bool                  // an entry was left out
	channels map[string]bool       // names of channels of which nothing remains
	changes  []Change              // the left out bundles and the repairs
}

// part returns the usable part of a package, which must exist.
func (s *selector) part(pkg string) *usablePart {
	part := s.usable[pkg]
	if part == nil {
		part = s.findUsable(s.catalog.Index.Package(pkg))
		s.usable[pkg] = part
	}
	return part
}

// unusablePackage returns the reason to leave out a whole package, or "".
func (s *selector) unusablePackage(pkg string) string {
	if s.catalog.WhyNot == nil {
		return ""
	}
	return s.catalog.WhyNot(pkg, "")
}

// leaveOut records that a selected package is left out.
func (s *selector) leaveOut(pkg, reason string) {
	s.changes = append(s.changes, Change{Package: pkg, Kind: LeftOut, Message: "left out: " + reason})
}

func (s *selector) findUsable(x *declcfg.PackageIndex) *usablePart {
	if s.catalog.WhyNot == nil {
		return &usablePart{index: x}
	}
	if reason := s.unusablePackage(x.Name); reason != "" {
		return &usablePart{reason: reason}
	}
	part := &usablePart{index: x, channels: map[string]bool{}}
	p := newPackage(x, Package{Name: x.Name})
	for _, c := range p.graph.Channels {
		k := p.keepChannel(c)
		for _, e := range c.Entries() {
			reason := s.catalog.WhyNot(x.Name, e.Name)
			if reason == "" {
				k.keep[e.Name] = true
				continue
			}
			part.reduced = true
			p.change(Change{Kind: LeftOut, Channel: c.Name, Bundle: e.Name, Message: fmt.Sprintf(
				"%q is left out: %s", e.Name, reason)})
		}
		if len(k.keep) == 0 {
			delete(p.channels, c.Name)
			part.channels[c.Name] = true
			p.change(Change{Kind: ChannelRemoved, Channel: c.Name, Message: "removed: none of its bundles can be used"})
		}
	}
	switch {
	case !part.reduced:
		return part
	case len(p.channels) == 0:
		return &usablePart{reason: "none of its bundles can be used"}
	}
	_ = p.finish() // fails only for a selected default channel
	part.index = repairedIndex(x, p.bundles, p.defaultChannel, p.sortedChannels()...)
	part.changes = p.changes
	return part
}

// changesOf returns the changes of the usable part that concern the kept part of the package.
func (part *usablePart) changesOf(p *keptPackage) []Change {
	return slices.DeleteFunc(slices.Clone(part.changes), func(c Change) bool {
		selected := func(w Channel) bool { return w.Name == c.Channel }
		switch {
		case c.Kind == LeftOut || c.Kind == ChannelRemoved:
			return p.wanted.Channels != nil && !slices.ContainsFunc(p.wanted.Channels, selected)
		case c.Channel != "" && p.channels[c.Channel] == nil:
			return true
		}
		return c.Bundle != "" && !p.bundles[c.Bundle]
	})
}
