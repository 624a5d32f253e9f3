// Package diff tells what changed between two catalogs in the terms of those who install operators from them: packages,
// channels and versions that come and go, updates that are lost or go another way, deprecations, and bundles that were
// published and hold something else now.
//
//	report, err := diff.Compare(ctx, []declcfg.Source{before}, []declcfg.Source{after})
//	if n := report.Count(diff.LostPath); n > 0 {
//		fmt.Printf("%d installs lose their update path\n", n)
//	}
//
// Where updates lead is what package graph says, for OLM Classic and for OLM v1.
package diff

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A Report is what changed between two catalogs. Lists are in a fixed order: packages, channels and objects by name,
// bundles by version, the lowest first, and then by name.
type Report struct {
	Summary  Summary   `json:"summary"`
	Packages []Package `json:"packages"` // that are not the same in both
}

// A Summary counts what is in a report. Channels, bundles and what is below them count for the packages that are in
// both catalogs; only Stranded counts removed packages too. Bundles of which only the form of the metadata is another
// one, and packages with nothing else, are not among what changed.
type Summary struct {
	Packages Counts `json:"packages"`
	Channels Counts `json:"channels"`
	Bundles  Counts `json:"bundles"` // Changed are those with another content

	Reformed        int `json:"reformed"` // bundles with metadata in another form
	DefaultChannels int `json:"defaultChannels"`
	Heads           int `json:"heads"` // channels in both catalogs that have other heads
	Edges           int `json:"edges"` // entries in both catalogs that update others than before
	Deprecations    int `json:"deprecations"`

	// Installs are pairs of a channel and a bundle that is installed from it.
	Stranded int `json:"stranded"` // installs in Stranded of the packages
	Rerouted int `json:"rerouted"` // installs in Reroutes of the packages
}

// Counts are numbers of things.
type Counts struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
}

// A Kind is a kind of change that someone may want to hear of.
type Kind string

// The kinds of changes.
const (
	LostPath Kind = "stranded" // installs that lose their update path
	Gone     Kind = "removed"  // packages, channels and bundles that are not there any more
	Replaced Kind = "changed"  // bundles with another content, which clusters do not install again
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{LostPath, Gone, Replaced} }

// Fail returns an error that counts the changes of these kinds, or nil if there are none.
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

// Count returns the number of changes of a kind.
func (r *Report) Count(k Kind) int {
	s := r.Summary
	switch k {
	case LostPath:
		return s.Stranded
	case Gone:
		return s.Packages.Removed + s.Channels.Removed + s.Bundles.Removed
	case Replaced:
		return s.Bundles.Changed
	}
	return 0
}

// A Change is what became of something.
type Change string

// What may become of something.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
)

// Values are what something was before and is after; "" is nothing.
type Values struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// A Package is what changed in a package. Of one that was added or removed, everything in it was; but what becomes of
// its installs is told only in Stranded.
type Package struct {
	Name   string `json:"name"` // "" for objects that belong to no package
	Change Change `json:"change"`

	DefaultChannel *Values  `json:"defaultChannel,omitempty"` // nil where it is the same
	Keys           []string `json:"keys"`                     // further keys of the olm.package that changed

	Channels     []Channel     `json:"channels"`
	Bundles      []Bundle      `json:"bundles"`
	Deprecations []Deprecation `json:"deprecations"`

	// DeprecationKeys are the further keys of the olm.deprecations that changed.
	DeprecationKeys []string `json:"deprecationKeys"`

	Objects []Object `json:"objects"` // of schemas that the format does not define

	Stranded []Stranded `json:"stranded"`
	Reroutes []Reroute  `json:"reroutes"`
}

// A Channel is what changed in a channel.
type Channel struct {
	Name    string   `json:"name"`
	Change  Change   `json:"change"`
	Heads   *Heads   `json:"heads,omitempty"` // nil where they are the same
	Added   []string `json:"added"`           // entries
	Removed []string `json:"removed"`         // entries
	Edges   []Edges  `json:"edges"`
	Keys    []string `json:"keys"` // further keys that changed
}

