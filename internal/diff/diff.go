// Package diff compares two catalogs for users who install operators from them. It reports added and removed packages,
// channels and versions, lost and changed updates, deprecations, and published bundles with changed content.
//
//	report, err := diff.Compare(ctx, []declcfg.Source{before}, []declcfg.Source{after})
//	if n := report.Count(diff.LostPath); n > 0 {
//		fmt.Printf("%d installs lose their update path\n", n)
//	}
//
// Package graph computes the updates, for OLM Classic and OLM v1.
package diff

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A Report lists the changes between two catalogs. Packages, channels and objects are sorted by name, bundles by
// version, the lowest first, and then by name.
type Report struct {
	Summary  Summary   `json:"summary"`
	Packages []Package `json:"packages"` // only packages that differ

	Before, After *declcfg.Index `json:"-"` // the catalogs

	names []string // names of all packages of both catalogs
}

// A Summary counts the changes in a report. Changes inside channels and bundles, such as heads and edges, are counted
// only for packages in both catalogs; only Stranded also counts removed packages. Bundles and packages in which only
// the form of the metadata changed do not count as changed.
type Summary struct {
	Packages Counts `json:"packages"`
	Channels Counts `json:"channels"`
	Bundles  Counts `json:"bundles"` // Changed counts bundles with changed content

	Reformed        int `json:"reformed"` // bundles with metadata in another form
	DefaultChannels int `json:"defaultChannels"`
	Heads           int `json:"heads"` // channels in both catalogs whose heads changed
	Edges           int `json:"edges"` // entries in both catalogs whose edges changed
	Deprecations    int `json:"deprecations"`

	// Left counts the entries that left a channel of both catalogs, although their bundles are still in the catalog.
	Left int `json:"left"`

	// An install is a bundle that is installed from a channel.
	Stranded int `json:"stranded"` // number of installs in Package.Stranded
	Rerouted int `json:"rerouted"` // number of installs in Package.Reroutes
}

// Counts are numbers of changes.
type Counts struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
}

// A Kind is a kind of change that may need attention.
type Kind string

// The kinds of changes.
const (
	LostPath Kind = "stranded" // installs that lose their update path
	Gone     Kind = "removed"  // removed packages, channels and bundles, and entries that left a channel
	Replaced Kind = "changed"  // changed published bundles, which clusters do not install again
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{LostPath, Gone, Replaced} }

// Fail returns an error with the number of changes of each of these kinds, or nil if there are none.
func (r *Report) Fail(kinds ...Kind) error {
	var found []string
	for _, k := range Kinds() {
		if n := r.Count(k); n > 0 && slices.Contains(kinds, k) {
			found = append(found, fmt.Sprintf("%d %s", n, k))
		}
	}
	if found == nil {
		return nil
	}
	return errors.New(strings.Join(found, ", "))
}

// Limit removes all packages except one from the report. The error wraps [declcfg.ErrNotFound] if neither catalog has
// the package.
func (r *Report) Limit(pkg string) error {
	if !slices.Contains(r.names, pkg) {
		return nearest.NotFound("no package", pkg, r.names)
	}
	r.Packages = slices.DeleteFunc(r.Packages, func(p Package) bool { return p.Name != pkg })
	r.summarize()
	return nil
}

// Count returns the number of changes of a kind.
func (r *Report) Count(k Kind) int {
	s := r.Summary
	switch k {
	case LostPath:
		return s.Stranded
	case Gone:
		return s.Packages.Removed + s.Channels.Removed + s.Bundles.Removed + s.Left
	case Replaced:
		return s.Bundles.Changed
	}
	return 0
}

// A Change is the kind of change of an object: added, removed or changed.
type Change string

// The changes.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
)

// Values are a value before and after; "" means no value.
type Values struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// A Package lists the changes in a package. In an added or removed package, everything is added or removed, and effects
// on installs are only in Stranded.
type Package struct {
	Name   string `json:"name"` // "" for objects without a package
	Change Change `json:"change"`

	DefaultChannel *Values  `json:"defaultChannel,omitempty"` // nil if unchanged
	Keys           []string `json:"keys"`                     // other changed keys of the olm.package

	Channels     []Channel     `json:"channels"`
	Bundles      []Bundle      `json:"bundles"`
	Deprecations []Deprecation `json:"deprecations"`

	// DeprecationKeys are other changed keys of the olm.deprecations.
	DeprecationKeys []string `json:"deprecationKeys"`

	Objects []Object `json:"objects"` // objects of other schemas

	Stranded []Stranded `json:"stranded"`
	Reroutes []Reroute  `json:"reroutes"`
}

