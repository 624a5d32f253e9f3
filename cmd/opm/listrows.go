package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

func packageRows(packages []*declcfg.PackageIndex) ([][]string, error) {
	var rows [][]string
	for _, p := range packages {
		channel := p.Packages[0].Value.DefaultChannel
		name, err := displayName(p, channel)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []string{p.Name, name, channel})
	}
	return rows, nil
}

// displayName returns the display name that the head of the channel has in its manifests. As upstream, it does not look
// into olm.csv.metadata.
func displayName(p *declcfg.PackageIndex, channel string) (string, error) {
	i := slices.IndexFunc(p.Channels, func(c declcfg.Indexed[declcfg.Channel]) bool { return c.Value.Name == channel })
	head := headOf(p.Channels[i].Value)
	for _, b := range p.Bundles {
		if b.Value.Name != head {
			continue
		}
		v, err := b.Meta.Decode()
		if err != nil {
			return "", err
		}
		return v.(*declcfg.Bundle).ManifestDisplayName(), nil
	}
	return "", nil
}

// headOf returns the head of a channel of a valid catalog, which has one.
func headOf(c *declcfg.Channel) string { return graph.New(c.Entries).Heads()[0] }

func channelRows(packages []*declcfg.PackageIndex) ([][]string, error) {
	var rows [][]string
	for _, p := range packages {
		for _, c := range p.Channels {
			rows = append(rows, []string{p.Name, c.Value.Name, headOf(c.Value)})
		}
	}
	slices.SortFunc(rows, slices.Compare)
	return rows, nil
}

func bundleRows(packages []*declcfg.PackageIndex) ([][]string, error) {
	var rows [][]string
	for _, p := range packages {
		images := make(map[string]string, len(p.Bundles))
		for _, b := range p.Bundles {
			images[b.Value.Name] = b.Value.Image
		}
		for _, c := range p.Channels {
			for _, e := range c.Value.Entries {
				rows = append(rows, []string{p.Name, c.Value.Name, e.Name, e.Replaces,
					strings.Join(e.Skips, ","), e.SkipRange, images[e.Name]})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b []string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(a[2], b[2]))
	})
	return rows, nil
}
