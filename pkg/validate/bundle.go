package validate

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func (s *scope) bundle(b *declcfg.Bundle) {
	if b.Package == "" {
		s.add(ruleBundlePackage, "/package", "package name must be set for bundle %q", b.Name)
	}
	if b.Name == "" {
		s.add(ruleBundleName, "/name", "name must be set: the bundle has no name")
	} else if err := k8sname.Subdomain(b.Name); err != nil {
		s.add(ruleBundleNameDNS, "/name", "%q is not a valid ClusterServiceVersion name: %v", b.Name, err)
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
		at := place.Item("/properties", i)
		if p.Type == "" {
			s.add(rulePropertyType, at+"/type", "the property has no type")
		}
		s.propertyType(at, p.Type)
		if p.Type == declcfg.PropertyBundleObject && p.Value != nil {
			switch err := p.CheckManifest(); {
			case err == nil:
			case errors.Is(err, declcfg.ErrBrokenManifest):
				s.add(ruleBrokenManifest, at+"/value"+err.Pointer, "%v", err.Err)
			default:
				s.refused = with(s.refused, strconv.Itoa(i))
				s.add(ruleBundleObject, at+"/value"+err.Pointer, "parse properties for bundle %q: property of type %q: %v",
					b.Name, p.Type, err.Err)
			}
			continue
		}
		if !s.checker.Decodable(i) && p.Check() != nil {
			s.refused = with(s.refused, strconv.Itoa(i))
			s.badValue(at+"/value", p)
			continue
		}
		if check, ok := valueChecks[p.Type]; ok {
			check(s, at+"/value", p)
		}
	}
}

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
		s.add(rulePropertyValue, at+ptr, "parse properties for bundle %q: property of type %q: %v", s.meta.Name, p.Type, err)
	}
}

// packageProperty checks the identity of the bundle: its package, version and release.
func (s *scope) packageProperty(b *declcfg.Bundle) {
	value, err := b.PackageProperty()
	if err != nil {
		if _, bad := errors.AsType[*declcfg.ValueError](err); !bad { // properties reports a bad value
			s.add(rulePackageProperty, "/properties", "package %q bundle %q must have exactly 1 %q property, found %d",
				b.Package, b.Name, declcfg.PropertyPackage, count(b, declcfg.PropertyPackage))
		}
		return
	}
	isPackage := func(p declcfg.Property) bool { return p.Type == declcfg.PropertyPackage }
	at := place.Item("/properties", slices.IndexFunc(b.Properties, isPackage)) + "/value"
	if value.PackageName != b.Package && b.Package != "" {
		why := ""
		if found := legible.WhiteSpace(value.PackageName, ""); found != "" {
			why = ": " + found
		}
		s.add(rulePackagePropertyName, at+"/packageName", "package %q does not match %q property %q%s",
			b.Package, declcfg.PropertyPackage, value.PackageName, why)
	}
	if value.Version == "" {
		s.add(ruleBundleVersion, at+"/version", "error parsing bundle %q version %q: the property has no version", b.Name, "")
		return
	}
	version, err := declcfg.ParseVersion(value.Version, "")
	if err != nil {
		s.add(ruleBundleVersion, at+"/version", "error parsing bundle %q version %q: %v", b.Name, value.Version, err)
		return
	}
	release, err := declcfg.ParseRelease(value.Release)
	if err != nil {
		s.add(ruleBundleRelease, at+"/release", "%v", err)
		return
	}
	if version.Release = release; release == nil {
		return
	}
	if len(version.Semver.Build) > 0 {
		s.add(ruleBundleRelease, at+"/version",
			"cannot use build metadata in version with a release version: version %q, release %q", value.Version, value.Release)
		return
	}
	if want := version.CanonicalName(b.Package); b.Name != want {
		s.add(ruleBundleRelease, "/name", "name %q does not match normalized name %q of a bundle with release %q",
			b.Name, want, value.Release)
	}
}

func (s *scope) image(b *declcfg.Bundle) {
	if b.Image == "" {
		rule := ruleBundleImage
		if count(b, declcfg.PropertyBundleObject) > 0 {
			rule = ruleSchema // the bundle can be installed from its manifests
		}
		s.add(rule, "/image", "bundle image must be set: bundle %q has none", b.Name)
		return
	}
	s.imageReference(b.Image, "/image", s.v.opts.Policy.bundleImages())
}

// imageReference reports an image reference that is not valid, or that the policy does not allow.
func (s *scope) imageReference(image string, at jsontext.Pointer, from origin) (hasDigest, ok bool) {
	if s.v.opts.Transport {
		image = reference.WithoutTransport(image)
	}
	hasDigest, err := s.checker.images.parse(image)
	rule, err := from.judge(image, err)
	if rule != nil {
		if f := s.add(rule, at, "%v", err); f != nil && rule == from.rule {
			f.cause = hostOf(image)
		}
	}
	return hasDigest, rule != ruleImageReference
}

