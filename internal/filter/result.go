package filter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Result describes the kept part of a catalog.
type Result struct {
	Metas    []*declcfg.Meta  `json:"-"`        // the kept objects, in the order of [declcfg.Sort]; see Edit
	Packages []PackageSummary `json:"packages"` // sorted by name
	Changes  []Change         `json:"changes"`  // sorted by package

	packages map[string]*keptPackage
	blocks   func(image string) bool // see Selection
	whole    bool                    // everything was selected
}

// Unchanged reports whether everything in the catalog was selected, and nothing of it was left out or changed.
func (r *Result) Unchanged() bool {
	return r.whole && !slices.ContainsFunc(r.Changes, func(c Change) bool {
		switch c.Kind {
		case DependencyMissing, Stranded, Unresolved:
			return false
		}
		return true
	})
}

// A PackageSummary describes the kept part of a package.
type PackageSummary struct {
	Name           string           `json:"name"`
	DefaultChannel string           `json:"defaultChannel"`
	Channels       []ChannelSummary `json:"channels"` // in the order of [graph.CompareChannels]
	Bundles        int              `json:"bundles"`  // number of kept bundles
	Of             int              `json:"of"`       // number of bundles in the original package
}

// A ChannelSummary describes the kept part of a channel.
type ChannelSummary struct {
	Name    string   `json:"name"`
	Head    string   `json:"head"`
	Bundles []string `json:"bundles"` // sorted
}

// A Change is a repair, or a difference between the selection and the result.
type Change struct {
	Package string `json:"package"`
	Channel string `json:"channel,omitzero"`
	Bundle  string `json:"bundle,omitzero"`
	Kind    Kind   `json:"kind"`
	Message string `json:"message"` // such as `the head is "kiln.v1.1.0", was "kiln.v1.2.0"`
}

// A Kind is a kind of change.
type Kind string

// The kinds of changes.
const (
	HeadChanged           Kind = "head"
	ReplacesChanged       Kind = "replaces"
	SkipsChanged          Kind = "skips"
	DefaultChannelChanged Kind = "default-channel"
	ChannelRemoved        Kind = "channel-removed" // the channel has no version in the range, or no usable one
	LeftOut               Kind = "left-out"        // a bundle, or a selected package, cannot be used
	OutsideRange          Kind = "outside-range"   // a bundle outside of the range is kept
	DependencyAdded       Kind = "dependency"      // a bundle is kept as a dependency
	DependencyMissing     Kind = "no-provider"     // the catalog has no provider for a dependency
	Stranded              Kind = "stranded"        // OLM updates a kept bundle less far than before
	Unresolved            Kind = "unresolved"      // OLM cannot install a kept bundle; see [Result.AddUnresolved]
)

// String returns the message, with the package and the channel in front.
func (c Change) String() string {
	if c.Channel == "" || c.Kind == DefaultChannelChanged {
		return fmt.Sprintf("package %q: %s", c.Package, c.Message)
	}
	return fmt.Sprintf("package %q: channel %q: %s", c.Package, c.Channel, c.Message)
}

func (p *keptPackage) summary() PackageSummary {
	s := PackageSummary{
		Name: p.graph.Name, DefaultChannel: p.defaultChannel, Bundles: len(p.bundles), Of: len(p.index.Bundles),
	}
	for _, c := range p.sortedChannels() {
		s.Channels = append(s.Channels, ChannelSummary{c.graph.Name, c.head, slices.Sorted(maps.Keys(c.keep))})
	}
	return s
}

// Images decodes the bundles again, and returns the references to their images and related images, each once, sorted.
func (r *Result) Images(ctx context.Context) ([]string, error) {
	seen := map[string]bool{}
	err := r.EachImage(ctx, func(image string, _ *declcfg.Bundle) { seen[image] = true })
	return slices.Sorted(maps.Keys(seen)), err
}

// EachImage decodes the bundles again, and calls fn for the image and the related images of each, in the order of
// Metas. It omits the images that the config blocks.
func (r *Result) EachImage(ctx context.Context, fn func(image string, by *declcfg.Bundle)) error {
	decode := func(m *declcfg.Meta) (b *declcfg.Bundle, err error) {
		if m.Schema == declcfg.SchemaBundle {
			var v any
			v, err = m.Decode()
			b, _ = v.(*declcfg.Bundle)
		}
		return b, err
	}
	var errs []error
	for b, err := range parallel.Try(ctx, 0, slices.Values(r.Metas), decode) {
		errs = append(errs, err)
		if b == nil {
			continue
		}
		for _, image := range b.Images() {
			if r.blocks == nil || !r.blocks(image) {
				fn(image, b)
			}
		}
	}
	return errors.Join(errs...)
}

// AddUnresolved adds a change for each package and each cause that prevents OLM Classic or OLM v1 from installing, or
// updating to, a kept bundle on a cluster with only the result as its catalog. It decodes the bundles again.
func (r *Result) AddUnresolved(ctx context.Context) error {
	c, err := r.catalog(ctx)
	if err != nil {
		return err
	}
	c = c.As("ns", "cat")
	check := resolve.Check{
		Classic: true, V1: true, Namespace: resolve.ClassicRequest{Name: c.Namespace, Catalogs: []*resolve.Catalog{c}},
	}
	checked, err := check.Run(ctx)
	if err != nil {
		return err
	}
	for _, p := range checked.Problems {
		if p.Severity == problem.Error {
			r.Changes = append(r.Changes, Change{Package: p.Package, Kind: Unresolved, Message: p.Message})
		}
	}
	return nil
}

// catalog returns the result as a catalog of a cluster.
func (r *Result) catalog(ctx context.Context) (*resolve.Catalog, error) {
	type read struct {
		meta  *declcfg.Meta
		value any
	}
	decode := func(m *declcfg.Meta) (read, error) {
		v, err := m.Decode()
		if err == nil {
			r.Edit(v)
		}
		return read{m, v}, err
	}
	c := &resolve.Catalog{Index: &declcfg.Index{}}
	var errs []error
	for o, err := range parallel.Try(ctx, 0, slices.Values(r.Metas), decode) {
		if errs = append(errs, err); err == nil {
			c.Add(o.meta, o.value)
		}
	}
	return c, errors.Join(errs...)
}
