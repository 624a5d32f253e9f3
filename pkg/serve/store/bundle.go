package store

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A bundle is what is kept in memory of a bundle while a store is built.
type bundle struct {
	fields []byte // of its api.Bundle, as far as they are alike in all channels and not large
	kinds  []declcfg.GVK
	body   record
	whole  bool // its manifests are in lists too, since there is no image to get them from
}

// newBundle encodes the bundle b, which is m decoded. The errors are all that keeps it from being served.
func newBundle(p *packer, m *declcfg.Meta, b *declcfg.Bundle) (*bundle, []error) {
	e := bundleEncoder{packer: p, meta: m, bundle: b}
	for i := range b.Properties {
		e.property(i)
	}
	version := e.version()
	fields := e.fields(version)
	body := e.body(p.buffers.Get(), fields, version)
	defer func() { p.buffers.Put(body) }()
	if len(e.errs) > 0 {
		return nil, e.errs
	}
	return &bundle{fields: fields, kinds: e.kinds, body: p.record(body), whole: b.Image == ""}, nil
}

// A bundleEncoder collects the parts of one bundle.
type bundleEncoder struct {
	packer *packer
	meta   *declcfg.Meta
	bundle *declcfg.Bundle
	errs   []error

	provided, required, dependencies, properties []byte // fields
	kinds                                        []declcfg.GVK
	objects                                      []jsontext.Value
	csv                                          int // the index in objects of the first ClusterServiceVersion, plus one
	metadata                                     int // the index of the olm.csv.metadata, plus one
}

func (e *bundleEncoder) fail(ptr jsontext.Pointer, err error) {
	e.errs = append(e.errs, &declcfg.Error{Pos: e.meta.Place(ptr), Pointer: ptr, Err: err})
}

func valuePointer(i int) jsontext.Pointer {
	return jsontext.Pointer(fmt.Sprintf("/properties/%d/value", i))
}

// property collects what property i has to say.
func (e *bundleEncoder) property(i int) {
	p := &e.bundle.Properties[i]
	switch p.Type {
	case declcfg.PropertyBundleObject:
		e.object(i, p)
		return
	case declcfg.PropertyCSVMetadata:
		if e.metadata > 0 {
			e.fail(valuePointer(i), fmt.Errorf("want at most one property of type %s, found another", p.Type))
		}
		e.metadata = i + 1
		return
	case declcfg.PropertyGVK:
		e.kind(i, p)
	case declcfg.PropertyGVKRequired:
		e.requiredKind(i, p)
	case declcfg.PropertyPackageRequired:
		e.requiredPackage(i, p)
	}
	if p.Value == nil {
		e.fail(jsontext.Pointer(fmt.Sprintf("/properties/%d", i)), declcfg.ErrNoValue)
		return
	}
	e.properties = appendTyped(e.properties, bundleProperties, p.Type, compact(p))
}

// compact returns the value of p as text without white space. Keys are sorted, as upstream has them after reading a
// catalog, unless opm itself made the value.
func compact(p *declcfg.Property) []byte {
	if p.Ordered {
		v := p.Value.Clone()
		if v.Compact() == nil {
			return v
		}
	}
	return format.AppendCompact(nil, p.Value)
}

// decode decodes property i into v and tells whether it could.
func (e *bundleEncoder) decode(i int, p *declcfg.Property, v any) bool {
	err := p.Unmarshal(v)
	if err != nil {
		e.failValue(i, err)
	}
	return err == nil
}

func (e *bundleEncoder) failValue(i int, err error) {
	ptr, what := placeInValue(err)
	e.fail(valuePointer(i)+ptr, what)
}

func (e *bundleEncoder) kind(i int, p *declcfg.Property) {
	var k declcfg.GVK
	if e.decode(i, p, &k) {
		e.provided = appendKind(e.provided, bundleProvidedAPIs, k)
		e.kinds = append(e.kinds, k)
	}
}

