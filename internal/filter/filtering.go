package filter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A Filtering selects a part of a catalog that may have problems.
type Filtering struct {
	Sources []declcfg.Source // the catalog; Select removes what it leaves out
	Report  *validate.Report // of [validate.Catalog] with ErrorsOnly; Select may remove the index
	Others  []*declcfg.Meta  // as in [Catalog]

	Selection    Selection
	Dependencies bool // also keep the dependencies of kept bundles

	// KeepGoing leaves out bundles and packages that cannot be used, with a warning for each. Otherwise an error in a kept
	// one is an error.
	KeepGoing bool

	// Unusable returns the reason why an image cannot be used, or nil. With KeepGoing, bundles that name such an image are
	// left out. nil accepts all images.
	Unusable func(image string) error

	Warn func(pos declcfg.Pos, what string)

	catalog Catalog
}

// A ProblemsError is about problems that prevent a selection.
type ProblemsError struct {
	Problems []*problem.Problem // may be none if Err is set
	Err      error              // another reason, such as ErrNoPackage; nil for none
}

func (e *ProblemsError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return problem.Reason(e.Problems)
}

func (e *ProblemsError) Unwrap() error { return e.Err }

// Index returns the index of the catalog from which Select selected.
func (f *Filtering) Index() *declcfg.Index { return f.catalog.Index }

// Select returns the selected part of the catalog. Errors are as for [Select], and a [*ProblemsError].
func (f *Filtering) Select(ctx context.Context) (*Result, error) {
	f.catalog = Catalog{Index: f.Report.Index, Others: f.Others}
	if f.KeepGoing {
		f.leaveOut()
	} else if found := f.Selection.Preventing(f.Report); len(found) > 0 {
		return nil, &ProblemsError{Problems: found}
	} else {
		f.omitUndecodable()
	}
	if f.Dependencies {
		f.catalog.Index, f.Report.Index = nil, nil // frees the index, since the objects are read again
	}
	result, err := f.selectUsable(ctx)
	if errors.Is(err, ErrNoPackage) {
		return nil, &ProblemsError{f.Selection.Problems(f.Report), err}
	}
	if err != nil {
		return nil, err
	}
	if f.catalog.WhyNot == nil {
		found, others := result.Problems(f.Report)
		if len(found) > 0 {
			return nil, &ProblemsError{Problems: found}
		}
		for _, p := range others {
			f.Warn(p.Pos, fmt.Sprintf("not selected: %s: %s [%s]", p.Path, p.Message, p.Rule))
		}
	}
	if err := result.AddUnresolved(ctx); err != nil {
		return nil, err
	}
	return result, nil
}

// selectUsable selects a part of the catalog. With KeepGoing, it selects again without the bundles that name an
// unusable image until no selected bundle names one, and adds those bundles to WhyNot of the catalog.
func (f *Filtering) selectUsable(ctx context.Context) (*Result, error) {
	for {
		if f.Dependencies {
			if err := f.catalog.readDependencies(ctx, f.Sources); err != nil {
				return nil, err
			}
		}
		result, err := Select(ctx, f.catalog, f.Selection)
		if err != nil || !f.KeepGoing || f.Unusable == nil {
			return result, err
		}
		reasons, err := f.unusableImages(ctx, result)
		if err != nil || len(reasons) == 0 {
			return result, err
		}
		before := f.catalog.WhyNot
		unusable := func(pkg, bundle string) string { return cmp.Or(before(pkg, bundle), reasons[[2]string{pkg, bundle}]) }
		f.catalog.WhyNot = unusable
		f.omitBundles(func(pkg, bundle string) bool { return unusable(pkg, bundle) != "" })
	}
}

// readDependencies sets the index and the dependencies of a catalog that is read again.
func (c *Catalog) readDependencies(ctx context.Context, sources []declcfg.Source) error {
	resolved, err := resolve.ReadCatalog(ctx, sources...)
	if err == nil {
		c.Index, c.Dependencies = resolved.Index, resolved.Dependencies()
	}
	return err
}

