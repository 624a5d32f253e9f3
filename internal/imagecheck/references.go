package imagecheck

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// References are all references to images in a catalog, with their positions. Nothing else of the catalog is
// retained, apart from the identities of its packages.
type References struct {
	index    declcfg.Index // olm.package objects
	packages map[string]bool
	uses     []use // sorted by position, without duplicates
}

// A use is one reference of a bundle to an image.
type use struct {
	pos       declcfg.Pos // of the bundle
	pkg       string
	bundle    string
	related   bool   // a related image, not the bundle image
	name      string // of the related image; may be ""
	reference string // as in the catalog
}

// Read collects the references of all bundles. It ignores an empty bundle image, since such a bundle contains its
// manifests, and a related image without a name that is the bundle image, as opm lists it.
//
// The error joins all read errors, sorted by position. In this case References is nil, because a missing image could
// be in the unreadable part.
func Read(ctx context.Context, sources ...declcfg.Source) (*References, error) {
	r := &References{packages: map[string]bool{}}
	keep := func(m *declcfg.Meta, uses []use) {
		if owner := m.Owner(); owner != "" {
			r.packages[owner] = true
		}
		if m.Schema == declcfg.SchemaPackage {
			r.index.Add(m, nil)
		}
		for _, u := range uses {
			u.pos = m.Pos
			r.uses = append(r.uses, u)
		}
	}
	if err := declcfg.Collect(ctx, usesIn, keep, sources...); err != nil {
		return nil, err
	}
	slices.SortFunc(r.uses, use.compare)
	r.uses = slices.Clip(slices.Compact(r.uses))
	return r, nil
}

// Index returns the olm.package objects of the catalog.
func (r *References) Index() *declcfg.Index { return &r.index }

// Packages returns the names of all packages of the catalog, sorted.
func (r *References) Packages() []string { return slices.Sorted(maps.Keys(r.packages)) }

// Len returns the number of distinct references.
func (r *References) Len() int { return len(r.all()) }

// Of returns the references of one package. They are empty if there is no such package.
func (r *References) Of(pkg string) *References {
	of := &References{packages: map[string]bool{}}
	if r.packages[pkg] {
		of.packages[pkg] = true
	}
	of.uses = r.usesIf(func(u use) bool { return u.pkg == pkg })
	return of
}

// Part returns the references that the function part selects. It gets all references, sorted and without duplicates.
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

// all returns the references, sorted and without duplicates.
func (r *References) all() []string {
	refs := make([]string, len(r.uses))
	for i, u := range r.uses {
		refs[i] = u.reference
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// usesIn returns the references of an object, without a position.
func usesIn(m *declcfg.Object) ([]use, error) {
	if m.Schema != declcfg.SchemaBundle {
		return nil, nil
	}
	v, err := m.Decode()
	if err != nil {
		return nil, err
	}
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil, nil
	}
	var uses []use
	if b.Image != "" {
		uses = append(uses, use{pkg: b.Package, bundle: b.Name, reference: b.Image})
	}
	for _, image := range b.RelatedImages {
		if image.Name != "" || image.Image != b.Image {
			uses = append(uses, use{
				pkg: b.Package, bundle: b.Name, related: true, name: image.Name, reference: image.Image,
			})
		}
	}
	return uses, nil
}

// kind returns the kind of the image for messages.
func (u use) kind() string {
	if u.related {
		return "related image"
	}
	return "image"
}

// compare orders uses by position, and the bundle image before the related images of a bundle.
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
