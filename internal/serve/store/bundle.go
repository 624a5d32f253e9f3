package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A bundle is the part of a bundle that stays in memory while a store is built.
type bundle struct {
	fields record // of its api.Bundle, except large fields and fields that differ between channels
	kinds  []declcfg.GVK
	body   record
	whole  bool // lists include its manifests, since it has no image to read them from
}

// newBundle encodes the bundle b, decoded from m. The error is a [*declcfg.Error].
func newBundle(p *packer, m *declcfg.Meta, b *declcfg.Bundle) (*bundle, error) {
	e := bundleEncoder{packer: p, bundle: b, message: api.Bundle{
		CsvName: b.Name, PackageName: b.Package, BundlePath: b.Image,
	}}
	for i := range b.Properties {
		if err := e.property(&b.Properties[i]); err != nil {
			return nil, withPosition(m, place.Item("/properties", i)+"/value", err)
		}
	}
	version, err := b.PackageProperty()
	if err != nil {
		return nil, withPosition(m, "/properties", err)
	}
	e.message.Version = version.Version
	fields, err := proto.Marshal(&e.message)
	if err != nil {
		return nil, withPosition(m, "", err)
	}
	body := e.body(p.buffers.Get(), fields)
	defer func() { p.buffers.Put(body) }()
	return &bundle{fields: p.record(fields), kinds: e.kinds, body: p.record(body), whole: b.Image == ""}, nil
}

// withPosition adds a position to err: of the part of the object at ptr, or of the value within that part that a
// [declcfg.ValueError] names.
func withPosition(m *declcfg.Meta, ptr jsontext.Pointer, err error) error {
	if v, ok := errors.AsType[*declcfg.ValueError](err); ok {
		ptr, err = ptr+v.Pointer, v.Err
	}
	return &declcfg.Error{Pos: m.Place(ptr), Pointer: ptr, Err: err}
}

type bundleEncoder struct {
	packer *packer
	bundle *declcfg.Bundle

	message  api.Bundle // the fields that are equal in all channels, without manifests
	kinds    []declcfg.GVK
	objects  []jsontext.Value
	csv      int // the index in objects of the first ClusterServiceVersion, plus one
	metadata *csvMetadata
}

func (e *bundleEncoder) property(p *declcfg.Property) error {
	switch p.Type {
	case declcfg.PropertyBundleObject:
		return e.object(p)
	case declcfg.PropertyCSVMetadata:
		if e.metadata != nil {
			return fmt.Errorf("want at most one property of type %s, found another", p.Type)
		}
		var err error
		e.metadata, err = newCSVMetadata(e.packer, p)
		return err
	case declcfg.PropertyGVK:
		var k declcfg.GVK
		if err := p.Unmarshal(&k); err != nil {
			return err
		}
		e.message.ProvidedApis = append(e.message.ProvidedApis, wireKind(k))
		if !slices.Contains(e.kinds, k) {
			e.kinds = append(e.kinds, k)
		}
	case declcfg.PropertyGVKRequired:
		var k declcfg.GVKRequired
		if err := p.Unmarshal(&k); err != nil {
			return err
		}
		e.message.RequiredApis = append(e.message.RequiredApis, wireKind(declcfg.GVK(k)))
		e.depend(declcfg.PropertyGVK, compact(p))
	case declcfg.PropertyPackageRequired:
		var r declcfg.PackageRequired
		if err := p.Unmarshal(&r); err != nil {
			return err
		}
		value := format.AppendString([]byte(`{"packageName":`), r.PackageName)
		value = format.AppendString(append(value, `,"version":`...), r.VersionRange)
		e.depend(declcfg.PropertyPackage, append(value, '}'))
	}
	if p.Value == nil {
		return declcfg.ErrNoValue
	}
	e.message.Properties = append(e.message.Properties, &api.Property{Type: p.Type, Value: string(compact(p))})
	return nil
}

func (e *bundleEncoder) depend(typ string, value []byte) {
	e.message.Dependencies = append(e.message.Dependencies, &api.Dependency{Type: typ, Value: string(value)})
}

func wireKind(k declcfg.GVK) *api.GroupVersionKind {
	return &api.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// compact returns the value of p without white space. Keys are sorted, as in upstream's output, unless opm itself
// created the value.
func compact(p *declcfg.Property) []byte {
	if p.Ordered {
		v := p.Value.Clone()
		if v.Compact() == nil {
			return v
		}
	}
	return format.AppendCompact(nil, p.Value)
}

func (e *bundleEncoder) object(p *declcfg.Property) error {
	var o declcfg.BundleObject
	if err := p.Unmarshal(&o); err != nil {
		return err
	}
	manifest, err := o.JSON()
	if errors.Is(err, declcfg.ErrBrokenManifest) { // upstream serves it as it is
		manifest, err = jsontext.Value(bytes.ToValidUTF8(o.Data, []byte("\ufffd"))), nil
	}
	if err != nil {
		return fmt.Errorf("neither a JSON nor a YAML manifest: %w", err)
	}
	e.objects = append(e.objects, manifest)
	if e.csv == 0 && declcfg.IsCSV(manifest) {
		e.csv = len(e.objects)
	}
	return nil
}

// body appends the part of the response of GetBundle that is equal in all channels; see doc.go. It must be called last.
func (e *bundleEncoder) body(dst, fields []byte) []byte {
	dst = appendField(dst, bodyFields, fields)
	for _, o := range e.objects {
		dst = appendField(dst, bodyObject, o)
	}
	switch {
	case e.csv > 0:
		return appendNumber(dst, bodyCSV, e.csv)
	case e.metadata != nil:
		dst = appendCSV(dst, e.bundle, e.message.Version, e.metadata)
		e.packer.buffers.Put(e.metadata.text.Bytes()) // now free to pack dst
	}
	return dst
}
