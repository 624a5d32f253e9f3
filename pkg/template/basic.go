package template

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// basic is a basic template: a list of catalog objects in which bundles have only an image.
type basic struct {
	Schema  string           `json:"schema"`
	Entries []jsontext.Value `json:"entries"`

	entries []entry
}

func (b *basic) check(t *Template) {
	b.entries = t.readEntries(b.Entries, true)
	for _, e := range b.entries {
		v, ok := e.value.(*declcfg.Bundle)
		if !ok {
			continue
		}
		var extra []string
		for key, has := range map[string]bool{
			"package": v.Package != "", "properties": len(v.Properties) > 0, "relatedImages": len(v.RelatedImages) > 0,
		} {
			if has {
				extra = append(extra, key)
			}
		}
		slices.Sort(extra)
		switch {
		case v.Image == "":
			t.fail(e.ptr.AppendToken("image"), "a bundle of a basic template needs an image")
		case len(extra) > 0:
			t.fail(e.ptr, "a bundle of a basic template has only an image: remove %s", strings.Join(extra, ", "))
		}
	}
}

func (b *basic) pkg() string { return onlyPackage(b.entries) }

func (b *basic) images() (all []reference) {
	for _, e := range b.entries {
		if v, ok := e.value.(*declcfg.Bundle); ok {
			all = append(all, reference{v.Image, e.ptr.AppendToken("image")})
		}
	}
	return all
}

func (b *basic) render(r *rendering) {
	for _, e := range b.entries {
		if v, ok := e.value.(*declcfg.Bundle); !ok {
			r.add(e.object())
		} else if b := r.bundles.byImage[v.Image]; r.includes(b.meta.Package, b.Name, v.Image) {
			r.used = append(r.used, b.meta)
		}
	}
}
