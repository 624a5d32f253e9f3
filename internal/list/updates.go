package list

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// An Update is a row of [Updates]: the updates of an installed bundle that follows a channel.
type Update struct {
	graph.Outlook
	Dependencies []*resolve.Dependency `json:"dependencies,omitempty"` // of the installed bundle, as far as known

	refused bool // OLM Classic rejects the channel
}

// Notable reports whether a row needs attention: OLM reports an error, or the updates differ between the semantics, do
// not reach the end of the channel, never end, or are more than one. If by is not "", only the updates in these
// semantics count.
func (u Update) Notable(by graph.Semantics) bool {
	isNotable := func(f graph.Fate) bool { return f.Stranded || f.Loop || f.Hops > 1 || f.Error != "" }
	return by == "" && u.Differs || slices.ContainsFunc(u.fates(by), isNotable)
}

// Stranded reports whether the updates do not reach the end of the channel, in the given semantics or, if by is "", in
// either.
func (u Update) Stranded(by graph.Semantics) bool {
	return slices.ContainsFunc(u.fates(by), func(f graph.Fate) bool { return f.Stranded })
}

// fates returns the fates in the given semantics, or in both for "".
func (u Update) fates(by graph.Semantics) []graph.Fate {
	switch by {
	case graph.Classic:
		return []graph.Fate{u.Classic}
	case graph.V1:
		return []graph.Fate{u.V1}
	}
	return []graph.Fate{u.Classic, u.V1}
}

// updates reports whether the bundle has an update in either semantics.
func (u Update) updates() bool {
	return u.Classic.Outcome == graph.Update || u.V1.Outcome == graph.Update
}

// UpdateOptions select the listed updates. The zero value lists the updates of every bundle in every channel.
type UpdateOptions struct {
	Channel string          // only this channel, which every package must have
	None    bool            // the Subscription and the ClusterExtension name no channel; Channel is ignored
	From    string          // only the bundle with this name or version; a version must be known or have an update
	V1      graph.V1Options // options of OLM v1; Channels is ignored
	Paths   bool            // set the Path of each Fate
	Refused func(error)     // called with what OLM Classic rejects: channels and dependencies; may be nil

	Dependencies *resolve.Dependencies // of the bundles of the packages; nil to ignore dependencies

	By       graph.Semantics // the semantics shown in text; "" for both
	Stranded bool            // only bundles whose updates do not reach the end of the channel, in By or in either OLM
	Differs  bool            // only bundles whose updates differ
	Notable  bool            // only notable rows, by By; see [Update.Notable]
	Count    *UpdateCounts   // set while the rows are iterated over; nil to count nothing
}

// UpdateCounts are numbers of rows.
type UpdateCounts struct {
	Shown    int // the yielded rows
	Total    int // with the rows that Notable leaves out
	Stranded int // the rows among Total whose bundles are stranded
}

// Updates returns the updates of installed bundles, sorted by package and channel. Rows are computed while iterating,
// until ctx is done. The packages need not be valid.
func Updates(
	ctx context.Context, packages iter.Seq[*declcfg.PackageIndex], o UpdateOptions,
) (iter.Seq[Update], error) {
	if o.Channel != "" || o.From != "" { // otherwise, no object can be missing
		for x := range packages {
			if _, err := o.updates(ctx, x); err != nil {
				return nil, err
			}
		}
	}
	return func(yield func(Update) bool) {
		n := cmp.Or(o.Count, &UpdateCounts{})
		*n = UpdateCounts{}
		for x := range packages {
			rows, _ := o.updates(ctx, x)
			for u := range rows {
				if ctx.Err() != nil {
					return
				}
				if o.selects(u, n) && !yield(u) {
					return
				}
			}
		}
	}, nil
}

// selects reports whether the options list a row, and counts it.
func (o UpdateOptions) selects(u Update, n *UpdateCounts) bool {
	isStranded := u.Stranded(o.By)
	if o.Stranded && !isStranded || o.Differs && !u.Differs {
		return false
	}
	n.Total++
	if isStranded {
		n.Stranded++
	}
	if o.Notable && !u.Notable(o.By) {
		return false
	}
	n.Shown++
	return true
}

