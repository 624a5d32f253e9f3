package declcfg

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/place"
)

// Decode returns o decoded by its schema: a *[Package], *[Channel], *[Bundle] or *[Deprecations], nil for any other
// schema. The case of keys does not matter, as upstream. A value of the wrong type is an [*Error] at its place.
func (o *Object) Decode() (v any, err error) {
	switch o.Schema {
	case SchemaPackage:
		v, err = unmarshal[Package](o.doc.JSON)
	case SchemaChannel:
		v, err = unmarshal[Channel](o.doc.JSON)
	case SchemaBundle:
		v, err = o.bundle()
	case SchemaDeprecations:
		v, err = unmarshal[Deprecations](o.doc.JSON)
	}
	if err != nil {
		ptr, err := place.TypeError(err)
		return nil, &Error{Pos: o.Place(ptr), Pointer: ptr, Err: err}
	}
	return v, nil
}

// bundle decodes a bundle. The first call returns the scanned properties, which the caller may change.
func (o *Object) bundle() (b *Bundle, err error) {
	if o.ready {
		b = o.scanned.bundle()
		o.ready = false
	} else {
		b = bundleOf(o.doc.JSON)
	}
	if b == nil {
		if b, err = unmarshal[Bundle](o.doc.JSON); err != nil {
			return nil, err
		}
	}
	o.keepOrder(b)
	return b, nil
}

// keepOrder marks the properties of b, decoded from o, as ordered if the source is.
func (o *Object) keepOrder(b *Bundle) {
	if o.src.file != nil && o.src.file.ordered {
		for i := range b.Properties {
			b.Properties[i].Ordered = true
		}
	}
}

// structOptions decode into structs as encoding/json does, except for equal keys, which must be sorted first.
var structOptions = json.JoinOptions(
	json.MatchCaseInsensitiveNames(true),
	jsonv1.MatchCaseSensitiveDelimiter(true),
	jsonv1.FormatBytesWithLegacySemantics(true), // bytes may be a list of numbers
	jsonv1.ParseBytesWithLooseRFC4648(true),     // base64 may have line breaks
)

// unmarshal decodes raw into a new T. If keys differ only in case, the last one in byte order wins, because upstream
// sorts them first.
func unmarshal[T any](raw jsontext.Value) (*T, error) {
	v := new(T)
	err := json.Unmarshal(raw, v, structOptions)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		v = new(T)
		sorted := format.AppendCompact(nil, raw)
		err = json.Unmarshal(sorted, v, structOptions, jsontext.AllowDuplicateNames(true),
			jsonv1.MergeWithLegacySemantics(true)) // null changes nothing
	}
	return v, err
}

// CheckManifests returns an error about the first property of b, decoded from o, whose manifest cannot be decoded:
// upstream rejects such a catalog.
func (o *Object) CheckManifests(b *Bundle) error {
	for i := range b.Properties {
		p := &b.Properties[i]
		if p.Type != PropertyBundleObject {
			continue
		}
		if err := p.CheckManifest(); err != nil && !errors.Is(err, ErrBrokenManifest) {
			at := place.Item("/properties", i) + "/value" + err.Pointer
			return &Error{Pos: o.Place(at), Pointer: at, Err: err.Err}
		}
	}
	return nil
}

// CheckManifest returns the error of decoding the manifest in p, an olm.bundle.object, or nil. Upstream rejects the
// catalog unless the error wraps [ErrBrokenManifest].
func (p *Property) CheckManifest() *ValueError {
	var object BundleObject
	if err := p.Unmarshal(&object); err != nil {
		bad, _ := errors.AsType[*ValueError](err) // nothing else is returned
		return bad
	}
	if _, err := object.JSON(); err != nil {
		return &ValueError{p.Type, "/data", fmt.Errorf("neither a JSON nor a YAML manifest: %w", err)}
	}
	return nil
}

// decodeIn decodes o, as Decode does, from d, the scanned JSON of o. The values of properties are parts of d, so that
// they are not scanned again when the bundle is written.
func (o *Object) decodeIn(d *format.Document) (any, error) {
	if o.Schema == SchemaBundle {
		b := new(Bundle)
		if bundleFields().decode(d, 0, reflect.ValueOf(b).Elem()) {
			o.keepOrder(b)
			return b, nil
		}
		d.Reset() // each value would be searched for in all values found so far
	}
	return o.Decode()
}
