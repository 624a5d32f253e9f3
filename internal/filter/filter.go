// Package filter reduces a catalog to some of its packages, channels and versions, like oc-mirror. It keeps the catalog
// valid, and reports the necessary repairs.
//
//	packages, err := filter.ParsePackages("kiln:stable@>=1.1.0", "loom")
//	result, err := filter.Select(ctx, filter.Catalog{Index: index}, filter.Selection{Packages: packages})
//	opts := declcfg.WriteOptions{EditObject: result.Edit}
//	err = declcfg.Write(ctx, os.Stdout, result.Metas, opts)
//
// The selection is made on the index; only the written objects are read again. Where oc-mirror would leave an invalid
// channel or stranded versions, edges are added to the head, as few as possible, and to the bundle that OLM v1 prefers
// if that is another one. The plans of package graph before and after decide which versions are stranded. For missing
// dependencies it has the warnings of opm resolve --all.
package filter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A Catalog is the catalog to reduce. The selected packages must be valid.
type Catalog struct {
	Index  *declcfg.Index
	Others []*declcfg.Meta // objects of unknown schemas

	// Dependencies are the dependencies of the bundles in the index; nil to ignore dependencies.
	Dependencies *resolve.Dependencies

	// WhyNot, if not nil, returns the reason to leave out a bundle or, if its name is "", a whole package. "" means that
	// it can be used. Channels are repaired before the selection is made, so that the next version below an unusable head
	// is the head.
	WhyNot func(pkg, bundle string) string
}

// ErrNoPackage is wrapped by the error of [Select] if no selected package can be used.
var ErrNoPackage = errors.New("no package that can be used is selected")

// A Selection selects the packages, channels and versions to keep. The zero value selects the head of every channel.
type Selection struct {
	Packages []Package // by unique names; empty means all
	Rule     Rule      // for packages and channels without a rule of their own; nil means Heads

	blocks func(image string) bool // reports whether a config blocks an image; nil blocks none
}

// A Package is a package to keep.
type Package struct {
	Name           string
	Channels       []Channel // by unique names; empty means all
	Rule           Rule      // for channels without a rule of their own; nil means the rule of the Selection
	DefaultChannel string    // "" keeps the current default channel if it is kept

	at func(jsontext.Pointer, error) error // adds the place in a config to an error about a value; nil for none
}

// located adds to an error its place in the config, if the package is from one.
func (p Package) located(ptr jsontext.Pointer, err error) error {
	if err == nil || p.at == nil {
		return err
	}
	return p.at(ptr, err)
}

// HasRule reports whether the package or one of its channels has a rule of its own.
func (p Package) HasRule() bool {
	return p.Rule != nil || slices.ContainsFunc(p.Channels, func(c Channel) bool { return c.Rule != nil })
}

// A Channel is a channel to keep.
type Channel struct {
	Name string
	Rule Rule

	ptr jsontext.Pointer // in the package of a config
}

