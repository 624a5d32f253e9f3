package declcfg

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/opm-toolchain/opm/internal/parallel"
)

// An Index holds the objects of a catalog by package, with only the fields that relate them to each other. It is small
// enough to hold the largest catalogs in memory: packages are packed until they are asked for. The zero value is empty.
// Goroutines may share an Index once all objects are added.
type Index struct {
	packages map[string]*packedPackage
}

// A PackageIndex holds the objects of one package, in the order in which they were read. In a valid catalog it has one
// olm.package.
type PackageIndex struct {
	Name         string
	Packages     []Indexed[Package] // without description and icon
	Channels     []Indexed[Channel]
	Bundles      []Indexed[BundleSummary]
	Deprecations []Indexed[Deprecations]
}

// A Subject is an object that a deprecation is about. The name of a package is "", as in its deprecation.
type Subject struct{ Schema, Name string }

// DeprecationMessages returns the message of each deprecation in the package.
func (p *PackageIndex) DeprecationMessages() map[Subject]string {
	messages := map[Subject]string{}
	for _, o := range p.Deprecations {
		if o.Value == nil {
			continue
		}
		for _, d := range o.Value.Entries {
			messages[Subject{d.Reference.Schema, d.Reference.Name}] = d.Message
		}
	}
	return messages
}

// An Indexed is one object of an index.
type Indexed[T any] struct {
	Meta  *Meta
	Value *T // nil if the object could not be decoded
}

// A BundleSummary is a bundle without its manifests.
type BundleSummary struct {
	Name    string
	Image   string
	Version *Version // nil unless there is exactly one olm.package property, with a version that can be parsed

	// Dependency is the type of the first property that declares a dependency, which OLM v1 refuses: olm.gvk.required,
	// olm.package.required or olm.constraint. It is "" if there is none.
	Dependency string

	Deprecated bool // has the property olm.deprecated, with which OLM Classic never installs it
}

// Summarize returns b without its manifests.
func (b *Bundle) Summarize() *BundleSummary {
	s := &BundleSummary{Name: b.Name, Image: b.Image}
	if v, err := b.Version(); err == nil {
		s.Version = &v
	}
	for i := range b.Properties {
		t := b.Properties[i].Type
		if k := slices.Index(dependencies, t); k >= 0 && s.Dependency == "" {
			s.Dependency = dependencies[k] // not t, which is part of the text of the bundle
		}
		s.Deprecated = s.Deprecated || t == PropertyDeprecated
	}
	return s
}

// dependencies are the types of properties for which OLM v1 refuses a bundle.
var dependencies = []string{PropertyGVKRequired, PropertyPackageRequired, PropertyConstraint}

// ReadIndex reads the objects of the sources into an index. It does not validate them. The error joins the errors of
// all objects that cannot be read, sorted by position.
func ReadIndex(ctx context.Context, sources ...Source) (*Index, error) {
	nothing := func(*Meta, any) (struct{}, error) { return struct{}{}, nil }
	return ReadIndexAnd(ctx, nothing, func(*Meta, struct{}) {}, sources...)
}

// ReadIndexAnd is [ReadIndex] for callers that need more of the objects. For each, part is passed the result of
// [Object.Decode], with the fields that the index drops; it runs on several goroutines, and its errors are joined with
// the others. Then keep is passed the result of part, for one object after the other. Several objects may share a part.
func ReadIndexAnd[P any](
	ctx context.Context, part func(m *Meta, v any) (P, error), keep func(*Meta, P), sources ...Source,
) (*Index, error) {
	type decoded struct {
		value any
		part  P
	}
	decode := func(o *Object) (decoded, error) {
		v, err := o.Decode()
		if err != nil {
			return decoded{}, err
		}
		p, err := part(o.Meta, v)
		return decoded{Slim(v), p}, err
	}
	x := &Index{}
	add := func(m *Meta, o decoded) {
		x.Add(m, o.value)
		keep(m, o.part)
	}
	return x, Collect(ctx, decode, add, sources...)
}

// Add adds the object of m. The value v is the result of [Slim], or nil if decoding failed. Objects of other schemas
// are not added. The index returns copies of m and v, with the [Meta.Key] of m.
func (x *Index) Add(m *Meta, v any) {
	if rank(m.Schema) == rankOther {
		return
	}
	name := m.Owner()
	p := x.packages[name]
	if p == nil {
		if x.packages == nil {
			x.packages = map[string]*packedPackage{}
		}
		p = &packedPackage{name: name}
		x.packages[name] = p
	}
	p.add(m, v)
}

