package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/resolve/internal/solver"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A Change is a change that would help. It was tried.
type Change struct {
	Text   string        `json:"text"`
	Places []declcfg.Pos `json:"places,omitempty"` // the places to change
}

// The maximum numbers of changes to propose, and to try.
const (
	maxChanges = 4
	maxTrials  = 60
)

// An edit changes a question: the request before anything is read, or its requirements.
type edit struct {
	Change
	size          size
	alternativeTo any // only one edit of those with an equal value is needed
	namespace     func(*ClassicRequest)
	question      func(*question)
}

// A size is the amount of work that a change needs.
type size int

const (
	sizeSubscription size = iota
	sizeRange
	sizeProvider
	sizeRemoval
)

// changes returns the smallest changes after which OLM resolves and, unless wanted is nil, chooses that entry. The core
// has the constraints to change. It combines a change with one for the next core only if no single change helps.
func (x *explainer) changes(ctx context.Context, core []int, wanted *entry) ([]Change, error) {
	var changes []Change
	var queue [][]edit
	for _, e := range x.edits(core) {
		queue = append(queue, []edit{e})
	}
	helped := map[any]bool{}
	for ; len(queue) > 0 && len(changes) < maxChanges; queue = queue[1:] {
		edits := queue[0]
		if helped[edits[0].alternativeTo] {
			continue
		}
		if len(edits) > 1 && len(changes) > 0 {
			break
		}
		if x.trials++; x.trials > maxTrials {
			x.exhausted = true
			break
		}
		helps, next, err := x.try(ctx, edits, wanted)
		if err != nil {
			return changes, err
		}
		if helps {
			all := edits[0].Change
			for _, e := range edits[1:] {
				all.Text += ", and " + e.Text
				all.Places = slices.Concat(all.Places, e.Places)
			}
			changes = append(changes, all)
			helped[edits[0].alternativeTo] = edits[0].alternativeTo != nil
		}
		if len(edits) > 1 {
			continue
		}
		for _, e := range next {
			queue = append(queue, []edit{edits[0], e})
		}
	}
	return changes, nil
}

// edited returns the question with edits applied.
func (q *question) edited(edits []edit) *question {
	ns := *q.ClassicRequest
	ns.Catalogs, ns.Installed = slices.Clone(ns.Catalogs), slices.Clone(ns.Installed)
	ns.Subscriptions = slices.Clone(ns.Subscriptions)
	for _, e := range edits {
		if e.namespace != nil {
			e.namespace(&ns)
		}
	}
	changed := ns.question()
	for _, e := range edits {
		if e.question != nil {
			e.question(changed)
		}
	}
	return changed
}

// try answers the question with edits applied. It reports whether they help, or else which further edits may help.
func (x *explainer) try(ctx context.Context, edits []edit, wanted *entry) (helps bool, next []edit, err error) {
	q := x.q.edited(edits)
	if err := q.addVariables(ctx); err != nil {
		return false, nil, ctx.Err() // an edit that leads to another error does not help
	}
	y := newExplainer(q.problem())
	chosen, err := y.Solve(ctx)
	if unsatisfiable, ok := errors.AsType[*solver.Unsatisfiable](err); ok {
		return false, y.edits(unsatisfiable.Core), nil
	}
	isWanted := func(v *variable) bool { return v.bundle == wanted.bundle }
	if err != nil || wanted == nil || slices.ContainsFunc(y.bundles(chosen), isWanted) {
		return err == nil, nil, err
	}
	if v, ok := y.number[wanted]; ok {
		s, err := y.exclude(ctx, v, nil, []int{})
		if s != nil {
			next = y.edits(s.core)
		}
		return false, next, err
	}
	return false, nil, nil
}

// edits returns the edits that may help with a core, the smallest first.
func (x *explainer) edits(core []int) []edit {
	var edits []edit
	for _, i := range core {
		if i >= len(x.Constraints) {
			continue // from an earlier decision
		}
		c := x.Constraints[i]
		r := x.subscription(c.Subject)
		switch {
		case c.Kind == solver.Dependency && r != nil:
			edits = append(edits, x.editSubscription(r)...)
		case c.Kind == solver.Dependency:
			edits = append(edits, x.editRequirement(i)...)
		case c.Kind == solver.Mandatory && r == nil:
			edits = append(edits, remove(x.variables[c.Subject].bundle.installed, nil))
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.size, b.size) })
	var unique []edit
	for _, e := range edits {
		i := slices.IndexFunc(unique, func(other edit) bool { return other.Text == e.Text })
		if i < 0 {
			unique = append(unique, e)
		} else {
			unique[i].Places = append(slices.Clip(unique[i].Places), e.Places...)
		}
	}
	return unique
}

