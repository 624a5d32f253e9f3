package filter_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// catalogOf returns the text of a catalog with packages by name, in the syntax of [graphtest.Package]. properties are
// further properties of bundles by bundle name, such as `p.v1: [...]`.
func catalogOf(t testing.TB, packages, properties map[string]string) string {
	t.Helper()
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		x := graphtest.Package(t, name, packages[name])
		pkg := x.Packages[0].Value
		pkg.Schema, pkg.Name = declcfg.SchemaPackage, name
		text = declcfg.JSON.Append(text, pkg)
		for _, c := range x.Channels {
			c.Value.Schema, c.Value.Package = declcfg.SchemaChannel, name
			text = declcfg.JSON.Append(text, c.Value)
		}
		for _, b := range x.Bundles {
			more := properties[b.Value.Name]
			if b.Value.Deprecated {
				more += `, {"type": "olm.deprecated", "value": {}}`
			}
			if b.Value.Dependency == declcfg.PropertyGVKRequired {
				more += `, {"type": "olm.gvk.required", "value": {"group": "g", "kind": "K", "version": "v1"}}`
			}
			text = fmt.Appendf(text, `{"schema": "olm.bundle", "package": %q, "name": %q, "image": "registry.example/%s:%s",
				"properties": [{"type": "olm.package", "value": {"packageName": %q, "version": %q}}%s]}`,
				name, b.Value.Name, name, b.Value.Name, name, b.Value.Version, more)
		}
		if d := x.Deprecations[0].Value; len(d.Entries) > 0 {
			d.Schema, d.Package = declcfg.SchemaDeprecations, name
			for i := range d.Entries {
				d.Entries[i].Message = "old"
			}
			text = declcfg.JSON.Append(text, d)
		}
	}
	return string(text)
}

// A cut is a catalog before and after a selection.
type cut struct {
	before, after *declcfg.Index
	result        *filter.Result
	text          string
}

func sourceOf(text string) declcfg.Source {
	return declcfg.Source{Name: "catalog", FS: fstest.MapFS{"catalog.json": {Data: []byte(text)}}}
}

// open reads a catalog, and fails the test if it is invalid.
func open(t testing.TB, text string) filter.Catalog {
	t.Helper()
	c, problems := read(t, sourceOf(text))
	if problems != "" {
		t.Fatal(problems)
	}
	return c
}

// read reads a catalog, and returns its problems as text.
func read(t testing.TB, source declcfg.Source) (c filter.Catalog, problems string) {
	t.Helper()
	opts := validate.Options{ErrorsOnly: true, Other: func(m *declcfg.Meta) { c.Others = append(c.Others, m) }}
	report, err := validate.Catalog(t.Context(), opts, source)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		problems += p.String() + "\n"
	}
	c.Index = report.Index
	return c, problems
}

