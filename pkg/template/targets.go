package template

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

// Targets configure the rendering of one template for several versions of a platform:
//
//	targets:
//	- name: v4.16
//	  target: ocp=4.16
//	  exclude: [kiln.v2.0.0]
//	  defaultChannel: stable-v1
//	- name: v4.18
//	  target: ocp=4.18
type Targets struct{ list []target }

// A target configures the catalog for one version of the platform.
type target struct {
	Name           string   `json:"name"`           // name of the output directory
	Target         string   `json:"target"`         // version that decides the form of bundles; see [render.TargetForm]
	Form           string   `json:"bundleFormat"`   // form of bundles, instead of Target
	Include        []string `json:"include"`        // bundles to include, by name or image; nil for all
	Exclude        []string `json:"exclude"`        // bundles to exclude, by name or image
	DefaultChannel string   `json:"defaultChannel"` // default channel of the package; "" keeps the template's

	file *strictyaml.File
	ptr  jsontext.Pointer
	form render.Form
}

// ReadTargets reads a targets file. The error joins all mistakes, sorted by position.
func ReadTargets(name string, text []byte) (*Targets, error) {
	var top struct {
		Targets []target `json:"targets"`
	}
	file, err := strictyaml.Unmarshal(name, text, &top)
	if err != nil {
		return nil, err
	}
	var errs []error
	if len(top.Targets) == 0 {
		errs = append(errs, file.Errorf("/targets", "no targets"))
	}
	first := map[string]jsontext.Pointer{}
	for i := range top.Targets {
		t := &top.Targets[i]
		t.file, t.ptr = file, place.Item("/targets", i)
		errs = append(errs, t.check()...)
		if before, again := first[t.Name]; again {
			errs = append(errs, file.Errorf(t.ptr+"/name", "target %q is already defined at %s", t.Name, file.Pos(before)[0]))
		} else {
			first[t.Name] = t.ptr
		}
	}
	return &Targets{top.Targets}, place.JoinErrors(errs)
}