// change applies a function to a Subscription, if there is one of that name.
func (ns *ClassicRequest) change(name string, to func(*Subscription)) {
	if i := slices.IndexFunc(ns.Subscriptions, func(s Subscription) bool { return s.Name == name }); i >= 0 {
		to(&ns.Subscriptions[i])
	}
}

// show returns edits that make the catalog of a Subscription visible to it: the global catalogs are no longer excluded,
// the namespace of the catalog becomes the global one, or the catalog moves.
func (x *explainer) show(r *subscription) []edit {
	c := x.q.hidden(r.Subscription)
	if c == nil || c.Failure != nil {
		return nil
	}
	var edits []edit
	add := func(places []declcfg.Pos, change func(*ClassicRequest), format string, args ...any) {
		edits = append(edits, edit{
			Change: Change{fmt.Sprintf(format, args...), places}, size: sizeSubscription, namespace: change,
		})
	}
	move := func(to, what string) {
		add(known(r.Pos), func(ns *ClassicRequest) {
			ns.Catalogs = append(ns.Catalogs, c.As(to, c.Name))
			ns.change(r.Name, func(s *Subscription) { s.CatalogNamespace = to })
		}, "move CatalogSource %s to %s %s, and use that in Subscription %s", c.Name, what, to, r.Name)
	}
	switch {
	case c.Namespace == x.q.Global:
		add(nil, func(ns *ClassicRequest) { ns.ExcludesGlobal = false },
			"let the OperatorGroup of namespace %s not exclude the global catalogs", x.q.Name)
	case !x.q.ExcludesGlobal:
		if x.q.Global != "" {
			move(x.q.Global, "the global namespace")
		}
		add(nil, func(ns *ClassicRequest) { ns.Global = c.Namespace },
			"make %s the global namespace, if it is not", c.Namespace)
	}
	move(x.q.Name, "namespace")
	return edits
}

// editSubscription returns edits of a Subscription: a visible catalog, another package or catalog if it finds none, no
// startingCSV, another channel, or its removal.
func (x *explainer) editSubscription(r *subscription) []edit {
	edits := x.show(r)
	add := func(change func(*Subscription), format string, args ...any) {
		edits = append(edits, edit{
			Change: Change{fmt.Sprintf(format, args...), known(r.Pos)}, size: sizeSubscription,
			namespace: func(ns *ClassicRequest) { ns.change(r.Name, change) },
		})
	}
	current := x.q.current(r.Subscription)
	entries := x.q.packageEntries(r)
	if len(entries) == 0 {
		if name := nearest.Name(r.Package, x.q.packages(r)); name != "" {
			add(func(s *Subscription) { s.Package = name }, "use package %s in Subscription %s", name, r.Name)
		}
		for _, c := range x.q.catalogs {
			if c != x.q.installed && c.list().byPackage[r.Package] != nil {
				add(func(s *Subscription) { s.Catalog, s.CatalogNamespace = c.Name, c.Namespace },
					"use catalog %s of namespace %s in Subscription %s", c.Name, c.Namespace, r.Name)
			}
		}
	}
	if current == nil && r.StartingCSV != "" {
		add(func(s *Subscription) { s.StartingCSV = "" },
			"remove the startingCSV %s of Subscription %s", r.StartingCSV, r.Name)
	}
	var channels []string
	for _, e := range entries {
		name := e.channel.name
		if name == r.Channel || r.Channel == "" || slices.Contains(channels, name) {
			continue
		}
		channels = append(channels, name)
		add(func(s *Subscription) { s.Channel = name }, "use channel %s in Subscription %s", name, r.Name)
	}
	if current != nil {
		edits = append(edits, remove(current.bundle.installed, r.Subscription))
	}
	if len(x.q.Subscriptions) > 1 && current == nil {
		edits = append(edits, remove(nil, r.Subscription))
	}
	return edits
}

// packages returns the package names in the catalogs of a Subscription.
func (q *question) packages(r *subscription) []string {
	var names []string
	for _, c := range q.sources(r) {
		names = append(names, slices.Collect(maps.Keys(c.list().byPackage))...)
	}
	return names
}

// remove returns an edit that removes an installed operator, a Subscription, or both.
func remove(in *Installed, s *Subscription) edit {
	e := edit{size: sizeRemoval}
	switch {
	case in == nil:
		e.Text, e.Places = "remove Subscription "+s.Name, known(s.Pos)
	case s == nil:
		e.Text, e.Places = "remove the installed "+in.Name, known(in.Pos)
	default:
		e.Text = fmt.Sprintf("remove the installed %s and Subscription %s", in.Name, s.Name)
		e.Places = known(in.Pos, s.Pos)
	}
	e.namespace = func(ns *ClassicRequest) {
		ns.Installed = slices.DeleteFunc(ns.Installed, func(other Installed) bool {
			return in != nil && other.Name == in.Name
		})
		ns.Subscriptions = slices.DeleteFunc(ns.Subscriptions, func(other Subscription) bool {
			return s != nil && other.Name == s.Name
		})
	}
	return e
}

