// Package list returns the packages, channels, bundles, versions, images and updates of a catalog as rows, and rows as
// answers to print.
//
//	index, err := declcfg.ReadIndex(ctx, declcfg.Source{FS: os.DirFS("catalog")})
//	rows, err := list.Channels(ctx, index.Each(), list.Options{})
//	err = list.Result(slices.Values(rows)).Write(os.Stdout, output.Text)
package list

import (
	"context"
	"iter"
	"slices"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Options select the listed rows. The zero value lists all.
type Options struct {
	Channel    string // only rows of channels with this name; an error if there is none
	Deprecated bool   // only rows that are themselves deprecated
}

// Packages lists packages, which must be packages of a valid catalog.
func Packages(ctx context.Context, packages iter.Seq[*declcfg.PackageIndex], o Options) ([]Package, error) {
	return rows(ctx, packages, o, (*lister).packages)
}

// Channels lists the channels of packages, sorted by name. The packages must be packages of a valid catalog.
func Channels(ctx context.Context, packages iter.Seq[*declcfg.PackageIndex], o Options) ([]Channel, error) {
	return rows(ctx, packages, o, (*lister).channels)
}

// Bundles lists the bundles of packages, sorted by channel and name. The packages must be packages of a valid catalog.
func Bundles(ctx context.Context, packages iter.Seq[*declcfg.PackageIndex], o Options) ([]Bundle, error) {
	return rows(ctx, packages, o, (*lister).bundles)
}

// Versions lists the bundles of packages, the highest version first. The packages must be packages of a valid catalog.
func Versions(ctx context.Context, packages iter.Seq[*declcfg.PackageIndex], o Options) ([]Version, error) {
	return rows(ctx, packages, o, (*lister).versions)
}

// Images lists the images that the bundles of packages need, sorted by reference within each package. An image is
// deprecated if all of these bundles are; it has no message. The packages must be packages of a valid catalog.
func Images(ctx context.Context, packages iter.Seq[*declcfg.PackageIndex], o Options) ([]Image, error) {
	return rows(ctx, packages, o, (*lister).images)
}

// rows returns the rows of packages that the options select.
func rows[R selectable](
	ctx context.Context, packages iter.Seq[*declcfg.PackageIndex], o Options, list func(*lister) ([]R, error),
) ([]R, error) {
	if err := checkChannel(packages, o.Channel); err != nil {
		return nil, err
	}
	work := func(x *declcfg.PackageIndex) ([]R, error) { return list(newLister(x)) }
	var all []R
	for rows, err := range parallel.Try(ctx, 0, packages, work) { // decodes some objects again
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return slices.DeleteFunc(all, func(r R) bool {
		return o.Channel != "" && !r.isIn(o.Channel) || o.Deprecated && !r.isDeprecated()
	}), nil
}

// checkChannel returns an error if no package has the named channel. "" stands for no channel, and is valid.
func checkChannel(packages iter.Seq[*declcfg.PackageIndex], name string) error {
	var names []string
	for x := range packages {
		for _, c := range x.Channels {
			names = append(names, c.Value.Name)
		}
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return nearest.NotFound("no channel", name, names)
}

// Choose yields the named packages, each once, or all packages if there are no names. The error wraps
// [declcfg.ErrNotFound] if a package does not exist.
func Choose(index *declcfg.Index, names ...string) (iter.Seq[*declcfg.PackageIndex], error) {
	if len(names) == 0 {
		return index.Each(), nil
	}
	var chosen []*declcfg.PackageIndex
	for _, name := range names {
		p := index.Package(name)
		if p == nil {
			return nil, nearest.NotFound("no package", name, index.Names())
		}
		if !slices.Contains(chosen, p) {
			chosen = append(chosen, p)
		}
	}
	return slices.Values(chosen), nil
}
