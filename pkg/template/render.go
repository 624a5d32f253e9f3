package template

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// A Catalog is a rendered template. It is valid until the Bundles are closed.
type Catalog struct {
	Metas []*declcfg.Meta // in the order of [declcfg.Sort]

	bundles *Bundles
	own     map[identity]bool // bundles that the template holds
	form    render.Form       // of the target, "" for that of the bundles
}

// An identity identifies a bundle.
type identity struct{ pkg, name, image string }

func identify(b *declcfg.Bundle) identity { return identity{b.Package, b.Name, b.Image} }

// Edit makes the changes to a bundle before it is written. As in upstream, bundles that the template itself holds are
// not migrated.
func (c *Catalog) Edit(b *declcfg.Bundle) error {
	if c.own[identify(b)] {
		return nil
	}
	if err := c.bundles.catalog.Edit(b); err != nil || c.form == "" {
		return err
	}
	return render.Changes{Form: c.form}.Edit(b)
}

// Index returns what relates the objects of the catalog to each other, unless check fails for one of them; it may be
// nil.
func (c *Catalog) Index(check func(*declcfg.Meta, any) error) (*declcfg.Index, error) {
	x := &declcfg.Index{}
	for _, m := range c.Metas {
		v, err := m.Decode()
		if err != nil {
			return nil, err
		}
		if check != nil {
			if err := check(m, v); err != nil {
				return nil, err
			}
		}
		x.Add(m, declcfg.Slim(v))
	}
	return x, nil
}

// Render makes the catalog. As in upstream it need not be valid, except for a substitutes template. The error joins
// everything that is wrong, by place.
func (t *Template) Render(ctx context.Context, b *Bundles, o Options) (*Catalog, error) {
	r := &rendering{Template: t, Options: o, ctx: ctx, bundles: b}
	t.spec.render(r)
	if len(r.errs) == 0 && o.target != nil {
		r.fit()
	}
	if len(r.errs) == 0 && t.Type == Substitutes && (len(r.used) > 0 || o.target != nil) {
		r.checkResult("/substitutions")
	}
	if err := joinErrors(r.errs); err != nil {
		return nil, err
	}
	c := &Catalog{bundles: b, own: map[identity]bool{}}
	changes := render.Changes{Form: b.changes.Form, Rewrites: b.changes.Rewrites}
	if o.target != nil && o.target.form != "" {
		changes.Form, c.form = o.target.form, o.target.form
	}
	var text []byte
	for _, object := range r.objects {
		if own, ok := object.(*declcfg.Bundle); ok {
			changed, err := changeOwn(own, changes)
			if err != nil {
				return nil, err
			}
			c.own[identify(changed)] = true
			object = changed
		}
		text = appendObject(text, object)
	}
	keep := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
	for m, err := range declcfg.Map(ctx, keep, render.Text(t.file.Name(), text)) {
		if err != nil {
			return nil, err
		}
		c.Metas = append(c.Metas, m)
	}
	c.Metas = append(c.Metas, r.used...)
	declcfg.Sort(c.Metas)
	return c, nil
}

// appendObject appends an object as it is written.
func appendObject(text []byte, object any) []byte {
	if raw, ok := object.(jsontext.Value); ok {
		return append(format.AppendJSON(text, raw, 0), '\n')
	}
	return declcfg.JSON.Append(text, object)
}

// changeOwn returns a bundle that the template holds, with the changes that upstream does not know.
func changeOwn(b *declcfg.Bundle, c render.Changes) (*declcfg.Bundle, error) {
	if c.Form == "" && len(c.Rewrites) == 0 {
		return b, nil
	}
	changed := *b
	changed.Properties, changed.RelatedImages = slices.Clone(b.Properties), slices.Clone(b.RelatedImages)
	return &changed, c.Edit(&changed)
}

// use adds the bundle of an image.
func (r *rendering) use(image string) {
	r.used = append(r.used, r.bundles.byImage[image].meta)
}
