// Package across plans the upgrade of a platform, such as OpenShift 4.18 to 4.20, with a catalog for each of its
// versions: for every bundle that may be installed on the first version, the updates, changes of channels and upgrades
// of the platform that lead to the last one, or the reason why there are none.
//
//	old := &across.Catalog{Name: "v4.18", Platform: platform.OpenShift(platform.Version{Major: 4, Minor: 18})}
//	_, err := old.Read(ctx, declcfg.Source{FS: os.DirFS("v4.18")})
//	…
//	report, err := across.Run(ctx, []*across.Catalog{old, next}, across.Options{})
//	for _, p := range report.Plans {
//		fmt.Println(p.Package, p.Bundles(), p.Text())
//	}
//
// A plan keeps four rules. On each version of the platform, an operator must end at a bundle that has an entry in the
// channel that it follows. It is updated only as OLM updates it in that channel. The platform is upgraded only if
// olm.maxOpenShiftVersion of the installed bundle allows it. The installed bundle must have an entry in the next
// catalog, or an update there.
//
// The plans of a package are found in a graph. A node is an installed bundle on one version of the platform, with the
// channel that it follows and the last version that its olm.maxOpenShiftVersion allows. Edges are updates, changes of
// the channel and upgrades. Dijkstra's algorithm, backwards from the ends, finds the cheapest plans of all bundles at
// once: first the furthest version, then the fewest changes of channel, updates and manual approvals.
package across

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Catalog is the catalog for one version of the platform.
type Catalog struct {
	Name     string
	Platform platform.Platform
	Index    *declcfg.Index // set by Read

	limits map[bundleKey][]jsontext.Value // the values of olm.maxOpenShiftVersion
}

// A bundleKey identifies a bundle of a catalog.
type bundleKey struct{ pkg, name string }

// Read sets the Index, and returns it. The catalog need not be valid. The error is the error of [declcfg.ReadIndex].
func (c *Catalog) Read(ctx context.Context, sources ...declcfg.Source) (_ *declcfg.Index, err error) {
	c.limits = map[bundleKey][]jsontext.Value{}
	c.Index, err = declcfg.ReadIndexAnd(ctx, limitsOf, c.keepLimits, sources...)
	return c.Index, err
}

// limitsOf returns the values of olm.maxOpenShiftVersion of a decoded bundle; nil for other objects.
func limitsOf(_ *declcfg.Meta, v any) (limits []jsontext.Value, err error) {
	if b, ok := v.(*declcfg.Bundle); ok {
		for _, p := range b.Properties {
			if p.Type == declcfg.PropertyMaxOpenShiftVersion {
				limits = append(limits, p.Value.Clone())
			}
		}
	}
	return limits, nil
}

func (c *Catalog) keepLimits(m *declcfg.Meta, limits []jsontext.Value) {
	if limits != nil {
		key := bundleKey{m.Package, m.Name}
		c.limits[key] = append(c.limits[key], limits...)
	}
}

// version returns the version that orders catalogs: the version of OpenShift or, without OpenShift, of Kubernetes.
func (c *Catalog) version() platform.Version {
	if c.isOpenShift() {
		return c.Platform.OpenShift
	}
	return c.Platform.Kubernetes
}

func (c *Catalog) isOpenShift() bool { return c.Platform.OpenShift != platform.Version{} }

// Check returns an error unless there are at least two catalogs of one platform, the oldest version first.
func Check(catalogs []*Catalog) error {
	if len(catalogs) < 2 {
		return errors.New("an upgrade of the platform needs at least two catalogs")
	}
	for i, next := range catalogs[1:] {
		c := catalogs[i]
		switch order := next.version().Compare(c.version()); {
		case next.isOpenShift() != c.isOpenShift():
			return fmt.Errorf("catalog %q is for %v and catalog %q for %v, want versions of one platform",
				c.Name, c.Platform, next.Name, next.Platform)
		case order == 0:
			return fmt.Errorf("catalogs %q and %q are both for %v", c.Name, next.Name, next.Platform)
		case order < 0:
			return fmt.Errorf("catalog %q (%v) comes after catalog %q (%v), want the oldest platform first",
				next.Name, next.Platform, c.Name, c.Platform)
		}
	}
	return nil
}