func (e *bundleEncoder) requiredKind(i int, p *declcfg.Property) {
	var k declcfg.GVKRequired
	if e.decode(i, p, &k) {
		e.required = appendKind(e.required, bundleRequiredAPIs, declcfg.GVK(k))
		e.dependencies = appendTyped(e.dependencies, bundleDependencies, declcfg.PropertyGVK, compact(p))
	}
}

func (e *bundleEncoder) requiredPackage(i int, p *declcfg.Property) {
	var r declcfg.PackageRequired
	if e.decode(i, p, &r) {
		value := append([]byte(nil), `{"packageName":`...)
		value = format.AppendString(value, r.PackageName)
		value = append(value, `,"version":`...)
		value = format.AppendString(value, r.VersionRange)
		value = append(value, '}')
		e.dependencies = appendTyped(e.dependencies, bundleDependencies, declcfg.PropertyPackage, value)
	}
}

func appendKind(dst []byte, number protowire.Number, k declcfg.GVK) []byte {
	size := sizeIf(kindGroup, len(k.Group)) + sizeIf(kindVersion, len(k.Version)) + sizeIf(kindKind, len(k.Kind))
	dst = appendLength(dst, number, size)
	dst = appendIf(dst, kindGroup, k.Group)
	dst = appendIf(dst, kindVersion, k.Version)
	return appendIf(dst, kindKind, k.Kind)
}

func (e *bundleEncoder) object(i int, p *declcfg.Property) {
	var o declcfg.BundleObject
	if !e.decode(i, p, &o) {
		return
	}
	manifest, err := o.JSON()
	if err != nil {
		e.fail(valuePointer(i)+"/data", fmt.Errorf("neither a JSON nor a YAML manifest: %w", err))
		return
	}
	e.objects = append(e.objects, manifest)
	if e.csv == 0 && declcfg.IsCSV(manifest) {
		e.csv = len(e.objects)
	}
}

// version returns the version of the bundle, "" where it has none that can be served.
func (e *bundleEncoder) version() string {
	p, err := e.bundle.PackageProperty()
	if err == nil {
		_, err = declcfg.ParseVersion(p.Version, p.Release)
	}
	if err == nil {
		return p.Version
	}
	for i := range e.bundle.Properties {
		if e.bundle.Properties[i].Type == declcfg.PropertyPackage && p != nil {
			e.failValue(i, err)
			return ""
		}
	}
	e.fail("/properties", err)
	return ""
}

// fields returns the fields of an api.Bundle that are the same in every channel, but for its manifests.
func (e *bundleEncoder) fields(version string) []byte {
	b := e.bundle
	size := len(b.Name) + len(b.Package) + len(b.Image) + len(version) + 16 +
		len(e.provided) + len(e.required) + len(e.dependencies) + len(e.properties)
	dst := appendIf(make([]byte, 0, size), bundleCSVName, b.Name)
	dst = appendIf(dst, bundlePackageName, b.Package)
	dst = appendIf(dst, bundlePath, b.Image)
	dst = append(dst, e.provided...)
	dst = append(dst, e.required...)
	dst = appendIf(dst, bundleVersion, version)
	dst = append(dst, e.dependencies...)
	return append(dst, e.properties...)
}

// body appends all that GetBundle needs of the bundle whatever the channel; see doc.go.
func (e *bundleEncoder) body(dst, fields []byte, version string) []byte {
	dst = appendField(dst, bodyFields, fields)
	for _, o := range e.objects {
		dst = appendField(dst, bodyObject, o)
	}
	switch {
	case e.csv > 0:
		dst = protowire.AppendTag(dst, bodyCSV, protowire.VarintType)
		dst = protowire.AppendVarint(dst, uint64(e.csv))
	case e.metadata > 0:
		dst = e.synthesize(dst, version)
	}
	return dst
}

// synthesize appends the ClusterServiceVersion that stands for the olm.csv.metadata.
func (e *bundleEncoder) synthesize(dst []byte, version string) []byte {
	p := &e.bundle.Properties[e.metadata-1]
	var metadata declcfg.CSVMetadata
	if !e.decode(e.metadata-1, p, &metadata) {
		return dst
	}
	return e.packer.appendCSV(dst, e.bundle, version, &metadata)
}
