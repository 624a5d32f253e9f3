package template

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// A Catalog is the result of rendering a template. It is valid until its Bundles are closed.
type Catalog struct {
	Metas []*declcfg.Meta // sorted by [declcfg.Sort]

	bundles *Bundles
	own     map[identity]bool // bundles that the template itself contains
	form    render.Form       // form of bundles for the target; "" keeps the form
}

// An identity identifies a bundle.
type identity struct{ pkg, name, image string }

func identify(b *declcfg.Bundle) identity { return identity{b.Package, b.Name, b.Image} }

// Edit applies the changes to a bundle before it is written. As in upstream, bundles that the template itself contains
// are not migrated.
func (c *Catalog) Edit(b *declcfg.Bundle) error {
	if c.own[identify(b)] {
		return nil
	}
	if err := c.bundles.catalog.Edit(b); err != nil || c.form == "" {
		return err
	}
	return render.Changes{Form: c.form}.Edit(b)
}

// Index returns the index of the catalog. If check is not nil, Index calls it for each object, and returns its first
// error.
func (c *Catalog) Index(check func(*declcfg.Meta, any) error) (*declcfg.Index, error) {
	x := &declcfg.Index{}
	err := declcfg.ReadAll(c.Metas, func(o *declcfg.Object) error {
		v, err := o.Decode()
		if err == nil && check != nil {
			err = check(o.Meta, v)
		}
		if err == nil {
			x.Add(o.Meta, declcfg.Slim(v))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Render renders the catalog. As in upstream, only the catalog of a substitutes template must be valid. The error joins
// all problems, sorted by position.
func (t *Template) Render(ctx context.Context, b *Bundles, o Options) (*Catalog, error) {
	r := &rendering{Template: t, Options: o, ctx: ctx, bundles: b}
	t.spec.render(r)
	if len(r.errs) == 0 && o.target != nil {
		r.adaptToTarget()
	}
	if len(r.errs) == 0 && t.Type == Substitutes && (len(r.used) > 0 || o.target != nil) {
		r.checkResult()
	}
	if err := place.JoinErrors(r.errs); err != nil {
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
	metas, err := declcfg.Metas(ctx, render.Text(t.file.Name(), text))
	if err != nil {
		return nil, err
	}
	c.Metas = slices.Concat(metas, r.used)
	declcfg.Sort(c.Metas)
	return c, nil
}

func appendObject(text []byte, object any) []byte {
	if raw, ok := object.(jsontext.Value); ok {
		return append(format.AppendJSON(text, raw, 0), '\n')
	}
	return declcfg.JSON.Append(text, object)
}

// changeOwn applies the changes to a copy of a bundle that the template itself contains.
func changeOwn(b *declcfg.Bundle, c render.Changes) (*declcfg.Bundle, error) {
	if c.Form == "" && len(c.Rewrites) == 0 {
		return b, nil
	}
	changed := *b
	changed.Properties, changed.RelatedImages = slices.Clone(b.Properties), slices.Clone(b.RelatedImages)
	return &changed, c.Edit(&changed)
}