// Image returns the problem of a bundle image in a file that is not a catalog, such as a template, or nil if there is
// none: the problem that [Catalog] reports for the same image of a bundle. Its position and path are zero. Rules that
// the options disable are reported, too.
func (o *Options) Image(image string) *problem.Problem {
	_, err := new(images).parse(image)
	from := o.Policy.bundleImages()
	rule, err := from.judge(image, err)
	if rule == nil {
		return nil
	}
	p := new(validator).problem(rule, declcfg.Pos{}, nil, "", err.Error())
	if rule == from.rule {
		p.Cause = hostOf(image)
	}
	return p
}

// judge returns the rule that an image breaks and the reason, or nil. err is the error of parsing the reference.
func (o origin) judge(image string, err error) (*problem.Rule, error) {
	if err != nil {
		return ruleImageReference, fmt.Errorf("%q is not a valid image reference: %w", legible.Value(image), err)
	}
	if err := o.check(image); err != nil {
		return o.rule, err
	}
	return nil, nil
}

// hostOf returns the registry of an image, the probable cause of problems with several of its images.
func hostOf(image string) string {
	host, _, _ := strings.Cut(image, "/")
	return host
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
		at := place.Item("/relatedImages", i) + "/image"
		if image == "" {
			s.add(ruleRelatedImageEmpty, at, "related image %q is empty", images[i].Name)
			continue
		}
		if hasDigest, ok := s.imageReference(image, at, s.v.opts.Policy.relatedImages()); ok && !hasDigest {
			if tags == 0 {
				first = i
			}
			tags++
		}
	}
	if tags > 0 {
		s.add(ruleRelatedImageTag, place.Item("/relatedImages", first)+"/image",
			"%d of %d related images have no digest, first %q", tags, len(images), images[first].Image)
	}
}

var bundleRules = &problem.Group{Title: "Bundles", Rules: []*problem.Rule{
	ruleBundlePackage, ruleBundleName, ruleBundleNameDNS, ruleDuplicateBundle, ruleBundleChannel, rulePackageProperty,
	rulePackagePropertyName, ruleBundleVersion, ruleBundleRelease, ruleBundleImage, ruleImageReference,
	ruleRelatedImageEmpty, ruleRelatedImageTag,
}}

var (
	ruleBundlePackage = &problem.Rule{Name: "bundle-package", Severity: problem.Error,
		Summary: "a bundle belongs to a package of the catalog",
		Reason:  "Upstream rejects bundles of unknown packages.",
		Fix:     "correct the package, or add its olm.package"}
	ruleBundleName = &problem.Rule{Name: "bundle-name", Severity: problem.Error,
		Summary: "a bundle has a name",
		Reason:  "Channels refer to bundles by name.",
		Fix:     "give the bundle a name"}
	ruleBundleNameDNS = &problem.Rule{Name: "bundle-name-dns", Severity: problem.Warning,
		Summary: "the name of a bundle is a valid name of a Kubernetes object",
		Reason:  "OLM Classic installs a bundle as a ClusterServiceVersion of the same name, which must be a DNS subdomain.",
		Fix:     "rename the bundle"}
	ruleDuplicateBundle = &problem.Rule{Name: "duplicate-bundle", Severity: problem.Error,
		Summary: "a bundle is defined once in its package",
		Reason:  "Upstream rejects a second definition.",
		Fix:     "remove one of the definitions"}
	ruleBundleChannel = &problem.Rule{Name: "bundle-channel", Severity: problem.Error,
		Summary: "every bundle is an entry of a channel",
		Reason:  "Upstream rejects bundles that no channel contains.",
		Fix:     "add it to a channel, or remove it"}
	rulePackageProperty = &problem.Rule{Name: "package-property", Severity: problem.Error,
		Summary: "a bundle has exactly one property olm.package",
		Reason:  "It contains the version of the bundle.",
		Fix:     "add one with packageName and version"}
	rulePackagePropertyName = &problem.Rule{Name: "package-property-name", Severity: problem.Error,
		Summary: "the property olm.package names the package of the bundle",
		Reason:  "OLM resolves dependencies by the property; registries serve the bundle by its package.",
		Fix:     "make them equal"}
	ruleBundleVersion = &problem.Rule{Name: "bundle-version", Severity: problem.Error,
		Summary: "the version of a bundle is a semantic version",
		Reason:  "Updates and dependencies compare versions: three numbers, optionally followed by -prerelease and +build."}
	ruleBundleRelease = &problem.Rule{Name: "bundle-release", Severity: problem.Error,
		Summary: "a release is valid and part of the name of the bundle",
		Reason: "A release distinguishes bundles of one version: at most 20 letters, digits, hyphens and dots. The bundle " +
			"is named PACKAGE-vVERSION-RELEASE, and the version has no build metadata."}
	ruleBundleImage = &problem.Rule{Name: "bundle-image", Severity: problem.Error,
		Summary: "a bundle has an image or contains its manifests",
		Reason:  "Otherwise there is nothing to install.",
		Fix:     "set image"}
	ruleImageReference = &problem.Rule{Name: "image-reference", Severity: problem.Error,
		Summary: "images are valid references",
		Reason:  "Upstream rejects references that no container tool can pull.",
		Fix:     "write it like registry.example/name@sha256:…"}
	ruleRelatedImageEmpty = &problem.Rule{Name: "related-image-empty", Severity: problem.Warning,
		Summary: "related images are not empty",
		Reason:  "Mirroring tools copy related images. An image that is not named is not copied.",
		Fix:     "name the image, or remove the entry"}
	ruleRelatedImageTag = &problem.Rule{Name: "related-image-tag", Severity: problem.Info,
		Summary: "related images have digests",
		Reason:  "Tags can move, and clusters that mirror by digest do not find an image by tag.",
		Fix:     "refer to them by digest"}
)

