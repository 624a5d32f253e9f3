package diff

import (
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A comparison compares a package in two catalogs.
type comparison struct {
	pkg           string
	before, after *catalog

	// graphAfter also has the bundles of graphBefore, as virtual bundles, since they may be installed.
	graphBefore, graphAfter *graph.Package

	place map[string]int // index of a bundle in the order of versions, from 1
}

// compare returns the changes in a package, and whether there are any.
func compare(pkg string, before, after *catalog) (Package, bool) {
	c := comparison{pkg: pkg, before: before, after: after, place: map[string]int{}}
	c.graphBefore, c.graphAfter = graph.NewPackages(before.packageIndex(pkg), after.packageIndex(pkg))
	for i, b := range c.graphAfter.Bundles {
		c.place[b.Name] = i + 1 // bundles in neither catalog sort first
	}

	p := Package{Name: pkg, Change: change(before.has(pkg), after.has(pkg))}
	if b, a := c.graphBefore.DefaultChannel, c.graphAfter.DefaultChannel; a != b {
		p.DefaultChannel = &Values{b, a}
	}
	if p.Change == Changed {
		p.Keys = c.keys(declcfg.SchemaPackage, pkg, "defaultChannel")
		p.DeprecationKeys = c.keys(declcfg.SchemaDeprecations, "", "entries")
	}
	var names []string
	for _, ch := range slices.Concat(c.graphBefore.Channels, c.graphAfter.Channels) {
		names = append(names, ch.Name)
	}
	slices.SortFunc(names, graph.CompareChannels)
	var all []Channel
	for _, n := range slices.Compact(names) {
		ch := c.channel(n)
		if !reflect.DeepEqual(ch, Channel{Name: n, Change: Changed}) {
			all = append(all, ch)
		}
	}
	p.Channels = all
	p.Bundles = c.bundles()
	p.Deprecations = c.deprecations()
	p.Objects = c.objects()
	if !c.sameGraph(p) {
		p.Stranded, p.Reroutes = c.installs()
	}
	return p, !reflect.DeepEqual(p, Package{Name: pkg, Change: Changed})
}

// updateProperties are the types of properties that affect updates.
var updateProperties = []string{
	declcfg.PropertyPackage, declcfg.PropertyDeprecated,
	declcfg.PropertyGVKRequired, declcfg.PropertyPackageRequired, declcfg.PropertyConstraint,
}

// sameGraph reports whether no change affects updates.
func (c *comparison) sameGraph(p Package) bool {
	affectsUpdates := func(property string) bool { return slices.Contains(updateProperties, property) }
	for _, b := range p.Bundles {
		if b.Change != Changed || slices.ContainsFunc(b.Properties, affectsUpdates) {
			return false
		}
	}
	return len(p.Channels) == 0 && len(p.Deprecations) == 0
}

// change returns the kind of change of an object that is in one or both catalogs.
func change(before, after bool) Change {
	switch {
	case !before:
		return Added
	case !after:
		return Removed
	}
	return Changed
}

// valuesOf returns the values before and after, or nil if they are equal.
func valuesOf(before, after string) *Values {
	if before == after {
		return nil
	}
	return &Values{before, after}
}

// byVersion orders bundle names by version.
func (c *comparison) byVersion(a, b string) int {
	return cmp.Or(cmp.Compare(c.place[a], c.place[b]), cmp.Compare(a, b))
}

// keys returns the changed keys of an object in both catalogs, without the keys in but.
func (c *comparison) keys(schema, object string, but ...string) []string {
	id := name{c.pkg, schema, object}
	var keys []string
	for _, p := range c.before.contents[id].differences(c.after.contents[id]) {
		if !slices.Contains(but, p.key) {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// none stands for a missing channel.
var none = graph.New(nil)

func (c *comparison) channel(name string) Channel {
	before, after := c.graphBefore.Channel(name), c.graphAfter.Channel(name)
	ch := Channel{Name: name, Change: change(before != nil, after != nil)}
	if ch.Change == Changed {
		ch.Keys = c.keys(declcfg.SchemaChannel, name, "entries")
	}
	before, after = cmp.Or(before, none), cmp.Or(after, none)
	if heads := (Heads{before.Heads(), after.Heads()}); !slices.Equal(heads.Before, heads.After) {
		ch.Heads = &heads
	}
	var names []string
	for _, e := range slices.Concat(before.Entries(), after.Entries()) {
		if e.Name != "" {
			names = append(names, e.Name)
		}
	}
	slices.SortFunc(names, c.byVersion)
	for _, n := range slices.Compact(names) {
		b, was := before.Entry(n)
		a, is := after.Entry(n)
		switch change(was, is) {
		case Added:
			ch.Added = append(ch.Added, n)
		case Removed:
			ch.Removed = append(ch.Removed, n)
		default:
			if e, differs := c.edges(b, a); differs {
				ch.Edges = append(ch.Edges, e)
			}
		}
	}
	return ch
}

// edges compares the edges of an entry in both catalogs, and reports whether they differ.
func (c *comparison) edges(before, after declcfg.Entry) (Edges, bool) {
	e := Edges{
		Entry:        before.Name,
		Replaces:     valuesOf(before.Replaces, after.Replaces),
		SkipsAdded:   c.without(after.Skips, before.Skips),
		SkipsRemoved: c.without(before.Skips, after.Skips),
		SkipRange:    valuesOf(before.SkipRange, after.SkipRange),
		Others:       sumOf(before.Unknown) != sumOf(after.Unknown),
	}
	return e, !reflect.DeepEqual(e, Edges{Entry: before.Name})
}

// without returns names without others, each name once, sorted by version.
func (c *comparison) without(names, others []string) []string {
	left := map[string]bool{}
	for _, n := range names {
		left[n] = true
	}
	for _, n := range others {
		delete(left, n)
	}
	return slices.SortedFunc(maps.Keys(left), c.byVersion)
}

func (c *comparison) bundles() []Bundle {
	var all []Bundle
	images := [2]map[string]string{images(c.before.packageIndex(c.pkg)), images(c.after.packageIndex(c.pkg))}
	for _, after := range c.graphAfter.Bundles {
		before := c.graphBefore.Bundle(after.Name)
		was, is := before != nil && !before.Virtual, !after.Virtual
		if !was && !is {
			continue
		}
		b := Bundle{Name: after.Name, Change: change(was, is)}
		if after.Version != nil {
			b.Version = after.Version.String()
		}
		if b.Change == Changed && !c.changes(&b) {
			continue
		}
		b.Image = valuesOf(images[0][b.Name], images[1][b.Name])
		all = append(all, b)
	}
	return all
}

// images returns the images of the bundles by bundle name.
func images(x *declcfg.PackageIndex) map[string]string {
	all := map[string]string{}
	for _, b := range slices.Backward(x.Bundles) { // the first bundle of a name is used
		all[b.Value.Name] = b.Value.Image
	}
	return all
}

// changes sets the changed parts of a bundle in both catalogs, and reports whether there are any.
func (c *comparison) changes(b *Bundle) bool {
	id := name{c.pkg, declcfg.SchemaBundle, b.Name}
	before, after := c.before.contents[id], c.after.contents[id]
	parts := before.differences(after)
	for _, p := range parts {
		switch {
		case p.key == "image": // reported with its values
		case p.property != "":
			b.Properties = append(b.Properties, p.property)
		default:
			b.Keys = append(b.Keys, p.key)
		}
	}
	form := Values{before.form(), after.form()}
	onlyForm := form.Before != "" && form.After != "" && form.Before != form.After && len(parts) == 2
	if onlyForm && before.has("image", "") {
		b.Form, b.Properties = &form, nil
	}
	return len(parts) > 0
}

// form returns the type of the properties with the metadata of a bundle: olm.bundle.object or olm.csv.metadata, or ""
// if the bundle has properties of neither or of both types.
func (c content) form() string {
	objects := c.has("properties", declcfg.PropertyBundleObject)
	metadata := c.has("properties", declcfg.PropertyCSVMetadata)
	switch {
	case objects && !metadata:
		return declcfg.PropertyBundleObject
	case metadata && !objects:
		return declcfg.PropertyCSVMetadata
	}
	return ""
}

func (c *comparison) deprecations() []Deprecation {
	before, after := c.before.messages[c.pkg], c.after.messages[c.pkg]
	var all []Deprecation
	for n, change := range changed(before, after) {
		b, a := before[n], after[n]
		others := change == Changed && a.others != b.others
		all = append(all, Deprecation{n.schema, n.name, change, Values{b.text, a.text}, others})
	}
	return all
}

func (c *comparison) objects() []Object {
	var all []Object
	for n, change := range changed(c.before.others[c.pkg], c.after.others[c.pkg]) {
		all = append(all, Object{n.schema, n.name, change})
	}
	return all
}

// changed yields the names whose values differ, or that only one of the maps has, sorted, packages first.
func changed[T comparable](before, after map[name]T) iter.Seq2[name, Change] {
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.SortFunc(names, func(a, b name) int {
		return cmp.Or(schemaOrder(a)-schemaOrder(b), cmp.Compare(a.schema, b.schema), cmp.Compare(a.name, b.name))
	})
	return func(yield func(name, Change) bool) {
		for _, n := range slices.Compact(names) {
			b, was := before[n]
			a, is := after[n]
			if (a != b || was != is) && !yield(n, change(was, is)) {
				return
			}
		}
	}
}

// schemaOrder orders packages, channels, bundles, and then all other schemas.
func schemaOrder(n name) int {
	order := []string{declcfg.SchemaPackage, declcfg.SchemaChannel, declcfg.SchemaBundle}
	if i := slices.Index(order, n.schema); i >= 0 {
		return i
	}
	return len(order)
}