// editRequirement returns edits for a requirement: a wider version range, or a provider.
func (x *explainer) editRequirement(i int) []edit {
	v, d := x.variables[x.Constraints[i].Subject], x.origins[i].dependency
	text := "add " + requirementText(d.requirement)
	var edits []edit
	if r, ok := d.requirement.(*requiredPackage); ok {
		text = fmt.Sprintf("add a version of package %s in the range %q", r.PackageName, r.VersionRange)
		if v.bundle.installed == nil {
			edits = x.q.widen(r, v.entry, d.property)
		}
	}
	if c := newProvider(d.requirement, x.q.Name); c != nil {
		edits = append(edits, edit{
			Change: Change{Text: text}, size: sizeProvider,
			namespace: func(ns *ClassicRequest) { ns.Catalogs = append(ns.Catalogs, c) },
		})
	}
	return edits
}

// widen returns edits that widen the version range that a property of a bundle requires.
func (q *question) widen(r *requiredPackage, e *entry, property int) []edit {
	key, where := propertyKey(&e.properties[property].Property), e.propertyPlace(property).find()
	var edits []edit
	var outside []string
	for _, text := range q.versions(r.PackageName) {
		if v, err := semver.Parse(text); err == nil && !r.versions.Contains(v) && len(outside) < 3 {
			outside = append(outside, text)
		}
	}
	for _, version := range outside {
		wide := *r
		wide.VersionRange = fmt.Sprintf("%s || %s", r.VersionRange, version)
		var err error
		if wide.versions, err = graph.ParseRange(wide.VersionRange); err != nil {
			continue
		}
		text := fmt.Sprintf("let %s require package %s %q instead of %q",
			e.bundle.name, r.PackageName, wide.VersionRange, r.VersionRange)
		edits = append(edits, edit{
			Change: Change{text, []declcfg.Pos{where}}, size: sizeRange, alternativeTo: key,
			question: func(q *question) {
				q.requirements.known[key] = &readRequirement{requirement: &wide, candidates: map[*Catalog]candidates{}}
			},
		})
	}
	return edits
}

// versions returns the versions of a package: of installed operators, then of catalogs, the highest first.
func (q *question) versions(pkg string) []string {
	var versions []string
	for _, c := range q.catalogs {
		entries := slices.Clone(c.list().byPackage[pkg])
		entries = slices.DeleteFunc(entries, func(e *entry) bool { return e.version == nil })
		slices.SortStableFunc(entries, func(a, b *entry) int { return b.version.Compare(*a.version) })
		for _, e := range entries {
			if text := e.version.String(); !slices.Contains(versions, text) {
				versions = append(versions, text)
			}
		}
	}
	return versions
}

// newProvider returns a catalog with a bundle that satisfies a requirement and provides nothing else, or nil if it
// cannot make one.
func newProvider(r requirement, namespace string) *Catalog {
	const name = "new"
	c := &Catalog{Name: name, Namespace: namespace}
	ch := &channel{catalog: c, name: name, isDefault: true}
	e := &entry{&bundle{name: name}, ch, declcfg.Entry{Name: name}}
	e.provide(r)
	if ok, err := r.satisfiedBy(context.Background(), e); !ok || err != nil {
		return nil
	}
	ch.entries = []*entry{e}
	ch.order = func() ([]*entry, error) { return ch.entries, nil }
	c.once.Do(func() { c.listing = (&listing{channels: []*channel{ch}}).index() })
	return c
}

// provide adds the properties to an entry that a requirement demands, as far as they can be derived.
func (e *entry) provide(r requirement) {
	switch r := r.(type) {
	case requiredGVK:
		e.gvks = append(e.gvks, declcfg.GVK(r))
	case requiredLabel:
		e.labels = append(e.labels, string(r))
	case *requiredPackage:
		e.pkg = r.PackageName
		p := declcfg.PackageProperty{PackageName: r.PackageName, Version: r.example()}
		e.packages = append(e.packages, newPackageVersion(p))
	case requiredAll:
		for _, term := range r {
			e.provide(term)
		}
	case requiredAny:
		if len(r) > 0 { // no bundle satisfies an empty one
			e.provide(r[0])
		}
	}
}

var versionInRange = regexp.MustCompile(`\d+(\.\d+)*(-[0-9A-Za-z.-]+)?`)

// example returns a version in the range, "" if it finds none.
func (r *requiredPackage) example() string {
	for _, text := range append(versionInRange.FindAllString(r.VersionRange, -1), "0.0.0") {
		v, err := semver.ParseTolerant(text)
		if err != nil {
			continue
		}
		next := semver.Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch + 1}
		for _, v := range []semver.Version{v, next} {
			if r.versions.Contains(v) {
				return v.String()
			}
		}
	}
	return ""
}