// check returns the mistakes in a target, and sets its form.
func (t *target) check() (errs []error) {
	fail := func(key, format string, args ...any) {
		errs = append(errs, t.file.Errorf(t.ptr.AppendToken(key), format, args...))
	}
	if !filepath.IsLocal(t.Name) || strings.ContainsAny(t.Name, `/\`) || strings.HasPrefix(t.Name, ".") {
		fail("name", "%q cannot be the name of a directory", t.Name)
	}
	t.form = render.Form(t.Form)
	switch {
	case t.Target != "" && t.Form != "":
		fail("bundleFormat", "target and bundleFormat cannot be combined")
	case t.Target != "":
		form, err := render.TargetForm(t.Target)
		if err != nil {
			fail("target", "%w", err)
		}
		t.form = form
	case t.Form != "" && !slices.Contains(render.Forms(), t.form):
		fail("bundleFormat", "unknown form %q%s: want %s or %s", t.Form,
			nearest.Hint(t.Form, []string{string(render.FormObject), string(render.FormMetadata)}),
			render.FormObject, render.FormMetadata)
	}
	return errs
}

// A Rendered is the catalog of one target.
type Rendered struct {
	Name string
	*Catalog
}

// Render renders the template for each target, in order. The error joins the problems of all targets.
func (ts *Targets) Render(ctx context.Context, t *Template, b *Bundles, o Options) ([]Rendered, error) {
	var all []Rendered
	var errs []error
	for i := range ts.list {
		o.target = &ts.list[i]
		catalog, err := t.Render(ctx, b, o)
		if err != nil {
			errs = append(errs, problem.Flatten(err)...)
		}
		all = append(all, Rendered{o.target.Name, catalog})
	}
	return all, place.JoinErrors(errs)
}

// A bundleName identifies a bundle or channel by its package and name.
type bundleName struct{ pkg, name string }

// includes reports whether the target includes a bundle, and records the result. Without a target, it returns true.
func (r *rendering) includes(pkg, name, image string) bool {
	if r.target == nil {
		return true
	}
	in := func(list []string) bool { return slices.Contains(list, name) || slices.Contains(list, image) }
	r.names = append(r.names, name, image)
	if in(r.target.Exclude) || r.target.Include != nil && !in(r.target.Include) {
		if r.excluded == nil {
			r.excluded = map[bundleName]bool{}
		}
		r.excluded[bundleName{pkg, name}] = true
		return false
	}
	r.included++
	return true
}

// adaptToTarget removes excluded bundles from their channels, reconnects the updates around them, and sets the default
// channel of the target.
func (r *rendering) adaptToTarget() {
	t := r.target
	for key, list := range map[string][]string{"include": t.Include, "exclude": t.Exclude} {
		for i, name := range list {
			if !slices.Contains(r.names, name) {
				r.errs = append(r.errs, t.file.Errorf(place.Item(t.ptr.AppendToken(key), i),
					"the template has no bundle %q%s", name, r.hints.Hint(name, r.names)))
			}
		}
	}
	if r.included == 0 && len(r.errs) == 0 {
		r.errs = append(r.errs, t.file.Errorf(t.ptr, "target %q has no bundles", t.Name))
	}
	if len(r.errs) > 0 {
		return
	}
	channels := map[bundleName]bool{} // remaining channels
	var kept []any
	for _, object := range r.objects {
		if c, ok := object.(*declcfg.Channel); ok {
			c = r.withoutExcluded(c)
			if len(c.Entries) == 0 {
				continue
			}
			channels[bundleName{c.Package, c.Name}] = true
			object = c
		}
		kept = append(kept, object)
	}
	r.objects = kept
	for i, object := range r.objects {
		switch v := object.(type) {
		case *declcfg.Package:
			r.objects[i] = r.withDefault(v, channels)
		case *declcfg.Deprecations:
			r.objects[i] = r.remainingDeprecations(v, channels)
		}
	}
}

// withoutExcluded returns a copy of a channel without excluded bundles, which the entries that replaced them bypass.
func (r *rendering) withoutExcluded(c *declcfg.Channel) *declcfg.Channel {
	clone := cloneChannel(c)
	for _, e := range c.Entries {
		if !r.excluded[bundleName{c.Package, e.Name}] {
			continue
		}
		i := slices.IndexFunc(clone.Entries, func(f declcfg.Entry) bool { return f.Name == e.Name })
		gone := clone.Entries[i]
		clone.Entries = slices.Delete(clone.Entries, i, i+1)
		for j, f := range clone.Entries {
			if f.Replaces == gone.Name {
				clone.Entries[j] = graph.Bypass(f, gone)
			}
		}
	}
	return clone
}

// withDefault returns a copy of a package with the default channel of the target.
func (r *rendering) withDefault(p *declcfg.Package, channels map[bundleName]bool) *declcfg.Package {
	clone, t := *p, r.target
	key := t.ptr
	if t.DefaultChannel != "" {
		clone.DefaultChannel, key = t.DefaultChannel, key.AppendToken("defaultChannel")
	}
	if !channels[bundleName{p.Name, clone.DefaultChannel}] {
		var names []string
		for c := range maps.Keys(channels) {
			if c.pkg == p.Name {
				names = append(names, c.name)
			}
		}
		slices.Sort(names)
		r.errs = append(r.errs, t.file.Errorf(key, "target %q: the default channel %q of package %q has no bundles: "+
			"want a defaultChannel among %q", t.Name, clone.DefaultChannel, p.Name, names))
	}
	return &clone
}

// remainingDeprecations returns a copy of deprecations without the entries for excluded bundles and for removed
// channels.
func (r *rendering) remainingDeprecations(d *declcfg.Deprecations, channels map[bundleName]bool) *declcfg.Deprecations {
	clone := *d
	clone.Entries = slices.DeleteFunc(slices.Clone(d.Entries), func(e declcfg.Deprecation) bool {
		name := bundleName{d.Package, e.Reference.Name}
		switch e.Reference.Schema {
		case declcfg.SchemaBundle:
			return r.excluded[name]
		case declcfg.SchemaChannel:
			return !channels[name]
		}
		return false
	})
	return &clone
}
