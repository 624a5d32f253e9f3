package imagecheck

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// References are all references to images in a catalog, each with where it is used. Nothing else of the catalog is
// held.
type References struct {
	packages map[string]bool
	uses     map[string][]Use
}

// A Use is a bundle that names an image.
type Use struct {
	Pos     declcfg.Pos // of the bundle
	Package string
	Bundle  string
	Related bool   // the image is one of the related images; otherwise it is that of the bundle itself
	Name    string // of the related image, which may have none
}

// Read collects the references of all bundles. An empty image of a bundle is none: such a bundle carries its manifests
// itself. A related image without a name that is the image of its bundle, as opm lists it, is not counted again.
//
// The error joins all that cannot be read, sorted by place. There are no References then, since an image that is
// missing could be lost with them.
func Read(ctx context.Context, sources ...declcfg.Source) (*References, error) {
	r := &References{packages: map[string]bool{}, uses: map[string][]Use{}}
	var failed []error
	for o, err := range declcfg.Map(ctx, objectOf, sources...) {
		if err != nil {
			failed = append(failed, err)
			continue
		}
		r.add(o)
	}
	if len(failed) > 0 {
		slices.SortStableFunc(failed, declcfg.CompareErrors)
		return nil, errors.Join(failed...)
	}
	for ref, uses := range r.uses {
		slices.SortFunc(uses, Use.compare)
		r.uses[ref] = slices.Clip(slices.Compact(uses))
	}
	return r, nil
}

// Packages returns the names of all packages of the catalog, sorted.
func (r *References) Packages() []string { return slices.Sorted(maps.Keys(r.packages)) }

// Of returns the references of one package, none where there is no such package.
func (r *References) Of(pkg string) *References {
	of := &References{packages: map[string]bool{}, uses: map[string][]Use{}}
	if r.packages[pkg] {
		of.packages[pkg] = true
	}
	for ref, uses := range r.uses {
		for _, u := range uses {
			if u.Package == pkg {
				of.uses[ref] = append(of.uses[ref], u)
			}
		}
	}
	return of
}

// An object is what of an object of the catalog is needed here.
type object struct {
	owner      string
	references []reference
}

// A reference is one use of an image.
type reference struct {
	text string
	use  Use
}

func objectOf(m *declcfg.Object) (object, error) {
	o := object{owner: m.Owner()}
	if m.Schema != declcfg.SchemaBundle {
		return o, nil
	}
	v, err := m.Decode()
	if err != nil {
		return o, err
	}
	if b, ok := v.(*declcfg.Bundle); ok {
		o.references = referencesOf(m.Pos, b)
	}
	return o, nil
}

func referencesOf(pos declcfg.Pos, b *declcfg.Bundle) []reference {
	use := Use{Pos: pos, Package: b.Package, Bundle: b.Name}
	var all []reference
	if b.Image != "" {
		all = append(all, reference{b.Image, use})
	}
	use.Related = true
	for _, image := range b.RelatedImages {
		if image.Name == "" && image.Image == b.Image {
			continue
		}
		use.Name = image.Name
		all = append(all, reference{image.Image, use})
	}
	return all
}

func (r *References) add(o object) {
	if o.owner != "" {
		r.packages[o.owner] = true
	}
	for _, ref := range o.references {
		r.uses[ref.text] = append(r.uses[ref.text], ref.use)
	}
}

// compare orders uses by place; of one bundle, its own image is first.
func (u Use) compare(v Use) int {
	return cmp.Or(
		u.Pos.Compare(v.Pos),
		cmp.Compare(u.Package, v.Package),
		cmp.Compare(u.Bundle, v.Bundle),
		u.compareRelated(v),
		cmp.Compare(u.Name, v.Name),
	)
}

func (u Use) compareRelated(v Use) int {
	switch {
	case u.Related == v.Related:
		return 0
	case v.Related:
		return -1
	}
	return 1
}
