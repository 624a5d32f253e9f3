// Package impact reports the effects of the new bundles of a catalog on its users, for reviewers: the bundles that are
// updated to them, their new permissions, the updates that OLM refuses or can never finish, and
// their new images and dependencies.
//
//	report, err := impact.Compare(ctx, before, after, impact.Options{})
//	if err != nil {
//		return err
//	}
//	return report.Report().Markdown(os.Stdout)
//
// The analyses are those of packages graph, audit, updatecheck and resolve.
package impact

import (
	"context"
	"errors"
	"slices"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/olm/updatecheck"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// Options are the options of Compare. The zero value is the default.
type Options struct {
	Package string // the only package to report; "" for all

	// Images opens the images of bundles whose manifests are not in the catalog. If it is nil, the permissions and
	// objects of such bundles are unknown.
	Images updatecheck.Images

	// Size returns the compressed size of an image in bytes. If it is nil, sizes are unknown.
	Size func(ctx context.Context, ref string) (int64, error)

	Spool image.SpoolOptions // of objects
}

// A Report is the impact of the bundles that only the catalog after has, by package and version.
type Report struct {
	Bundles []Bundle `json:"bundles"`

	Before, After *declcfg.Index `json:"-"` // the catalogs
}

// A Bundle is the impact of a new bundle. Lists are never nil.
type Bundle struct {
	Package string `json:"package"`
	Name    string `json:"name"`
	Version string `json:"version"`

	// Head is the bundle that users installed until now: the head of a channel of the bundle in the catalog before, or
	// of the default channel. It is "" for a new package.
	Head string `json:"head"`

	Updates      []Updates   `json:"updates"` // by channel
	Permissions  Permissions `json:"permissions"`
	Refusals     []Refusal   `json:"refusals"`
	Images       []Image     `json:"images"`       // images that no bundle of the catalog before has, sorted
	Dependencies []string    `json:"dependencies"` // dependencies that no package of the catalog satisfies
}

// A Refusal is a reason why OLM refuses updates to a bundle, can never finish them, or cannot be asked.
type Refusal struct {
	Rule     string           `json:"rule"`
	Severity problem.Severity `json:"severity"`
	Message  string           `json:"message"`
}

// An Image is an image that is new in the catalog.
type Image struct {
	Reference string `json:"reference"`
	Size      int64  `json:"size,omitzero"`   // compressed, in bytes; 0 if it is unknown
	Error     string `json:"error,omitempty"` // the reason why the size is unknown
}

// A comparison is the state of Compare.
type comparison struct {
	before, after *resolve.Catalog
	opts          Options
	news          []*newBundle
}

// A newBundle is a bundle that only the catalog after has.
type newBundle struct {
	Bundle
	meta *declcfg.Meta
	head *declcfg.Meta // the bundle of Head; nil if Head is ""
}

// Compare reports the impact of the change from one catalog to another, which need not be valid. The error joins the
// errors of all objects that cannot be read, or wraps [declcfg.ErrNotFound] if neither catalog has the package of the
// options.
func Compare(ctx context.Context, before, after []declcfg.Source, opts Options) (*Report, error) {
	old, errOld := resolve.ReadCatalog(ctx, before...)
	now, errNow := resolve.ReadCatalog(ctx, after...)
	if err := errors.Join(errOld, errNow); err != nil {
		return nil, err
	}
	c := &comparison{before: old, after: now, opts: opts}
	if err := c.find(); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{
		c.permissions,
		func(ctx context.Context) error { return c.refusals(ctx, after) },
		func(ctx context.Context) error { return c.images(ctx, before) },
		c.dependencies,
	} {
		if len(c.news) == 0 {
			break
		}
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	report := &Report{Bundles: []Bundle{}, Before: old.Index, After: now.Index}
	for _, n := range c.news {
		report.Bundles = append(report.Bundles, n.Bundle)
	}
	return report, nil
}

// find finds the new bundles, with their updates and the heads before them.
func (c *comparison) find() error {
	var names []string
	for _, p := range slices.Concat(c.before.Index.Packages(), c.after.Index.Packages()) {
		names = append(names, p.Name)
	}
	if c.opts.Package != "" && !slices.Contains(names, c.opts.Package) {
		return nearest.NotFound("no package", c.opts.Package, names)
	}
	for _, p := range c.after.Index.Packages() {
		if c.opts.Package == "" || p.Name == c.opts.Package {
			c.findIn(p)
		}
	}
	return nil
}

func (c *comparison) findIn(p *declcfg.PackageIndex) {
	x := c.before.Index.Package(p.Name) // nil for a new package
	before, after := metasOf(x), metasOf(p)
	old, g := graph.NewPackages(x, p)
	for _, b := range g.Bundles { // by version
		meta := after[b.Name]
		if b.Virtual || meta == nil || before[b.Name] != nil {
			continue
		}
		n := &newBundle{meta: meta, Bundle: Bundle{
			Package: p.Name, Name: b.Name, Updates: updatesTo(old, g, b),
			Refusals: []Refusal{}, Images: []Image{}, Dependencies: []string{},
		}}
		if b.Version != nil {
			n.Version = b.Version.String()
		}
		n.Head = headBefore(old, g, b)
		n.head = before[n.Head]
		c.news = append(c.news, n)
	}
}

// metasOf returns the bundles of a package, which may be nil, by name. Of several bundles with one name, it takes the
// first.
func metasOf(p *declcfg.PackageIndex) map[string]*declcfg.Meta {
	metas := map[string]*declcfg.Meta{}
	if p == nil {
		return metas
	}
	for _, b := range p.Bundles {
		if b.Value != nil && metas[b.Value.Name] == nil {
			metas[b.Value.Name] = b.Meta
		}
	}
	return metas
}

// headBefore returns a head in the catalog before: of the default channel if that has the new bundle, or else of the
// first channel that has it, or else of the default channel. It returns "" if there is none.
func headBefore(old, g *graph.Package, b *graph.Bundle) string {
	channels := append(channelsOf(g, b), old.DefaultChannel)
	for _, name := range channels {
		if channel := old.Channel(name); channel != nil {
			if heads := channel.Heads(); len(heads) > 0 {
				return heads[0]
			}
		}
	}
	return ""
}

// channelsOf returns the names of the channels that have an entry for a bundle, the default channel first.
func channelsOf(g *graph.Package, b *graph.Bundle) []string {
	var names []string
	for _, c := range g.Channels {
		if _, ok := c.Entry(b.Name); ok {
			names = append(names, c.Name)
		}
	}
	slices.SortStableFunc(names, g.DefaultFirst)
	return names
}

// refusals adds the problems of the updates.
func (c *comparison) refusals(ctx context.Context, after []declcfg.Source) error {
	bundles, err := updatecheck.Read(ctx, c.opts.Spool, after...)
	if err != nil {
		return err
	}
	defer bundles.Close()
	byPlace, byName := map[declcfg.Pos]*newBundle{}, map[[2]string]bool{}
	for _, n := range c.news {
		byPlace[n.meta.Pos], byName[[2]string{n.Package, n.Name}] = n, true
	}
	report, err := bundles.Check(ctx, updatecheck.Options{
		Images: c.opts.Images, Package: c.opts.Package,
		To: func(pkg, bundle string) bool { return byName[[2]string{pkg, bundle}] },
	})
	if err != nil {
		return err
	}
	for _, p := range report.Problems {
		if n := byPlace[p.Pos]; n != nil {
			n.Refusals = append(n.Refusals, Refusal{p.Rule, p.Severity, p.Message})
		}
	}
	return nil
}

// dependencies adds the dependencies that no package satisfies and that the head before does not have.
func (c *comparison) dependencies(ctx context.Context) error {
	before, after := c.before.Dependencies(), c.after.Dependencies()
	for _, n := range c.news {
		known := map[string]bool{}
		if n.head != nil {
			all, err := before.Of(ctx, n.head)
			if err != nil {
				return err
			}
			for _, d := range all {
				known[d.Requires] = true
			}
		}
		all, err := after.Of(ctx, n.meta)
		if err != nil {
			return err
		}
		for _, d := range all {
			if len(d.SatisfiedBy) == 0 && !known[d.Requires] {
				n.Dependencies = append(n.Dependencies, d.Requires)
			}
		}
	}
	return nil
}