// updates returns the updates in a package. Objects without a package have none.
func (o UpdateOptions) updates(ctx context.Context, x *declcfg.PackageIndex) (iter.Seq[Update], error) {
	if x.Name == "" {
		return slices.Values([]Update(nil)), nil
	}
	p := withVersions(x, o.From)
	channels, err := o.channels(p)
	if err != nil || o.From == "" {
		return o.rows(ctx, x, p, channels, nil), err
	}
	from, err := findBundle(p, o.From)
	if err != nil {
		return nil, err
	}
	rows := slices.Collect(o.rows(ctx, x, p, channels, from)) // at most one per channel
	if !slices.ContainsFunc(rows, Update.updates) {
		err = checkKnown(x, o.From)
	}
	return slices.Values(rows), err
}

// rows yields the updates of bundles that follow the channels, or only the updates of from if it is not nil.
func (o UpdateOptions) rows(
	ctx context.Context, x *declcfg.PackageIndex, p *graph.Package, channels []*graph.Channel, from *graph.Bundle,
) iter.Seq[Update] {
	var always []*graph.Bundle
	if from != nil && len(channels) == 1 && !from.Virtual { // the bundle may be installed, even from another catalog
		always = append(always, from)
	}
	return func(yield func(Update) bool) {
		dependencies := o.dependencies(ctx, x)
		for _, c := range channels {
			outlooks, err := p.Outlooks(c, o.V1, o.Paths, always...)
			if err != nil {
				o.warn("OLM Classic updates nothing: %w", err)
			}
			for outlook := range outlooks {
				if from != nil && outlook.Installed != from.Name {
					continue
				}
				if !yield(Update{outlook, dependencies(outlook.Installed), err != nil}) {
					return
				}
			}
		}
	}
}

// dependencies returns a function that returns the dependencies of a bundle of the package by name.
func (o UpdateOptions) dependencies(
	ctx context.Context, x *declcfg.PackageIndex,
) func(name string) []*resolve.Dependency {
	if o.Dependencies == nil {
		return func(string) []*resolve.Dependency { return nil }
	}
	bundles := map[string]*declcfg.Meta{}
	for _, b := range x.Bundles {
		bundles[b.Value.Name] = b.Meta
	}
	known := map[string][]*resolve.Dependency{}
	return func(name string) []*resolve.Dependency {
		if _, ok := known[name]; !ok && bundles[name] != nil {
			var err error
			known[name], err = o.Dependencies.Of(ctx, bundles[name])
			switch {
			case err == nil || ctx.Err() != nil:
			case errors.Is(err, resolve.ErrEvaluations):
				o.warn("some dependencies are not known: %w", err)
			default:
				o.warn("OLM Classic cannot read the dependencies of %q: %w", name, err)
			}
		}
		return known[name]
	}
}

// warn passes an error to Refused.
func (o UpdateOptions) warn(format string, args ...any) {
	if o.Refused != nil {
		o.Refused(fmt.Errorf(format, args...))
	}
}

// channels returns the channels to list; a nil channel stands for no channel.
func (o UpdateOptions) channels(p *graph.Package) ([]*graph.Channel, error) {
	if o.None {
		return []*graph.Channel{nil}, nil
	}
	if o.Channel == "" {
		return p.Channels, nil
	}
	if c := p.Channel(o.Channel); c != nil {
		return []*graph.Channel{c}, nil
	}
	var names []string
	for _, c := range p.Channels {
		names = append(names, c.Name)
	}
	return nil, nearest.NotFound(fmt.Sprintf("package %q has no channel", p.Name), o.Channel, names)
}

// checkKnown returns an error if no bundle has the version.
func checkKnown(x *declcfg.PackageIndex, version string) error {
	p := graph.NewPackage(x)
	if len(p.Find(version)) > 0 {
		return nil
	}
	var known []string
	for _, b := range p.Bundles {
		if b.Version != nil {
			known = append(known, b.Version.String())
		}
	}
	return nearest.NotFound(fmt.Sprintf("package %q: no bundle has or updates version", p.Name), version, known)
}

// withVersions returns the graph of a package, with a virtual bundle for each text that is a version without a bundle.
func withVersions(x *declcfg.PackageIndex, texts ...string) *graph.Package {
	p := graph.NewPackage(x)
	var installed []declcfg.BundleSummary
	for _, text := range texts {
		if v, err := declcfg.ParseVersion(text, ""); err == nil && len(p.Find(text)) == 0 {
			installed = append(installed, declcfg.BundleSummary{Name: text, Version: &v})
		}
	}
	if installed == nil {
		return p
	}
	return graph.NewPackage(x, installed...)
}