func (p *PackageIndex) add(m *Meta, v any) {
	switch m.Schema {
	case SchemaPackage:
		p.Packages = append(p.Packages, indexed[Package](m, v))
	case SchemaChannel:
		p.Channels = append(p.Channels, indexed[Channel](m, v))
	case SchemaBundle:
		p.Bundles = append(p.Bundles, indexed[BundleSummary](m, v))
	case SchemaDeprecations:
		p.Deprecations = append(p.Deprecations, indexed[Deprecations](m, v))
	}
}

func indexed[T any](m *Meta, v any) Indexed[T] {
	value, _ := v.(*T)
	return Indexed[T]{m, value}
}

// Names returns the names of all packages, sorted. The first one is "" if there are objects without a package.
func (x *Index) Names() []string { return slices.Sorted(maps.Keys(x.packages)) }

// Definitions yields the names of all packages, sorted as by [Index.Names], each with its olm.package objects: one in a
// valid catalog.
func (x *Index) Definitions() iter.Seq2[string, []Indexed[Package]] {
	return func(yield func(string, []Indexed[Package]) bool) {
		for _, name := range x.Names() {
			if !yield(name, x.packages[name].definitions()) {
				return
			}
		}
	}
}

// Packages returns all packages, sorted by name as [Index.Names] does. They stay in memory; see [Index.Each].
func (x *Index) Packages() []*PackageIndex {
	var all []*PackageIndex
	for _, name := range x.Names() {
		all = append(all, x.Package(name))
	}
	return all
}

// Package returns the package of that name, or nil. It stays in memory, and is the same at the next call.
func (x *Index) Package(name string) *PackageIndex {
	if p := x.packages[name]; p != nil {
		return p.load()
	}
	return nil
}

// Each yields the packages of these names that exist or, without names, all packages in the order of [Index.Names].
// Unlike [Index.Packages] it unpacks only a few ahead, so that memory does not grow with the catalog; another iteration
// may yield other copies.
func (x *Index) Each(names ...string) iter.Seq[*PackageIndex] {
	return func(yield func(*PackageIndex) bool) {
		chosen := names
		if len(names) == 0 {
			chosen = x.Names()
		}
		for p := range parallel.Map(context.Background(), 0, slices.Values(chosen), x.view) {
			if p != nil && !yield(p) {
				return
			}
		}
	}
}

func (x *Index) view(name string) *PackageIndex {
	if p := x.packages[name]; p != nil {
		return p.view()
	}
	return nil
}

// Slim drops the fields of a decoded object that an index does not need: icons, descriptions, properties and unknown
// keys. A bundle becomes its [BundleSummary].
func Slim(v any) any {
	switch v := v.(type) {
	case *Package:
		v.Icon, v.Description, v.Properties, v.Unknown = nil, "", nil, nil
	case *Channel:
		v.Properties, v.Unknown = nil, nil
	case *Bundle:
		return v.Summarize()
	case *Deprecations:
		v.Unknown = nil
	}
	return v
}

// Images returns the references to the image of b and its related images, each once, in their order. A bundle with its
// manifests needs no image of its own.
func (b *Bundle) Images() []string {
	refs := make([]string, 0, 1+len(b.RelatedImages))
	seen := map[string]bool{"": true}
	add := func(ref string) {
		if !seen[ref] {
			seen[ref] = true
			refs = append(refs, ref)
		}
	}
	add(b.Image)
	for i := range b.RelatedImages {
		add(b.RelatedImages[i].Image)
	}
	return refs
}

// Version returns the version of b. It fails unless b has exactly one olm.package property, with a version that can be
// parsed.
func (b *Bundle) Version() (Version, error) {
	p, err := b.PackageProperty()
	if err != nil {
		return Version{}, err
	}
	return ParseVersion(p.Version, p.Release)
}

// PackageProperty returns the value of the olm.package property, of which b must have exactly one.
func (b *Bundle) PackageProperty() (*PackageProperty, error) {
	var found []*Property
	for i := range b.Properties {
		if b.Properties[i].Type == PropertyPackage {
			found = append(found, &b.Properties[i])
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("want exactly one property of type %s, found %d", PropertyPackage, len(found))
	}
	value := new(PackageProperty)
	return value, found[0].Unmarshal(value)
}

// Metas returns all objects of the package.
func (p *PackageIndex) Metas() []*Meta {
	var metas []*Meta
	metas = appendMetas(metas, p.Packages)
	metas = appendMetas(metas, p.Channels)
	metas = appendMetas(metas, p.Bundles)
	return appendMetas(metas, p.Deprecations)
}

func appendMetas[T any](metas []*Meta, all []Indexed[T]) []*Meta {
	for _, o := range all {
		metas = append(metas, o.Meta)
	}
	return metas
}