// HasDependencies reports whether kept bundles cannot be installed, and the catalog has dependencies of them that are
// not kept.
func (f *Filtering) HasDependencies(ctx context.Context, kept *Result) (bool, error) {
	isOf := func(kind Kind) func(Change) bool { return func(c Change) bool { return c.Kind == kind } }
	if f.Dependencies || !slices.ContainsFunc(kept.Changes, isOf(Unresolved)) {
		return false, nil
	}
	all := f.catalog
	if err := all.readDependencies(ctx, f.Sources); err != nil {
		return false, err
	}
	more, err := Select(ctx, all, f.Selection)
	return err == nil && slices.ContainsFunc(more.Changes, isOf(DependencyAdded)), err
}

// omitUndecodable removes from the catalog the bundles that cannot be decoded, and all documents that cannot be read.
func (f *Filtering) omitUndecodable() {
	r := f.Report
	if len(r.Problems) == 0 {
		return
	}
	undecodable := map[[2]string]bool{}
	for x := range r.Index.Each() {
		for _, b := range x.Bundles {
			if b.Value == nil {
				undecodable[[2]string{x.Name, b.Meta.Name}] = true
			}
		}
	}
	f.Sources = validate.Withheld{}.Without(f.Sources...)
	f.omitBundles(func(pkg, bundle string) bool { return undecodable[[2]string{pkg, bundle}] })
}

// omitBundles removes bundles from the catalog.
func (f *Filtering) omitBundles(omit func(pkg, bundle string) bool) {
	for i := range f.Sources {
		f.Sources[i].Omit = func(m *declcfg.Meta) bool {
			return m.Schema == declcfg.SchemaBundle && omit(m.Package, m.Name)
		}
	}
}

// leaveOut removes unusable packages and bundles from the catalog, with a warning for each in a selected package.
func (f *Filtering) leaveOut() {
	packages, bundles := f.Report.Unusable()
	for _, name := range packages.Names() {
		p := packages[name]
		f.Warn(p.Pos, fmt.Sprintf("%s: %s [%s]", validate.WithheldText(name), p.Message, p.Rule))
	}
	for _, pkg := range slices.Sorted(maps.Keys(bundles)) {
		if packages[pkg] != nil || !f.Dependencies && !f.Selection.Selects(pkg) {
			continue
		}
		for _, p := range slices.SortedFunc(maps.Values(bundles[pkg]), func(a, b *problem.Problem) int {
			return a.Pos.Compare(b.Pos)
		}) {
			f.Warn(p.Pos, fmt.Sprintf("package %q: bundle %q is left out: %s [%s]", pkg, p.Bundle, p.Message, p.Rule))
		}
	}
	f.Sources = packages.Without(f.Sources...)
	f.omitBundles(func(pkg, bundle string) bool { return bundles[legible.Value(pkg)][legible.Value(bundle)] != nil })
	f.catalog.WhyNot = func(pkg, bundle string) string {
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
func (f *Filtering) unusableImages(ctx context.Context, kept *Result) (map[[2]string]string, error) {
	metas := map[[2]string]*declcfg.Meta{}
	for _, m := range kept.Metas {
		if m.Schema == declcfg.SchemaBundle {
			metas[[2]string{m.Package, m.Name}] = m
		}
	}
	reasons := map[[2]string]string{}
	err := kept.EachImage(ctx, func(ref string, by *declcfg.Bundle) {
		use := [2]string{by.Package, by.Name}
		err := f.Unusable(ref)
		if err == nil || reasons[use] != "" {
			return
		}
		reasons[use] = err.Error()
		f.Warn(metas[use].Place(imagePointer(by, ref)), fmt.Sprintf("package %q: bundle %q is left out: %v",
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
	return place.Item("/relatedImages", i) + "/image"
}