// withDependencies reads a catalog with the dependencies of its bundles.
func withDependencies(t testing.TB, text string) filter.Catalog {
	t.Helper()
	c, err := resolve.ReadCatalog(t.Context(),
		declcfg.Source{Name: "catalog", FS: fstest.MapFS{"catalog.json": {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	return filter.Catalog{Index: c.Index, Dependencies: c.Dependencies()}
}

// apply makes a cut, and checks that it loses no update.
func apply(t testing.TB, c filter.Catalog, s filter.Selection) (*cut, error) {
	t.Helper()
	made, err := newCut(t, c, s)
	if err == nil {
		made.checkUpdates(t)
		made.checkUnresolved(t)
	}
	return made, err
}

// newCut writes the result of a selection and reads it again. It checks that the result is valid.
func newCut(t testing.TB, c filter.Catalog, s filter.Selection) (*cut, error) {
	t.Helper()
	result, err := filter.Select(t.Context(), c, s)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	opts := declcfg.WriteOptions{EditObject: result.Edit}
	if err := declcfg.Write(context.Background(), &out, result.Metas, opts); err != nil {
		t.Fatal(err)
	}
	after, problems := read(t, declcfg.Source{Name: "result", FS: fstest.MapFS{"catalog.json": {Data: out.Bytes()}}})
	if problems != "" {
		t.Fatalf("the result is not valid: %s", problems)
	}
	return &cut{c.Index, after.Index, result, out.String()}, nil
}

// checkUnresolved checks that the reported problems are exactly the problems of a cluster with only the result.
func (c *cut) checkUnresolved(t testing.TB) {
	t.Helper()
	result := *c.result
	if err := result.AddUnresolved(t.Context()); err != nil {
		t.Fatal(err)
	}
	var said, want []string
	for _, change := range result.Changes {
		if change.Kind == filter.Unresolved {
			said = append(said, change.Package+": "+change.Message)
		}
	}
	after, err := resolve.ReadCatalog(t.Context(),
		declcfg.Source{Name: "result", FS: fstest.MapFS{"catalog.json": {Data: []byte(c.text)}}})
	if err != nil {
		t.Fatal(err)
	}
	after = after.As("ns", "cat")
	check := resolve.Check{
		Classic: true, V1: true, Namespace: resolve.ClassicRequest{Name: "ns", Catalogs: []*resolve.Catalog{after}},
	}
	checked, err := check.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range checked.Problems {
		if p.Severity == problem.Error {
			want = append(want, p.Package+": "+p.Message)
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(said)), slices.Sorted(slices.Values(want))) {
		t.Errorf("unresolved: %q, want %q", said, want)
	}
}

// checkUpdates checks the updates in kept channels. If the updates of a kept bundle reached another kept bundle of the
// channel, directly or not, it must still have an update; if they reached the end of the channel, they still must. The
// check is for OLM Classic, and also for OLM v1, which updates only to higher versions, if no entry replaces or skips
// itself or a higher version. Bundles that are named as stranded are not checked.
func (c *cut) checkUpdates(t testing.TB) {
	t.Helper()
	for _, x := range c.after.Packages() {
		if x.Name == "" {
			continue
		}
		before, after := graph.NewPackage(c.before.Package(x.Name)), graph.NewPackage(x)
		for _, ch := range after.Channels {
			classic, v1, err := before.Plans(before.Channel(ch.Name))
			if err != nil {
				continue // OLM Classic rejects a channel that opm accepts
			}
			newClassic, newV1, err := after.Plans(ch)
			if err != nil {
				t.Errorf("package %q: channel %q: OLM Classic rejects it: %v", x.Name, ch.Name, err)
				continue
			}
			upward := isUpward(before, before.Channel(ch.Name))
			for _, e := range ch.Entries() {
				if slices.ContainsFunc(c.result.Changes, func(change filter.Change) bool {
					return change.Kind == filter.Stranded && change.Package == x.Name && change.Channel == ch.Name && change.Bundle == e.Name
				}) {
					continue
				}
				losesNone(t, classic, newClassic, ch, e.Name)
				if upward {
					losesNone(t, v1, newV1, ch, e.Name)
				}
			}
		}
	}
}

// isUpward reports whether no entry of a channel replaces or skips itself or a higher version.
func isUpward(p *graph.Package, ch *graph.Channel) bool {
	rank := func(name string) int { return slices.Index(p.Bundles, p.Bundle(name)) }
	return !slices.ContainsFunc(ch.Entries(), func(e declcfg.Entry) bool {
		return slices.ContainsFunc(slices.Concat(e.Skips, []string{e.Replaces}), func(name string) bool { return rank(name) >= rank(e.Name) })
	})
}

func losesNone(t testing.TB, before, after *graph.Plan, ch *graph.Channel, name string) {
	t.Helper()
	was, is := before.Package.Bundle(name), after.Package.Bundle(name)
	steps, _ := before.Path(was)
	leads := slices.ContainsFunc(steps, func(s graph.Step) bool {
		_, kept := ch.Entry(s.To.Name)
		return kept && s.To != was
	})
	if _, updates := after.Next(is); leads && !updates && after.Err(is) == nil {
		t.Errorf("%s: package %q: channel %q: %s loses its update", after.Semantics, ch.Package, ch.Name, name)
	}
	if before.Reaches(was) && !after.Reaches(is) && after.Err(is) == nil {
		t.Errorf("%s: package %q: channel %q: %s no longer reaches the end", after.Semantics, ch.Package, ch.Name, name)
	}
}

// String formats the kept versions, such as "p: stable* v3 v2; fast v4", with a star at the default channel and the
// head first.
func (c *cut) String() string {
	var packages []string
	for _, p := range c.result.Packages {
		var channels []string
		for _, ch := range p.Channels {
			name := ch.Name
			if name == p.DefaultChannel {
				name += "*"
			}
			others := slices.DeleteFunc(slices.Clone(ch.Bundles), func(b string) bool { return b == ch.Head })
			slices.Reverse(others)
			channels = append(channels, strings.Join(append([]string{name, ch.Head}, others...), " "))
		}
		packages = append(packages, p.Name+": "+strings.Join(channels, "; "))
	}
	return strings.Join(packages, "\n")
}
