package validate

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// bundle checks an olm.bundle by itself.
func (s *scope) bundle(b *declcfg.Bundle) {
	if b.Package == "" {
		s.add("bundle-package", "/package", "the bundle has no package")
	}
	if b.Name == "" {
		s.add("bundle-name", "/name", "the bundle has no name")
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

// properties checks the types of properties, and that values can be decoded as their type.
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
				s.add("bundle-object", at+"/value"+err.Pointer, "property of type %q: %v", p.Type, err.Err)
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

// badValue reports what in the value of p cannot be decoded.
func (s *scope) badValue(at jsontext.Pointer, p *declcfg.Property) {
	check := func(value jsontext.Value) (jsontext.Pointer, error) {
		err := (&declcfg.Property{Type: p.Type, Value: value}).Check()
		if bad, ok := errors.AsType[*declcfg.ValueError](err); ok {
			return bad.Pointer, bad.Err
		}
		return "", err
	}
	for ptr, err := range typeErrors(p.Value, check) {
		s.add("property-value", at+ptr, "property of type %q: %v", p.Type, err)
	}
}

// packageProperty checks the identity of the bundle: its package, version and release.
func (s *scope) packageProperty(b *declcfg.Bundle) {
	value, err := b.PackageProperty()
	if err != nil {
		if _, bad := errors.AsType[*declcfg.ValueError](err); !bad { // that was reported by properties
			s.add("package-property", "/properties", "%v", err)
		}
		return
	}
	at := s.propertyAt(b, declcfg.PropertyPackage)
	if value.PackageName != b.Package && b.Package != "" {
		s.add("package-property-name", at+"/packageName", "the property names package %q, but the bundle belongs to %q",
			value.PackageName, b.Package)
	}
	if value.Version == "" {
		s.add("bundle-version", at+"/version", "the property has no version")
		return
	}
	version, err := declcfg.ParseVersion(value.Version, "")
	if err != nil {
		s.add("bundle-version", at+"/version", "%v", err)
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
		s.add("bundle-release", at+"/version", "version %q has build metadata in addition to release %q",
			value.Version, value.Release)
		return
	}
	if want := version.CanonicalName(b.Package); b.Name != want {
		s.add("bundle-release", "/name", "a bundle with release %q must be named %q, not %q",
			value.Release, want, b.Name)
	}
}

// propertyAt returns the place of the value of the first property of that type.
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
			rule = "schema" // the manifests can be installed
		}
		s.add(rule, "/image", "bundle %q has no image", b.Name)
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
