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
	uses     []use // by place, none twice
}

// A use is a bundle that names an image.
type use struct {
	pos       declcfg.Pos // of the bundle
	pkg       string
	bundle    string
	related   bool   // the image is one of the related images; otherwise it is that of the bundle itself
	name      string // of the related image, which may have none
	reference string // as the catalog has it
}

// Read collects the references of all bundles. An empty image of a bundle is none: such a bundle carries its manifests
// itself. A related image without a name that is the image of its bundle, as opm lists it, is not counted again.
//
// The error joins all that cannot be read, sorted by place. There are no References then, since an image that is
// missing could be lost with them.
func Read(ctx context.Context, sources ...declcfg.Source) (*References, error) {
	r := &References{packages: map[string]bool{}}
	var failed []error
	for o, err := range declcfg.Map(ctx, objectOf, sources...) {
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if o.owner != "" {
			r.packages[o.owner] = true
		}
		r.uses = append(r.uses, o.uses...)
	}
	if len(failed) > 0 {
		slices.SortStableFunc(failed, declcfg.CompareErrors)
		return nil, errors.Join(failed...)
	}
	slices.SortFunc(r.uses, use.compare)
	r.uses = slices.Clip(slices.Compact(r.uses))
	return r, nil
}

// Packages returns the names of all packages of the catalog, sorted.
func (r *References) Packages() []string { return slices.Sorted(maps.Keys(r.packages)) }

// Len returns how many references there are, each counted once.
func (r *References) Len() int { return len(r.all()) }

// Of returns the references of one package, none if there is no such package.
func (r *References) Of(pkg string) *References {
	of := &References{packages: map[string]bool{}}
	if r.packages[pkg] {
		of.packages[pkg] = true
	}
	of.uses = r.usesIf(func(u use) bool { return u.pkg == pkg })
	return of
}

// Part returns those of the references that part returns of all, which are sorted and without duplicates.
func (r *References) Part(part func(refs []string) []string) *References {
	refs := part(r.all())
	return &References{packages: r.packages, uses: r.usesIf(func(u use) bool {
		_, ok := slices.BinarySearch(refs, u.reference)
		return ok
	})}
}

func (r *References) usesIf(ok func(use) bool) []use {
	return slices.DeleteFunc(slices.Clone(r.uses), func(u use) bool { return !ok(u) })
}

// all returns the references, each once, sorted.
func (r *References) all() []string {
	refs := make([]string, len(r.uses))
	for i, u := range r.uses {
		refs[i] = u.reference
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// An object has the parts of an object of the catalog that are needed here.
type object struct {
	owner string
	uses  []use
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
		o.uses = usesOf(m.Pos, b)
	}
	return o, nil
}

func usesOf(pos declcfg.Pos, b *declcfg.Bundle) []use {
	var all []use
	if b.Image != "" {
		all = append(all, use{pos, b.Package, b.Name, false, "", b.Image})
	}
	for _, image := range b.RelatedImages {
		if image.Name != "" || image.Image != b.Image {
			all = append(all, use{pos, b.Package, b.Name, true, image.Name, image.Image})
		}
	}
	return all
}

// kind returns how the bundle uses the image.
func (u use) kind() string {
	if u.related {
		return "related image"
	}
	return "image"
}

// compare orders uses by place; of one bundle, its own image is first.
func (u use) compare(v use) int {
	return cmp.Or(
		u.pos.Compare(v.pos),
		cmp.Compare(u.pkg, v.pkg),
		cmp.Compare(u.bundle, v.bundle),
		cmp.Compare(u.kind(), v.kind()),
		cmp.Compare(u.name, v.name),
		cmp.Compare(u.reference, v.reference),
	)
}
