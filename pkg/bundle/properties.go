package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// annotationProperties is the annotation of a ClusterServiceVersion with properties, as JSON.
const annotationProperties = "olm.properties"

// A candidate is a property that an author wrote, with its place.
type candidate struct {
	declcfg.Property
	doc *document
	ptr jsontext.Pointer
}

// properties merges the properties of a bundle from all their sources. They are sorted by type and by the text of their
// value. Exactly one is of type olm.package.
func (p *parser) properties(m *manifests, meta *metadata, c *csv, all *apis) []declcfg.Property {
	list := p.declared(m, meta, c, all)
	list = append(list, m.objects...)
	list = append(list, p.dependencies(meta, all)...)
	for api := range all.provided {
		list = append(list, build(declcfg.PropertyGVK, api))
	}
	for api := range all.required {
		list = append(list, build(declcfg.PropertyGVKRequired, api))
	}
	slices.SortStableFunc(list, func(a, b declcfg.Property) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), bytes.Compare(a.Value, b.Value))
	})
	return list
}

// declared returns the properties that authors declare, each once. Of several olm.package properties, it returns the
// last. The kinds of olm.gvk properties are added to the provided kinds of all.
func (p *parser) declared(m *manifests, meta *metadata, c *csv, all *apis) []declcfg.Property {
	var list []declcfg.Property
	var pkg declcfg.PackageProperty
	for _, candidate := range p.candidates(m, meta, c) {
		switch candidate.Type {
		case declcfg.PropertyPackage:
			p.unmarshal(candidate, &pkg)
		case declcfg.PropertyGVK:
			var api declcfg.GVK
			if p.unmarshal(candidate, &api) {
				all.provided[api] = true
			}
		default:
			list = append(list, p.checked(candidate))
		}
	}
	return append(list, build(declcfg.PropertyPackage, pkg))
}

// candidates returns the properties of properties.yaml, the olm.package property from annotations.yaml, and the
// properties in the annotation of the ClusterServiceVersion, in this order and without duplicates.
func (p *parser) candidates(m *manifests, meta *metadata, c *csv) []candidate {
	var list []candidate
	for i, d := range meta.properties {
		list = append(list, candidate{d.property(), meta.from.properties, place.Item("/properties", i)})
	}
	pkg := build(declcfg.PropertyPackage, declcfg.PackageProperty{
		PackageName: string(meta.annotations.Package),
		Version:     c.Spec.Version,
		Release:     string(c.Spec.Release),
	})
	list = append(list, candidate{pkg, meta.from.annotations, "/annotations"})
	list = append(list, p.annotated(m.csv, c.Metadata.Annotations)...)

	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(c candidate) bool {
		key := c.Type + "\x00" + string(c.Value)
		repeated := seen[key]
		seen[key] = true
		return repeated
	})
}

// An annotatedProperty is a property in the annotation of a ClusterServiceVersion.
type annotatedProperty struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// annotated returns the readable properties in the annotation of a ClusterServiceVersion.
func (p *parser) annotated(m *manifest, annotations map[string]string) []candidate {
	value, ok := annotations[annotationProperties]
	if !ok {
		return nil
	}
	ptr := atAnnotations.AppendToken(annotationProperties)
	var properties []annotatedProperty
	if err := json.Unmarshal([]byte(value), &properties); err != nil {
		p.warn(m.errorIn(ptr, fmt.Errorf("want a list of properties as JSON: %w", err)))
	}
	var list []candidate
	for _, property := range properties {
		d := declaration{text(property.Type), jsontext.Value(property.Value)}
		list = append(list, candidate{d.property(), m.document, ptr})
	}
	return list
}

// dependencies returns the dependencies as properties, except kinds, which it adds to the required kinds of all.
func (p *parser) dependencies(meta *metadata, all *apis) []declcfg.Property {
	var list []declcfg.Property
	for i, d := range meta.dependencies {
		dependency := candidate{d.property(), meta.from.dependencies, place.Item("/dependencies", i)}
		switch dependency.Type {
		case declcfg.PropertyGVK:
			var api declcfg.GVKRequired
			if p.unmarshal(dependency, &api) {
				all.required[api] = true
			}
		case declcfg.PropertyPackage:
			var pkg declcfg.PackageProperty
			if p.unmarshal(dependency, &pkg) {
				required := declcfg.PackageRequired{PackageName: pkg.PackageName, VersionRange: pkg.Version}
				list = append(list, build(declcfg.PropertyPackageRequired, required))
			}
		default:
			list = append(list, p.checked(dependency))
		}
	}
	return list
}

// checked returns the property of a candidate. A manifest that cannot be read is an error if upstream refuses to load a
// catalog with such a manifest, and a warning otherwise.
func (p *parser) checked(c candidate) declcfg.Property {
	if c.Type == declcfg.PropertyBundleObject {
		switch err := c.CheckManifest(); {
		case err == nil:
		case errors.Is(err, declcfg.ErrBrokenManifest):
			p.warn(c.errorOf(err))
		default:
			p.fail(c.errorOf(err))
		}
	}
	return c.Property
}

// unmarshal decodes the value of a candidate.
func (p *parser) unmarshal(c candidate, v any) bool {
	err := c.Unmarshal(v)
	if err != nil {
		p.fail(c.errorOf(err))
	}
	return err == nil
}

// errorOf returns an error about the value of a candidate, with its place.
func (c candidate) errorOf(err error) *declcfg.Error {
	ptr := c.ptr
	if value, ok := errors.AsType[*declcfg.ValueError](err); ok && c.Value != nil {
		ptr += "/value" + value.Pointer
		err = value.Err
	}
	return c.doc.errorIn(ptr, err)
}

// build returns a property. The value must be encodable.
func build(typ string, value any) declcfg.Property {
	property, err := declcfg.NewProperty(typ, value)
	if err != nil {
		panic(err)
	}
	return property
}
