package list

import (
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Image is a row of [Images]: an image that bundles of a package need, their own or a related one.
type Image struct {
	Package string   `json:"package"`
	Image   string   `json:"image"`                // the reference, as the bundles write it
	Bundles []string `json:"bundles" help:"names"` // the names of the bundles, in the order of the catalog
	Deprecation

	memberships map[membership]bool // of all bundles of the package; shared by its rows
}

// A membership is a bundle in a channel, both by name.
type membership struct{ bundle, channel string }

func (l *lister) images() ([]Image, error) {
	memberships := map[membership]bool{}
	for _, c := range l.Channels {
		for _, e := range c.Value.Entries {
			memberships[membership{e.Name, c.Value.Name}] = true
		}
	}
	var metas []*declcfg.Meta
	for _, b := range l.Bundles {
		metas = append(metas, b.Meta)
	}
	var all []Image
	at := map[string]int{}
	err := declcfg.ReadAll(metas, func(o *declcfg.Object) error {
		v, err := o.Decode()
		if err != nil {
			return err
		}
		b := v.(*declcfg.Bundle)
		for _, image := range b.Images() {
			i, ok := at[image]
			if !ok {
				i = len(all)
				at[image] = i
				all = append(all, Image{
					Package: l.Name, Image: image, Deprecation: Deprecation{Deprecated: true}, memberships: memberships,
				})
			}
			row := &all[i]
			row.Bundles = append(row.Bundles, b.Name)
			row.Deprecated = row.Deprecated && l.deprecation(declcfg.SchemaBundle, b.Name).Deprecated
		}
		return nil
	})
	slices.SortFunc(all, func(a, b Image) int { return strings.Compare(a.Image, b.Image) })
	return all, err
}

func (i Image) title() string { return i.Image }

func (i Image) isIn(channel string) bool {
	return slices.ContainsFunc(i.Bundles, func(bundle string) bool { return i.memberships[membership{bundle, channel}] })
}

func (Image) layout() layout {
	return layout{columns: []string{"PACKAGE", "IMAGE", "BUNDLES"}, wide: []string{"DEPRECATED"}}
}

func (i Image) cells(wide bool) []string {
	cells := []string{i.Package, i.Image, strings.Join(i.Bundles, ",")}
	if wide {
		cells = append(cells, yesNo(i.Deprecated))
	}
	return cells
}