// findBundle returns the bundle with the given name or version. A version must have only one bundle.
func findBundle(p *graph.Package, text string) (*graph.Bundle, error) {
	found := p.Find(text)
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("package %q has several bundles of version %s, name one: %s", p.Name, text,
			strings.Join(namesOf(found), ", "))
	}
	names := namesOf(p.Bundles)
	for _, b := range p.Bundles {
		if text != "" && text[0] >= '0' && text[0] <= '9' && b.Version != nil {
			names = append(names, b.Version.String())
		}
	}
	return nil, nearest.NotFound(fmt.Sprintf("package %q has no bundle", p.Name), text, names)
}

func namesOf(bundles []*graph.Bundle) []string {
	var names []string
	for _, b := range bundles {
		names = append(names, b.Name)
	}
	return names
}

func (u Update) title() string { return u.Installed }

func (Update) layout() layout {
	return layout{columns: []string{
		"PACKAGE", "CHANNEL", "INSTALLED", "VERSION", "CLASSIC", "CLASSIC HOPS", "V1", "V1 HOPS",
		"DIFFERS", "STRANDED", "ERROR",
	}}
}

func (u Update) cells(bool) []string {
	var all []string
	if e := u.Classic.Error; e != "" && !u.refused {
		all = append(all, fmt.Sprintf("%s: %s", graph.Classic, e))
	}
	if e := u.V1.Error; e != "" {
		all = append(all, fmt.Sprintf("%s: %s", graph.V1, e))
	}
	return []string{
		u.Package, u.Channel, u.Installed, u.Version,
		next(u.Classic), hops(u.Classic), next(u.V1), hops(u.V1), yesNo(u.Differs), u.stranded(), strings.Join(all, "; "),
	}
}

// An updateBy is a row with the updates in one of the semantics.
type updateBy struct {
	Update
	by graph.Semantics
}

func (updateBy) layout() layout {
	return layout{columns: []string{"PACKAGE", "CHANNEL", "INSTALLED", "VERSION", "NEXT", "HOPS", "STRANDED", "ERROR"}}
}

func (u updateBy) cells(bool) []string {
	f := u.fates(u.by)[0]
	failure := f.Error
	if u.by == graph.Classic && u.refused {
		failure = ""
	}
	return []string{u.Package, u.Channel, u.Installed, u.Version, next(f), hops(f), yesNo(f.Stranded), failure}
}

// next returns the name of the next update, "error", or "" if there is none.
func next(f graph.Fate) string {
	if f.Outcome == graph.Failed {
		return "error"
	}
	return f.Next
}

// stranded returns the semantics in which the updates do not reach the end of the channel: "classic", "v1", "both" or
// "no".
func (u Update) stranded() string {
	switch {
	case u.Classic.Stranded && u.V1.Stranded:
		return "both"
	case u.Classic.Stranded:
		return string(graph.Classic)
	case u.V1.Stranded:
		return string(graph.V1)
	}
	return "no"
}

func hops(f graph.Fate) string {
	if f.Loop {
		return "endless"
	}
	return strconv.Itoa(f.Hops)
}

// Explain explains for each channel of a package, or for the channel in o, why the bundle o.From is or is not updated
// to the bundle to next, in OLM Classic and in OLM v1. Both bundles are given by name or version.
func Explain(x *declcfg.PackageIndex, o UpdateOptions, to string) ([]*graph.Explanation, error) {
	p := withVersions(x, o.From, to)
	channels, errChannel := o.channels(p)
	a, errFrom := findBundle(p, o.From)
	b, errTo := findBundle(p, to)
	if err := errors.Join(errChannel, errFrom, errTo); err != nil {
		return nil, err
	}
	var all []*graph.Explanation
	for _, c := range channels {
		o.V1.Channels = nil
		if c != nil {
			o.V1.Channels = []*graph.Channel{c}
		}
		all = append(all, p.ExplainClassic(c, a, b), p.ExplainV1(o.V1, a, b))
	}
	return all, nil
}

// ExplanationsResult returns the answer with explanations.
func ExplanationsResult(all []*graph.Explanation) *output.Result {
	return &output.Result{Value: all, Other: map[output.Format]func(io.Writer) error{
		output.Text: func(w io.Writer) error {
			var text strings.Builder
			for i, e := range all {
				if i > 0 {
					text.WriteByte('\n')
				}
				text.WriteString(e.String())
			}
			_, err := io.WriteString(w, text.String())
			return err
		},
	}}
}