// A Channel lists the changes in a channel.
type Channel struct {
	Name    string   `json:"name"`
	Change  Change   `json:"change"`
	Heads   *Heads   `json:"heads,omitempty"` // nil if unchanged
	Added   []string `json:"added"`           // entries
	Removed []string `json:"removed"`         // entries
	Edges   []Edges  `json:"edges"`
	Keys    []string `json:"keys"` // other changed keys
}

// Heads are the heads of a channel, sorted. A valid channel has one.
type Heads struct {
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// Edges are the changes in an entry that the channel has in both catalogs.
type Edges struct {
	Entry        string   `json:"entry"`
	Replaces     *Values  `json:"replaces,omitempty"` // nil if unchanged
	SkipsAdded   []string `json:"skipsAdded"`
	SkipsRemoved []string `json:"skipsRemoved"`
	SkipRange    *Values  `json:"skipRange,omitempty"` // nil if unchanged
	Others       bool     `json:"others"`              // whether unknown keys changed
}

// A Bundle is an added, removed or changed bundle.
//
// A changed bundle was published again with different content. Clusters that have it installed do not install it again;
// they need a new version.
//
// The comparison ignores formatting, empty values, and the order of keys, properties and related images.
type Bundle struct {
	Name    string `json:"name"`
	Version string `json:"version"` // version after, or before if removed; "" if unknown
	Change  Change `json:"change"`

	Image      *Values  `json:"image,omitempty"` // nil if unchanged
	Properties []string `json:"properties"`      // types of the changed properties
	Keys       []string `json:"keys"`            // other changed keys, such as relatedImages

	// Form is set if only the form of the metadata changed, from olm.bundle.object to olm.csv.metadata or back, as by
	// opm render --migrate. Such a bundle has an image, and clusters install it as before.
	Form *Values `json:"form,omitempty"`
}

// A Deprecation is an added, removed or changed deprecation.
type Deprecation struct {
	Schema  string `json:"schema"` // of the deprecated object: olm.package, olm.channel or olm.bundle
	Name    string `json:"name"`   // "" for the package
	Change  Change `json:"change"`
	Message Values `json:"message"`
	Others  bool   `json:"others"` // unknown keys of a deprecation in both catalogs changed
}

// An Object is the change of all objects with the same schema and name, for other schemas.
type Object struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Change Change `json:"change"`
}

// Installs are bundles installed by followers of a channel.
type Installs struct {
	Channel   string            `json:"channel"` // "" for any
	Semantics []graph.Semantics `json:"semantics"`
	Installed []string          `json:"installed"` // bundles in the catalog before

	// Pruned are bundles that the catalog before only names in replaces or skips: they may be installed from an earlier
	// catalog. Their version is taken from the end of their name, such as kiln.v1.0.0.
	Pruned []string `json:"pruned"`
}

// Stranded are installs that lose their update path: with the catalog before, updates reach the end of the channel;
// with the catalog after, they do not. The end is the head in OLM Classic. In OLM v1, it is the preferred bundle of the
// channel, or any higher version, which must be deprecated.
type Stranded struct {
	Installs
	Why
}

// A Why is the reason why installs are stranded, with its details.
type Why struct {
	Reason Reason `json:"reason"`
	End    string `json:"end,omitempty"`   // for StopsEarly: the last bundle of the update path
	Error  string `json:"error,omitempty"` // for Refused and Rejected
}

// A Reason is the kind of reason why installs are stranded.
type Reason string

// The reasons why installs are stranded.
const (
	PackageGone Reason = "package-removed"
	ChannelGone Reason = "channel-removed"
	Refused     Reason = "channel-refused" // OLM Classic rejects the channel
	Rejected    Reason = "update-rejected" // OLM reports an error at the end of the update path
	NoUpdate    Reason = "no-update"
	StopsEarly  Reason = "stops-early" // the update path ends before the end of the channel
	Endless     Reason = "endless"     // the update path ends in a loop
)

