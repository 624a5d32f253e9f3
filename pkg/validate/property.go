package validate

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// valueChecks maps property types to checks of the value beyond its shape.
var valueChecks = map[string]func(*scope, jsontext.Pointer, *declcfg.Property){
	declcfg.PropertyPackageRequired:     (*scope).packageRequired,
	declcfg.PropertyConstraint:          (*scope).constraint,
	declcfg.PropertyMaxOpenShiftVersion: (*scope).maxOpenShiftVersion,
	declcfg.PropertyDeprecated:          (*scope).deprecated,
}

// knownProperties lists the property types that OLM or upstream's opm knows.
var knownProperties = []string{
	declcfg.PropertyPackage, declcfg.PropertyGVK, declcfg.PropertyCSVMetadata, declcfg.PropertyBundleObject,
	declcfg.PropertyPackageRequired, declcfg.PropertyGVKRequired, declcfg.PropertyConstraint,
	declcfg.PropertyMaxOpenShiftVersion, declcfg.PropertyChannel, declcfg.PropertyDeprecated, "olm.label",
	"olm.substitutesFor",
}

// propertyType reports a property type that has the prefix olm. but is not known.
func (s *scope) propertyType(at jsontext.Pointer, typ string) {
	if strings.HasPrefix(typ, "olm.") && !slices.Contains(knownProperties, typ) {
		s.add("unknown-property", at+"/type", "unknown property type %q%s", typ, nearest.Hint(typ, knownProperties))
	}
}

// otherProperties checks the properties of packages and channels; OLM uses none of them.
func (s *scope) otherProperties(properties []declcfg.Property) {
	for i := range properties {
		s.propertyType(index("/properties", i), properties[i].Type)
	}
}

func (s *scope) packageRequired(at jsontext.Pointer, p *declcfg.Property) {
	var required declcfg.PackageRequired
	if p.Unmarshal(&required) != nil { // properties checked this
		return
	}
	s.requiredRange("required-range", at+"/versionRange", required.VersionRange)
}

func (s *scope) deprecated(at jsontext.Pointer, _ *declcfg.Property) {
	s.add("deprecated-property", at.Parent()+"/type", "bundles with property %s are never installed",
		declcfg.PropertyDeprecated)
}

// maxOpenShiftVersion checks that a number has the form X.Y, which OLM Classic and OLM v1 read alike; package schemas
// checks strings.
func (s *scope) maxOpenShiftVersion(at jsontext.Pointer, p *declcfg.Property) {
	if p.Value.Kind() != '0' {
		return
	}
	const rule = "max-openshift-version"
	text := string(p.Value)
	switch major, minor, ok := strings.Cut(text, "."); {
	case !ok || !digits(major) || !digits(minor):
		s.add(rule, at, "want a version such as \"4.18\", found %s", text)
	case strings.HasSuffix(minor, "0") && len(minor) > 1:
		s.add(rule, at, "the number %s is read as %s; write it in quotes", text, strings.TrimRight(text, "0"))
	}
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// metadata checks that a bundle has its metadata in exactly one form, and at most one olm.maxOpenShiftVersion.
func (s *scope) metadata(b *declcfg.Bundle) {
	objects := count(b, declcfg.PropertyBundleObject)
	metadata := count(b, declcfg.PropertyCSVMetadata)
	switch {
	case objects == 0 && metadata == 0:
		s.add("metadata-form", "/properties", "the bundle has neither %s nor %s",
			declcfg.PropertyCSVMetadata, declcfg.PropertyBundleObject)
	case objects > 0 && metadata > 0:
		s.add("metadata-form", "/properties", "the bundle has both %s and %s",
			declcfg.PropertyCSVMetadata, declcfg.PropertyBundleObject)
	}
	if metadata > 1 {
		s.add("csv-metadata-count", "/properties", "the bundle has %d properties of type %s",
			metadata, declcfg.PropertyCSVMetadata)
	}
	if n := count(b, declcfg.PropertyMaxOpenShiftVersion); n > 1 {
		s.add("max-openshift-version", "/properties", "the bundle has %d properties of type %s",
			n, declcfg.PropertyMaxOpenShiftVersion)
	}
}

// dependencies reports a bundle with dependencies, which OLM v1 does not install.
func (s *scope) dependencies(properties []declcfg.Property) {
	var types []string
	first := 0
	for i := range properties {
		switch t := properties[i].Type; t {
		case declcfg.PropertyGVKRequired, declcfg.PropertyPackageRequired, declcfg.PropertyConstraint:
			if types == nil {
				first = i
			}
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	if types != nil {
		s.add("v1-dependency", index("/properties", first)+"/type", "OLM v1 refuses a bundle with dependencies (%s)",
			strings.Join(types, ", "))
	}
}

// kinds reports a kind that a bundle lists twice: OLM Classic treats this as two providers of the kind.
func (s *scope) kinds(properties []declcfg.Property) {
	if !mayRepeatKinds(properties) {
		return
	}
	first := map[declcfg.GVK]int{}
	for i := range properties {
		var kind declcfg.GVK
		if properties[i].Type != declcfg.PropertyGVK || properties[i].Unmarshal(&kind) != nil {
			continue
		}
		if before, ok := first[kind]; ok {
			s.add("duplicate-gvk", index("/properties", i)+"/value", "kind %s of %s/%s is already in properties[%d]",
				kind.Kind, kind.Group, kind.Version, before)
			continue
		}
		first[kind] = i
	}
}

// mayRepeatKinds reports whether two kinds may be equal, without the cost of decoding them.
func mayRepeatKinds(properties []declcfg.Property) bool {
	var buffer [64]uint32
	sums := buffer[:0]
	for i := range properties {
		if properties[i].Type != declcfg.PropertyGVK {
			continue
		}
		sum, ok := sumOfKind(properties[i].Value)
		if !ok {
			return true
		}
		sums = append(sums, sum)
	}
	slices.Sort(sums)
	return len(slices.Compact(sums)) < len(sums)
}

// sumOfKind returns a checksum that is equal for equal kinds, whatever the order of keys and the whitespace. It returns
// false for a value with escapes or other than the usual keys, which must be decoded.
func sumOfKind(value jsontext.Value) (sum uint32, ok bool) {
	quotes := 0
	for _, b := range value {
		switch b {
		case ' ', '\n', '\t', '\r':
			continue
		case '\\':
			return 0, false
		case '"':
			quotes++
		}
		sum += uint32(b) * uint32(b) // squared, because names often have the same letters in another order
	}
	ok = quotes == 12 && bytes.Contains(value, []byte(`"group"`)) && bytes.Contains(value, []byte(`"kind"`)) &&
		bytes.Contains(value, []byte(`"version"`))
	return sum, ok
}