// Gaps returns a text for each upgrade that leaves out versions of the platform, such as "4.18 and 4.20". Plans for
// these versions assume that operators are not updated on them.
func Gaps(catalogs []*Catalog) []string {
	var gaps []string
	for i, next := range catalogs[1:] {
		v, w := catalogs[i].version(), next.version()
		if w.After(v.Next()) {
			gaps = append(gaps, fmt.Sprintf("%v and %v", v, w))
		}
	}
	return gaps
}

// Options select the plans. The zero value plans for every bundle that has an entry in a channel of the first catalog,
// with OLM Classic and OLM v1.
type Options struct {
	OLM       []graph.Semantics // empty for both; OLM v1 only if the first platform has it, or operators of the cluster
	Package   string            // the only package; "" for all; an error wraps ErrNotFound
	Bundles   []string          // the only installed bundles, by name; empty for all; an error wraps ErrNotFound
	Operators []Operator        // the operators of a cluster, instead of the bundles of the first catalog
}

// An Operator is an operator that a cluster has installed.
type Operator struct {
	Package string
	Channel string // "" for no channel
	Bundle  string
	Version *declcfg.Version // nil if unknown
	OLM     graph.Semantics
}

// Run makes the plans. The error is the error of [Check], of ctx, or about a bundle or a package that no catalog has.
func Run(ctx context.Context, catalogs []*Catalog, o Options) (*Report, error) {
	if err := Check(catalogs); err != nil {
		return nil, err
	}
	all := slices.Clone(o.OLM)
	if len(all) == 0 {
		all = []graph.Semantics{graph.Classic, graph.V1}
	}
	isV1 := func(in Operator) bool { return in.OLM == graph.V1 }
	if len(all) > 1 && catalogs[0].Platform.OLMv1 == platform.OLMv1Absent && !slices.ContainsFunc(o.Operators, isV1) {
		all = slices.DeleteFunc(all, func(s graph.Semantics) bool { return s == graph.V1 })
	}
	o.OLM = all
	r := &Report{olm: o.OLM}
	for _, c := range catalogs {
		r.Catalogs = append(r.Catalogs, Platform{c.Name, c.version().String()})
	}
	known := map[string]bool{}
	plan := func(pkg string) *packagePlans { return o.plan(catalogs, pkg) }
	for p := range parallel.Map(ctx, 0, slices.Values(o.packages(catalogs[0])), plan) {
		r.add(p)
		for _, s := range p.starts {
			known[s.bundle] = true
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, name := range o.Bundles {
		if !known[name] {
			return nil, o.unknownBundle(catalogs[0], name)
		}
	}
	if o.Package != "" && len(known) == 0 {
		if err := o.checkPackage(catalogs); err != nil {
			return nil, err
		}
	}
	r.Problems = problem.Sort(r.Problems) // and removes the ones that both versions of OLM have
	return r, nil
}

// unknownBundle returns the error about an installed bundle that the first catalog neither has nor updates.
func (o Options) unknownBundle(first *Catalog, bundle string) error {
	what, names := "no bundle", []string(nil)
	if o.Package != "" {
		what = fmt.Sprintf("package %q has no bundle", o.Package)
	}
	for _, name := range o.packages(first) {
		if x := first.Index.Package(name); x != nil {
			for _, b := range x.Bundles {
				if b.Value != nil && b.Value.Name != bundle { // it may be in no channel
					names = append(names, b.Value.Name)
				}
			}
		}
	}
	return nearest.NotFound(what, bundle, names)
}

// checkPackage returns an error if no catalog has the chosen package.
func (o Options) checkPackage(catalogs []*Catalog) error {
	var names []string
	for _, c := range catalogs {
		names = append(names, c.Index.Names()...)
	}
	if slices.Contains(names, o.Package) {
		return nil
	}
	return nearest.NotFound("no package", o.Package, names)
}

// packages returns the names of the packages with plans, sorted.
func (o Options) packages(first *Catalog) []string {
	var names []string
	if o.Operators != nil {
		for _, in := range o.Operators {
			names = append(names, in.Package)
		}
	} else {
		for _, x := range first.Index.Packages() {
			names = append(names, x.Name)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return name == "" || o.Package != "" && name != o.Package
	})
}
