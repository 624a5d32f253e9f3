package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// ParsePackages parses packages in the syntax of the command line: PACKAGE[:CHANNEL,...][@RANGE], with a range in the
// syntax of [graph.ParseConstraint]. A package may be repeated with other channels.
func ParsePackages(texts ...string) ([]Package, error) {
	var packages []Package
	for _, text := range texts {
		p, err := parsePackage(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		same := func(q Package) bool { return q.Name == p.Name }
		i := slices.IndexFunc(packages, same)
		if i < 0 {
			packages = append(packages, p)
			continue
		}
		if len(packages[i].Channels) == 0 || len(p.Channels) == 0 {
			return nil, fmt.Errorf("%q: package %q is given twice: combine them, or name channels in both", text, p.Name)
		}
		for _, c := range p.Channels {
			if err := packages[i].add(c); err != nil {
				return nil, fmt.Errorf("%q: %w", text, err)
			}
		}
	}
	return packages, nil
}

var errSyntax = errors.New("want PACKAGE[:CHANNEL,...][@RANGE], such as kiln:stable,fast@>=1.1.0")

func parsePackage(text string) (p Package, err error) {
	what, versions, hasRange := strings.Cut(text, "@")
	if hasRange {
		constraint, err := graph.ParseConstraint(versions)
		if strings.TrimSpace(versions) == "" {
			return p, errSyntax
		}
		if err != nil {
			return p, err
		}
		p.Rule = InRange(constraint)
	}
	name, channels, hasChannels := strings.Cut(what, ":")
	if p.Name = name; name == "" {
		return p, errSyntax
	}
	if !hasChannels {
		return p, nil
	}
	for channel := range strings.SplitSeq(channels, ",") {
		if channel == "" {
			return p, errSyntax
		}
		if err := p.add(Channel{Name: channel, Rule: p.Rule}); err != nil {
			return p, err
		}
	}
	p.Rule = nil // further channels of this package may have no rule
	return p, nil
}

func (p *Package) add(c Channel) error {
	if slices.ContainsFunc(p.Channels, func(d Channel) bool { return c.Name == d.Name }) {
		return fmt.Errorf("channel %q is given twice", c.Name)
	}
	p.Channels = append(p.Channels, c)
	return nil
}