const (
	maxObject  = 1 << 20 // bytes in a ConfigMap
	maxMessage = 4 << 20 // bytes in a gRPC message that clients accept by default
)

// sizes checks that each manifest fits into a ConfigMap, and the bundle into a gRPC message of the registry.
func (s *scope) sizes(b *declcfg.Bundle) {
	message, manifests := 0, 0
	for i := range b.Properties {
		p := &b.Properties[i]
		switch size := len(p.Value); p.Type {
		case declcfg.PropertyBundleObject:
			size = base64.StdEncoding.DecodedLen(size) // the JSON around the base64 text is negligible
			var object declcfg.BundleObject
			if size > maxObject && p.Unmarshal(&object) == nil && len(object.Data) > maxObject {
				s.add(ruleObjectSize, place.Item("/properties", i)+"/value", "the manifest has %d bytes; a ConfigMap holds %d",
					len(object.Data), maxObject)
			}
			manifests += size
		case declcfg.PropertyCSVMetadata:
			message += 2 * size // a registry sends the CSV generated from it twice
		default:
			message += size
		}
	}
	if message += manifests; message+manifests > maxMessage {
		csv, _ := b.ManifestCSV() // a registry also sends the CSV in a field of its own
		message += len(csv)
	}
	if message > maxMessage {
		remedy := "shorten its properties, such as the examples and the description in olm.csv.metadata"
		if manifests > 0 {
			remedy = "migrate it to olm.csv.metadata"
		}
		s.add(ruleMessageSize, "", "the bundle needs a gRPC message of about %d bytes; clients accept %d: %s",
			message, maxMessage, remedy)
	}
}

// images parses image references. It caches the repositories of valid references, because most references of a catalog
// repeat a repository, and the regular expressions of the library are slow.
type images struct {
	repositories map[string]bool
}

const (
	maxRepositories = 10_000 // maximum size of the cache; a large catalog has 1,500
	maxRepository   = 255    // maximum length of a cached repository in bytes
)

// parse reports whether a reference has a digest. The error comes from the library.
func (r *images) parse(image string) (hasDigest bool, err error) {
	repository, hasDigest := repositoryOf(image)
	if r.repositories[repository] {
		return hasDigest, nil
	}
	if hasDigest, err = reference.CheckImage(image); err != nil {
		return false, err
	}
	if repository != "" && len(repository) <= maxRepository {
		if r.repositories == nil || len(r.repositories) == maxRepositories {
			r.repositories = make(map[string]bool)
		}
		r.repositories[repository] = true
	}
	return hasDigest, nil
}

// repositoryOf returns the repository of a reference that ends with a valid tag, a valid SHA-256 digest, or both. It
// returns "" for other references, because their validity may depend on more than the repository.
func repositoryOf(image string) (repository string, hasDigest bool) {
	name, digest, hasDigest := strings.Cut(image, "@")
	if hasDigest && !isSHA256(digest) {
		return "", false
	}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		if !isTag(name[i+1:]) {
			return "", false
		}
		name = name[:i]
	}
	if name == image {
		return "", false
	}
	return name, hasDigest
}

const (
	hexDigits = "0123456789abcdef"
	tagLetter = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789"
)

func isSHA256(digest string) bool {
	sum, ok := strings.CutPrefix(digest, "sha256:")
	return ok && len(sum) == 64 && strings.Trim(sum, hexDigits) == ""
}

func isTag(tag string) bool {
	rest := strings.TrimLeft(tag, tagLetter)
	return tag != rest && len(tag) <= 128 && strings.Trim(rest, tagLetter+".-") == ""
}
