package validate

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// bundle checks an olm.bundle on its own.
func (s *scope) bundle(b *declcfg.Bundle) {
	if b.Package == "" {
		s.add("bundle-package", "/package", "package name must be set for bundle %q", b.Name)
	}
	if b.Name == "" {
		s.add("bundle-name", "/name", "name must be set: the bundle has no name")
	} else if err := k8sname.Subdomain(b.Name); err != nil {
		s.add("bundle-name-dns", "/name", "%q is not a valid ClusterServiceVersion name: %v", b.Name, err)
	}
	s.properties(b)
	s.packageProperty(b)
	s.image(b)
	s.relatedImages(b.RelatedImages)
	s.metadata(b)
	s.sizes(b)
	s.dependencies(b.Properties)
	s.kinds(b.Properties)
}

// properties checks the types of properties, and that each value can be decoded as its type.
func (s *scope) properties(b *declcfg.Bundle) {
	for i := range b.Properties {
		p := &b.Properties[i]
		at := index("/properties", i)
		if p.Type == "" {
			s.add("property-type", at+"/type", "the property has no type")
		}
		s.propertyType(at, p.Type)
		if p.Type == declcfg.PropertyBundleObject && p.Value != nil {
			if err := p.CheckManifest(); err != nil {
				s.refuse(i)
				s.add("bundle-object", at+"/value"+err.Pointer, "parse properties for bundle %q: property of type %q: %v",
					b.Name, p.Type, err.Err)
			}
			continue
		}
		if !s.checker.Decodable(i) && p.Check() != nil {
			s.refuse(i)
			s.badValue(at+"/value", p)
			continue
		}
		if check, ok := valueChecks[p.Type]; ok {
			check(s, at+"/value", p)
		}
	}
}

func (s *scope) refuse(property int) { s.refused = with(s.refused, itoa(property)) }

// badValue reports the parts of the value of p that cannot be decoded.
func (s *scope) badValue(at jsontext.Pointer, p *declcfg.Property) {
	check := func(value jsontext.Value) (jsontext.Pointer, error) {
		err := (&declcfg.Property{Type: p.Type, Value: value}).Check()
		if bad, ok := errors.AsType[*declcfg.ValueError](err); ok {
			return bad.Pointer, bad.Err
		}
		return "", err
	}
	for ptr, err := range typeErrors(p.Value, check) {
		s.add("property-value", at+ptr, "parse properties for bundle %q: property of type %q: %v", s.meta.Name, p.Type, err)
	}
}

// packageProperty checks the identity of the bundle: its package, version and release.
func (s *scope) packageProperty(b *declcfg.Bundle) {
	value, err := b.PackageProperty()
	if err != nil {
		if _, bad := errors.AsType[*declcfg.ValueError](err); !bad { // properties reports a bad value
			s.add("package-property", "/properties", "package %q bundle %q must have exactly 1 %q property, found %d",
				b.Package, b.Name, declcfg.PropertyPackage, count(b, declcfg.PropertyPackage))
		}
		return
	}
	at := s.propertyAt(b, declcfg.PropertyPackage)
	if value.PackageName != b.Package && b.Package != "" {
		s.add("package-property-name", at+"/packageName", "package %q does not match %q property %q",
			b.Package, declcfg.PropertyPackage, value.PackageName)
	}
	if value.Version == "" {
		s.add("bundle-version", at+"/version", "error parsing bundle %q version %q: the property has no version", b.Name, "")
		return
	}
	version, err := declcfg.ParseVersion(value.Version, "")
	if err != nil {
		s.add("bundle-version", at+"/version", "error parsing bundle %q version %q: %v", b.Name, value.Version, err)
		return
	}
	release, err := declcfg.ParseRelease(value.Release)
	if err != nil {
		s.add("bundle-release", at+"/release", "%v", err)
		return
	}
	if version.Release = release; release == nil {
		return
	}
	if len(version.Semver.Build) > 0 {
		s.add("bundle-release", at+"/version",
			"cannot use build metadata in version with a release version: version %q, release %q", value.Version, value.Release)
		return
	}
	if want := version.CanonicalName(b.Package); b.Name != want {
		s.add("bundle-release", "/name", "name %q does not match normalized name %q of a bundle with release %q",
			b.Name, want, value.Release)
	}
}

// propertyAt returns the pointer to the value of the first property of the type, or to the properties if there is none.
func (s *scope) propertyAt(b *declcfg.Bundle, typ string) jsontext.Pointer {
	for i := range b.Properties {
		if b.Properties[i].Type == typ {
			return index("/properties", i) + "/value"
		}
	}
	return "/properties"
}

func (s *scope) image(b *declcfg.Bundle) {
	if b.Image == "" {
		rule := "bundle-image"
		if count(b, declcfg.PropertyBundleObject) > 0 {
			rule = "schema" // the bundle can be installed from its manifests
		}
		s.add(rule, "/image", "bundle image must be set: bundle %q has none", b.Name)
		return
	}
	if _, err := s.checker.images.parse(b.Image); err != nil {
		s.add("image-reference", "/image", "%q is not a valid image reference: %v", b.Image, err)
		return
	}
	s.registry(b.Image, "/image")
}

func count(b *declcfg.Bundle, typ string) (n int) {
	for i := range b.Properties {
		if b.Properties[i].Type == typ {
			n++
		}
	}
	return n
}

func (s *scope) relatedImages(images []declcfg.RelatedImage) {
	tags, first := 0, 0
	for i := range images {
		image := images[i].Image
		at := index("/relatedImages", i) + "/image"
		if image == "" {
			s.add("related-image-empty", at, "related image %q is empty", images[i].Name)
			continue
		}
		hasDigest, err := s.checker.images.parse(image)
		if err != nil {
			s.add("image-reference", at, "%q is not a valid image reference: %v", image, err)
			continue
		}
		s.registry(image, at)
		if !hasDigest {
			if tags == 0 {
				first = i
			}
			tags++
		}
	}
	if tags > 0 {
		s.add("related-image-tag", index("/relatedImages", first)+"/image",
			"%d of %d related images have no digest, first %q", tags, len(images), images[first].Image)
	}
}
