package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/mirror"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// omitUndecodable removes from a catalog the bundles that cannot be decoded, and all documents that cannot be read.
func omitUndecodable(c *catalog, r *validate.Report) {
	if len(r.Problems) == 0 {
		return
	}
	undecodable := map[string]map[string]bool{}
	for x := range r.Index.Each() {
		for _, b := range x.Bundles {
			if b.Value == nil {
				if undecodable[x.Name] == nil {
					undecodable[x.Name] = map[string]bool{}
				}
				undecodable[x.Name][b.Meta.Name] = true
			}
		}
	}
	c.Sources = validate.Withheld{}.Without(c.Sources...)
	omitBundles(c, func(pkg, bundle string) bool { return undecodable[pkg][bundle] })
}

// omitBundles removes bundles from a catalog.
func omitBundles(c *catalog, omit func(pkg, bundle string) bool) {
	for i := range c.Sources {
		c.Sources[i].Omit = func(m *declcfg.Meta) bool {
			return m.Schema == declcfg.SchemaBundle && omit(m.Package, m.Name)
		}
	}
}

// leaveOut removes unusable packages and bundles from a catalog, and warns about those of the selected packages. It
// returns [filter.Catalog].Unusable.
func (f *filterFlags) leaveOut(c *catalog, r *validate.Report, s filter.Selection) func(pkg, bundle string) string {
	packages, bundles := r.Unusable()
	for _, name := range packages.Names() {
		p := packages[name]
		warnAt(c.cmd, p.Pos, fmt.Sprintf("%s: %s [%s]", validate.WithheldText(name), p.Message, p.Rule))
	}
	for _, pkg := range slices.Sorted(maps.Keys(bundles)) {
		if packages[pkg] != nil || !f.dependencies && !s.Selects(pkg) {
			continue
		}
		for _, p := range slices.SortedFunc(maps.Values(bundles[pkg]), func(a, b *problem.Problem) int {
			return a.Pos.Compare(b.Pos)
		}) {
			warnAt(c.cmd, p.Pos, fmt.Sprintf("package %q: bundle %q is left out: %s [%s]", pkg, p.Bundle, p.Message, p.Rule))
		}
	}
	c.Sources = packages.Without(c.Sources...)
	omitBundles(c, func(pkg, bundle string) bool { return bundles[legible.Value(pkg)][legible.Value(bundle)] != nil })
	return func(pkg, bundle string) string {
		p := packages[legible.Value(pkg)]
		if bundle != "" {
			p = bundles[legible.Value(pkg)][legible.Value(bundle)]
		}
		if p == nil {
			return ""
		}
		return p.Message
	}
}

// unusableImages returns the reasons to leave out the kept bundles that name an unusable image, and warns about each at
// the place of its first such image.
func (f *filterFlags) unusableImages(cmd *cobra.Command, kept *filter.Result) (map[mirror.Use]string, error) {
	metas := map[mirror.Use]*declcfg.Meta{}
	for _, m := range kept.Metas {
		if m.Schema == declcfg.SchemaBundle {
			metas[mirror.Use{Package: m.Package, Bundle: m.Name}] = m
		}
	}
	reasons := map[mirror.Use]string{}
	err := kept.EachImage(cmd.Context(), func(ref string, by *declcfg.Bundle) {
		use := mirror.Use{Package: by.Package, Bundle: by.Name}
		err := f.unusable(ref)
		if err == nil || reasons[use] != "" {
			return
		}
		reasons[use] = err.Error()
		warnAt(cmd, metas[use].Place(imagePointer(by, ref)), fmt.Sprintf("package %q: bundle %q is left out: %v",
			legible.Value(by.Package), legible.Value(by.Name), err))
	})
	return reasons, err
}

// imagePointer returns the pointer to the first mention of an image in a bundle.
func imagePointer(b *declcfg.Bundle, ref string) jsontext.Pointer {
	i := slices.IndexFunc(b.RelatedImages, func(r declcfg.RelatedImage) bool { return r.Image == ref })
	if b.Image == ref || i < 0 {
		return "/image"
	}
	return jsontext.Pointer(fmt.Sprintf("/relatedImages/%d/image", i))
}