// Select applies a selection to a catalog. If the catalog has Dependencies, it also keeps the dependencies of kept
// bundles. It returns an error if a package or channel does not exist, which wraps [declcfg.ErrNotFound], or if no
// version of a package would be kept.
func Select(ctx context.Context, c Catalog, s Selection) (*Result, error) {
	sel := selector{catalog: c, packages: map[string]*keptPackage{}, usable: map[string]*usablePart{}}
	wanted := s.Packages
	if len(wanted) == 0 {
		for _, x := range c.Index.Packages() {
			if len(x.Packages) > 0 {
				wanted = append(wanted, Package{Name: x.Name})
			}
		}
	}
	var errs []error
	for _, w := range wanted {
		w.Rule = cmp.Or(w.Rule, s.Rule, Heads)
		errs = append(errs, sel.choose(w))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(wanted) > 0 && len(sel.packages) == 0 {
		return nil, ErrNoPackage
	}
	if c.Dependencies != nil {
		if err := sel.followDependencies(ctx); err != nil {
			return nil, err
		}
	}
	result, err := sel.result(len(s.Packages) == 0)
	if err == nil {
		result.blocks = s.blocks
		result.whole = len(s.Packages) == 0 && s.Rule == All
	}
	return result, err
}

// A selector collects the kept packages.
type selector struct {
	catalog  Catalog
	packages map[string]*keptPackage
	usable   map[string]*usablePart // by package; see part
	changes  []Change               // changes that are not recorded in a keptPackage
}

// A keptPackage is a package of which at least one channel is kept.
type keptPackage struct {
	index    *declcfg.PackageIndex
	graph    *graph.Package
	unusable map[string]bool // channels without a usable bundle, which graph does not have
	wanted   Package
	channels map[string]*keptChannel
	changes  []Change

	defaultChannel string
	bundles        map[string]bool // names of the kept bundles
}

// A keptChannel is a channel of which at least one entry is kept.
type keptChannel struct {
	index *declcfg.PackageIndex
	pkg   *graph.Package
	graph *graph.Channel
	keep  map[string]bool // the kept entries, by name

	head    string                    // set by repair; of an invalid channel, all of which is kept, its heads or ""
	entries map[string]*declcfg.Entry // set by repair
}

// choose adds a package and its selected channels.
func (s *selector) choose(w Package) error {
	if reason := s.unusablePackage(w.Name); reason != "" {
		s.leaveOut(w.Name, reason)
		return nil
	}
	x := s.catalog.Index.Package(w.Name)
	if x == nil || len(x.Packages) == 0 {
		var names []string
		for _, x := range s.catalog.Index.Packages() {
			names = append(names, x.Name)
		}
		return w.located("/name", nearest.NotFound("no package", w.Name, names))
	}
	part := s.part(w.Name)
	if part.reason != "" {
		s.leaveOut(w.Name, part.reason)
		return nil
	}
	p := s.addPackage(part, w)
	channels := w.Channels
	if len(channels) == 0 {
		for _, c := range p.graph.Channels {
			channels = append(channels, Channel{Name: c.Name})
		}
	}
	var errs []error
	for _, want := range channels {
		err := p.chooseChannel(want.Name, cmp.Or(want.Rule, w.Rule))
		errs = append(errs, w.located(want.ptr+"/name", err))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(p.channels) == 0 && part.reduced {
		delete(s.packages, w.Name)
		s.leaveOut(w.Name, "none of its selected bundles can be used")
		return nil
	}
	if len(p.channels) == 0 {
		var wanted []string
		for _, c := range channels {
			if text := cmp.Or(c.Rule, p.wanted.Rule).String(); !slices.Contains(wanted, text) {
				wanted = append(wanted, text)
			}
		}
		has := "it has none"
		var versions []string
		for _, b := range p.graph.Bundles {
			if b.Version != nil {
				versions = append(versions, b.Version.String())
			}
		}
		if n := len(versions); n > 0 {
			has = fmt.Sprintf("it has %s to %s; a range has pre-releases only if it names one", versions[0], versions[n-1])
		}
		none := strings.Join(wanted, ", or ")
		return w.located("/name", fmt.Errorf("package %q: no version %s: %s", p.graph.Name, none, has))
	}
	return nil
}

// addPackage adds a package without channels.
func (s *selector) addPackage(part *usablePart, w Package) *keptPackage {
	p := newPackage(part.index, w)
	p.unusable = part.channels
	s.packages[w.Name] = p
	return p
}

// newPackage returns a package without channels.
func newPackage(x *declcfg.PackageIndex, w Package) *keptPackage {
	return &keptPackage{
		index: x, graph: graph.NewPackage(x), wanted: w, channels: map[string]*keptChannel{}, bundles: map[string]bool{},
	}
}

// chooseChannel keeps the entries of a channel that the rule selects.
func (p *keptPackage) chooseChannel(name string, rule Rule) error {
	c := p.graph.Channel(name)
	if c == nil && p.unusable[name] {
		return nil
	}
	if c == nil {
		var known []string
		for _, c := range p.graph.Channels {
			known = append(known, c.Name)
		}
		return nearest.NotFound(fmt.Sprintf("package %q has no channel", p.graph.Name), name, known)
	}
	kept := rule.keep(p.graph, c)
	if len(kept) == 0 {
		p.change(Change{Kind: ChannelRemoved, Channel: name, Message: "removed: no version " + rule.String()})
		return nil
	}
	k := p.keepChannel(c)
	for _, bundle := range kept {
		k.keep[bundle] = true
		if v := p.graph.Bundle(bundle).Version; v != nil && !rule.contains(*v) {
			p.change(Change{Kind: OutsideRange, Channel: name, Bundle: bundle, Message: fmt.Sprintf(
				"%q is kept although it is not in the range, since it connects other versions", bundle)})
		}
	}
	return nil
}

// keepChannel adds a channel without entries.
func (p *keptPackage) keepChannel(c *graph.Channel) *keptChannel {
	k := &keptChannel{index: p.index, pkg: p.graph, graph: c, keep: map[string]bool{}}
	p.channels[c.Name] = k
	return k
}

// sortedChannels returns the kept channels in the order of [graph.CompareChannels].
func (p *keptPackage) sortedChannels() []*keptChannel {
	return slices.SortedFunc(maps.Values(p.channels), func(a, b *keptChannel) int {
		return graph.CompareChannels(a.graph.Name, b.graph.Name)
	})
}

func (p *keptPackage) change(c Change) {
	c.Package = p.graph.Name
	p.changes = append(p.changes, c)
}

// result repairs the packages and returns the result. Objects of other schemas are kept if they belong to no package or
// to a kept one, or if all is set.
func (s *selector) result(all bool) (*Result, error) {
	r := &Result{packages: s.packages, Changes: s.changes}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.packages)) {
		p := s.packages[name]
		errs = append(errs, p.finish())
		metas := []*declcfg.Meta{p.index.Packages[0].Meta}
		for _, c := range p.index.Channels {
			if p.channels[c.Meta.Name] != nil {
				metas = append(metas, c.Meta)
			}
		}
		for _, b := range p.index.Bundles {
			if p.bundles[b.Meta.Name] {
				metas = append(metas, b.Meta)
			}
		}
		for _, d := range p.index.Deprecations {
			if d.Value != nil && slices.ContainsFunc(d.Value.Entries, p.keepsDeprecation) {
				metas = append(metas, d.Meta)
			}
		}
		r.Metas = append(r.Metas, metas...)
		r.Packages = append(r.Packages, p.summary())
		r.Changes = append(r.Changes, s.part(name).changesOf(p)...)
		r.Changes = append(r.Changes, p.changes...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, m := range s.catalog.Others {
		if s.unusablePackage(m.Owner()) != "" {
			continue
		}
		if all || m.Owner() == "" || s.packages[m.Owner()] != nil {
			r.Metas = append(r.Metas, m)
		}
	}
	declcfg.Sort(r.Metas)
	slices.SortStableFunc(r.Changes, func(a, b Change) int { return cmp.Compare(a.Package, b.Package) })
	return r, nil
}