// A Reroute lists installs whose next update changed or disappeared, except for stranded installs. They may or may not
// have reached the end of their channel before. Installs without an update before are not included.
type Reroute struct {
	Installs
	Next Values `json:"next"` // After is "" if there is no update

	// PassedOver are the updates before, in order, up to the first that is also an update after; all if there is none.
	// Updates in a loop are included once.
	PassedOver []string `json:"passedOver"`
}

// Compare compares two catalogs, which need not be valid. If a package has several channels or bundles with the same
// name, it uses the first. The error joins the errors of all objects that cannot be read, sorted by position.
//
// Memory use does not depend on the size of bundles: both catalogs are read once, and only hashes of bundles are kept.
func Compare(ctx context.Context, before, after []declcfg.Source) (*Report, error) {
	old, errOld := read(ctx, before)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	now, errNow := read(ctx, after)
	if err := errors.Join(errOld, errNow); err != nil {
		return nil, err
	}
	names := maps.Clone(old.packages)
	maps.Copy(names, now.packages)
	r := &Report{Before: &old.index, After: &now.index, names: slices.Sorted(maps.Keys(names))}
	for _, pkg := range r.names {
		if p, differs := compare(pkg, old, now); differs {
			r.Packages = append(r.Packages, p)
		}
	}
	r.summarize()
	return r, nil
}

// summarize sets the summary.
func (r *Report) summarize() {
	s := Summary{}
	for _, p := range r.Packages {
		if !p.onlyForm() {
			s.Packages.add(p.Change)
		}
		s.Stranded += countInstalls(p.Stranded)
		for _, c := range p.Channels {
			s.Channels.add(c.Change)
		}
		for _, b := range p.Bundles {
			if b.Form == nil {
				s.Bundles.add(b.Change)
			}
		}
		if p.Change != Changed { // the rest is counted for packages in both catalogs only
			continue
		}
		if p.DefaultChannel != nil {
			s.DefaultChannels++
		}
		for _, c := range p.Channels {
			s.Edges += len(c.Edges)
			if c.Change == Changed {
				s.Left += len(p.left(c))
				if c.Heads != nil {
					s.Heads++
				}
			}
		}
		s.Reformed += len(p.reformed())
		s.Deprecations += len(p.Deprecations)
		s.Rerouted += countInstalls(p.Reroutes)
	}
	r.Summary = s
}

// left returns the entries that a channel no longer has and whose bundles are not removed.
func (p *Package) left(c Channel) []string {
	return slices.DeleteFunc(slices.Clone(c.Removed), func(name string) bool {
		return slices.ContainsFunc(p.Bundles, func(b Bundle) bool { return b.Name == name && b.Change == Removed })
	})
}

// summary returns the summary of one package.
func (p *Package) summary() Summary {
	r := Report{Packages: []Package{*p}}
	r.summarize()
	return r.Summary
}

// onlyForm reports whether the only changes are changes of the form of the metadata of bundles.
func (p *Package) onlyForm() bool {
	onlyBundles := Package{Name: p.Name, Change: Changed, Bundles: p.Bundles}
	return reflect.DeepEqual(*p, onlyBundles) && len(p.reformed()) == len(p.Bundles)
}

// reformed returns the bundles with metadata in another form.
func (p *Package) reformed() []Bundle { return p.bundles(func(b Bundle) bool { return b.Form != nil }) }

// bundles returns the bundles for which match returns true.
func (p *Package) bundles(match func(Bundle) bool) []Bundle {
	var all []Bundle
	for _, b := range p.Bundles {
		if match(b) {
			all = append(all, b)
		}
	}
	return all
}

func (c *Counts) add(change Change) {
	switch change {
	case Added:
		c.Added++
	case Removed:
		c.Removed++
	case Changed:
		c.Changed++
	}
}

// countInstalls returns the number of distinct pairs of a channel and a bundle, in either semantics.
func countInstalls[T interface {
	each(func(channel, bundle string))
}](all []T) int {
	seen := map[[2]string]bool{}
	for _, installs := range all {
		installs.each(func(channel, bundle string) { seen[[2]string{channel, bundle}] = true })
	}
	return len(seen)
}