// Heads are the heads of a channel, of which a valid one has one; sorted.
type Heads struct {
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// Edges are what changed in an entry that a channel has in both catalogs.
type Edges struct {
	Entry        string   `json:"entry"`
	Replaces     *Values  `json:"replaces,omitempty"` // nil where it is the same
	SkipsAdded   []string `json:"skipsAdded"`
	SkipsRemoved []string `json:"skipsRemoved"`
	SkipRange    *Values  `json:"skipRange,omitempty"` // nil where it is the same
	Others       bool     `json:"others"`              // keys that the format does not define
}

// A Bundle is what became of a bundle.
//
// A bundle that changed is one that was published and holds something else now. Clusters that have it installed do not
// install it again: it takes a new version to bring a change to them.
//
// What counts is the content: neither the order of keys, properties and related images, nor how the text is written,
// nor whether what is empty is left out.
type Bundle struct {
	Name    string `json:"name"`
	Version string `json:"version"` // after, if it is there; "" where there is none
	Change  Change `json:"change"`

	Image      *Values  `json:"image,omitempty"` // nil where it is the same
	Properties []string `json:"properties"`      // the types of those that changed
	Keys       []string `json:"keys"`            // further keys that changed, such as relatedImages

	// Form is not nil where olm.bundle.object gave way to olm.csv.metadata or the other way around and nothing else
	// changed, as opm render --migrate does it. Such a bundle, which has an image, is installed as before.
	Form *Values `json:"form,omitempty"`
}

// A Deprecation is a message to users that was added, removed or changed.
type Deprecation struct {
	Schema  string `json:"schema"` // of what is deprecated: olm.package, olm.channel or olm.bundle
	Name    string `json:"name"`   // "" for the package
	Change  Change `json:"change"`
	Message Values `json:"message"`
	Others  bool   `json:"others"` // keys that the format does not define, of one in both catalogs
}

// An Object is one of a schema that the format does not define. Those of one schema and name count as one.
type Object struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Change Change `json:"change"`
}

// Installs are bundles that are installed where a channel is followed.
type Installs struct {
	Channel   string            `json:"channel"` // "" for any
	Semantics []graph.Semantics `json:"semantics"`
	Installed []string          `json:"installed"` // bundles of the catalog before

	// Pruned are bundles that the catalog before does not have but names, in replaces or skips: earlier ones had them,
	// so that they may be installed. Their version is what their name ends with, such as kiln.v1.0.0.
	Pruned []string `json:"pruned"`
}

// Stranded are installs that lose their update path: bundles that the catalog before has or names, and that went to the
// end of their channel, but with the catalog after no longer do. The end is the head in OLM Classic. In OLM v1 it is
// what that prefers of all bundles of the channel, or any higher version, which is deprecated then.
type Stranded struct {
	Installs
	Why
}

// A Why is why installs are stranded.
type Why struct {
	Reason Reason `json:"reason"`
	End    string `json:"end,omitempty"`   // of StopsEarly: the last bundle that they are updated to
	Error  string `json:"error,omitempty"` // of Refused
}

// A Reason is why installs are stranded.
type Reason string

// The reasons why installs are stranded.
const (
	PackageGone Reason = "package-removed"
	ChannelGone Reason = "channel-removed"
	Refused     Reason = "channel-refused" // OLM Classic updates nothing in the channel
	NoUpdate    Reason = "no-update"
	StopsEarly  Reason = "stops-early" // there are updates, but not to the end
	Endless     Reason = "endless"     // there are updates for ever
)

// A Reroute is installs whose next update is another one than before or gone, and that are not stranded. Whether they
// went to the end of their channel does not matter. Nothing is said of installs that had no update before.
type Reroute struct {
	Installs
	Next Values `json:"next"` // After is "" where they stay

	// PassedOver are the bundles that they went through before, in that order, up to the first that they come to after
	// too; where there is none, all. What they went round in is there once.
	PassedOver []string `json:"passedOver"`
}

// Compare compares two catalogs, which need not be valid. Of channels and bundles of the same name in a package, the
// first counts. The error joins all that keeps an object from being read, by place.
//
// Memory does not grow with what bundles hold: both catalogs are read once, and of each bundle only sums are kept.
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
	r := &Report{}
	for _, pkg := range slices.Sorted(maps.Keys(names)) {
		if p, differs := compare(pkg, old, now); differs {
			r.Packages = append(r.Packages, p)
		}
	}
	r.summarize()
	return r, nil
}
