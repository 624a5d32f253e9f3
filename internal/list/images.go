package list

import (
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Image is a row of [Images]: an image that bundles of a package need, their own or a related one.
type Image struct {
	Package string   `json:"package"`
	Image   string   `json:"image"`   // the reference, as the bundles write it
	Bundles []string `json:"bundles"` // the names of the bundles, in the order of the catalog
	Deprecation

	channels []string // of the bundles
}

func (l *lister) images() ([]Image, error) {
	channels := map[string][]string{} // by bundle
	for _, c := range l.sortedChannels(strings.Compare) {
		for _, e := range c.Entries {
			channels[e.Name] = append(channels[e.Name], c.Name)
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
				all = append(all, Image{Package: l.Name, Image: image, Deprecation: Deprecation{Deprecated: true}})
			}
			row, deprecated := &all[i], l.deprecation(declcfg.SchemaBundle, b.Name)
			row.Bundles, row.channels = append(row.Bundles, b.Name), append(row.channels, channels[b.Name]...)
			row.Deprecated = row.Deprecated && deprecated.Deprecated
		}
		return nil
	})
	slices.SortFunc(all, func(a, b Image) int { return strings.Compare(a.Image, b.Image) })
	return all, err
}

func (i Image) title() string { return i.Image }

func (i Image) isIn(channel string) bool { return slices.Contains(i.channels, channel) }

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
