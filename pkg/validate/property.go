package validate

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
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
	"olm.label.required", "olm.substitutesFor",
}

// propertyType reports a property type that has the prefix olm. but is not known.
func (s *scope) propertyType(at jsontext.Pointer, typ string) {
	if strings.HasPrefix(typ, "olm.") && !slices.Contains(knownProperties, typ) {
		s.add(ruleUnknownProperty, at+"/type", "unknown property type %q%s", typ, nearest.Hint(typ, knownProperties))
	}
}

// otherProperties checks the properties of packages and channels; OLM uses none of them.
func (s *scope) otherProperties(properties []declcfg.Property) {
	for i := range properties {
		s.propertyType(place.Item("/properties", i), properties[i].Type)
	}
}

func (s *scope) packageRequired(at jsontext.Pointer, p *declcfg.Property) {
	var required declcfg.PackageRequired
	if p.Unmarshal(&required) != nil { // properties checked this
		return
	}
	s.name(at+"/packageName", required.PackageName)
	s.requiredRange(ruleRequiredRange, at+"/versionRange", required.VersionRange)
}

func (s *scope) deprecated(at jsontext.Pointer, _ *declcfg.Property) {
	s.add(ruleDeprecatedProperty, at.Parent()+"/type", "OLM Classic never installs bundles with property %s",
		declcfg.PropertyDeprecated)
}

// maxOpenShiftVersion checks that a number has the form X.Y, which OLM Classic and OLM v1 read alike; package schemas
// checks strings.
func (s *scope) maxOpenShiftVersion(at jsontext.Pointer, p *declcfg.Property) {
	if p.Value.Kind() != '0' {
		return
	}
	rule := ruleMaxOpenShiftVersion
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
		s.add(ruleMetadataForm, "/properties", "the bundle has neither %s nor %s",
			declcfg.PropertyCSVMetadata, declcfg.PropertyBundleObject)
	case objects > 0 && metadata > 0:
		s.add(ruleMetadataForm, "/properties", "the bundle has both %s and %s",
			declcfg.PropertyCSVMetadata, declcfg.PropertyBundleObject)
	}
	if metadata > 1 {
		s.add(ruleCSVMetadataCount, "/properties", "the bundle has %d properties of type %s",
			metadata, declcfg.PropertyCSVMetadata)
	}
	if n := count(b, declcfg.PropertyMaxOpenShiftVersion); n > 1 {
		s.add(ruleMaxOpenShiftVersion, "/properties", "the bundle has %d properties of type %s",
			n, declcfg.PropertyMaxOpenShiftVersion)
	}
}

// hasNoCSV reports whether a bundle has neither olm.csv.metadata nor a ClusterServiceVersion in olm.bundle.object.
func hasNoCSV(b *declcfg.Bundle) bool {
	if count(b, declcfg.PropertyCSVMetadata) > 0 {
		return false
	}
	csv, err := b.ManifestCSV()
	return csv == nil && err == nil // otherwise, the manifest that cannot be decoded may be the ClusterServiceVersion
}

// headMetadata reports channels whose head has no metadata.
func (r *relations) headMetadata(p *declcfg.PackageIndex) {
	lacks := func(b declcfg.Indexed[declcfg.BundleSummary]) bool { return r.noCSV[b.Meta.Key()] }
	if !slices.ContainsFunc(p.Bundles, lacks) {
		return
	}
	for _, h := range headsOf(p) {
		if r.noCSV[h.bundle.Key()] {
			r.of(h.channel).add(ruleHeadMetadata, h.at,
				"the head %q has neither %s nor a ClusterServiceVersion in %s, so the package server of OLM does not show the "+
					"channel", h.bundle.Name, declcfg.PropertyCSVMetadata, declcfg.PropertyBundleObject)
		}
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
		s.add(ruleV1Dependency, place.Item("/properties", first)+"/type", "OLM v1 refuses a bundle with dependencies (%s)",
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
			s.add(ruleDuplicateGVK, place.Item("/properties", i)+"/value", "kind %s of %s/%s is already in properties[%d]",
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

var propertyRules = &problem.Group{Title: "Properties", Rules: []*problem.Rule{
	rulePropertyValue, rulePropertyType, ruleUnknownProperty, ruleBundleObject, ruleBrokenManifest, ruleRequiredRange,
	ruleConstraint, ruleMaxOpenShiftVersion, ruleDeprecatedProperty, ruleMetadataForm, ruleHeadMetadata,
	ruleCSVMetadataCount,
	ruleV1Dependency, ruleDuplicateGVK, ruleObjectSize, ruleMessageSize,
}}

var (
	rulePropertyValue = &problem.Rule{Name: "property-value", Severity: problem.Error,
		Summary: "a property has a value that can be decoded as its type",
		Reason:  "Upstream rejects a property without a value, and a property of the format whose value it cannot decode."}
	rulePropertyType = &problem.Rule{Name: "property-type", Severity: problem.Warning,
		Summary: "a property has a type",
		Reason:  "No tool can use a property without a type.",
		Fix:     "add a type, or remove the property"}
	ruleUnknownProperty = &problem.Rule{Name: "unknown-property", Severity: problem.Warning,
		Summary: "properties whose types begin with olm. are known to OLM",
		Reason:  "The prefix is reserved, and OLM ignores properties of an unknown type. It is often a typo.",
		Fix:     "use a type that OLM knows, or one with a prefix of your own"}
	ruleBundleObject = &problem.Rule{Name: "bundle-object", Severity: problem.Error,
		Summary: "the property olm.bundle.object holds a manifest in base64",
		Reason:  "Upstream decodes every manifest when it loads a catalog.",
		Fix:     "encode the manifest, JSON or YAML, in base64"}
	ruleBrokenManifest = &problem.Rule{Name: "broken-manifest", Severity: problem.Warning,
		Summary: "a manifest in olm.bundle.object that begins with { is JSON or YAML",
		Reason:  "Upstream loads such a catalog without reading the manifest, but OLM cannot install the bundle.",
		Fix:     "encode the whole manifest, JSON or YAML, in base64"}
	ruleRequiredRange = &problem.Rule{Name: "required-range", Severity: problem.Warning,
		Summary: "the range of olm.package.required is a valid version range",
		Reason:  "OLM Classic stops resolving the whole namespace at a range that it cannot parse.",
		Fix:     `write it like ">=1.0.0 <2.0.0"`}
	ruleConstraint = &problem.Rule{Name: "constraint", Severity: problem.Warning,
		Summary: "the property olm.constraint is a constraint that OLM can read",
		Reason: "OLM Classic stops resolving the whole namespace at an unknown key, a range that it cannot parse, a rule " +
			"that does not compile to a bool, or more than 131,072 bytes."}
	ruleMaxOpenShiftVersion = &problem.Rule{Name: "max-openshift-version", Severity: problem.Warning,
		Summary: "the property olm.maxOpenShiftVersion is one version X.Y",
		Reason: "OpenShift blocks cluster upgrades while an installed operator has several versions or one that cannot be " +
			"parsed.",
		Fix: `set one version like "4.20", in quotes`}
	ruleDeprecatedProperty = &problem.Rule{Name: "deprecated-property", Severity: problem.Warning,
		Summary: "bundles do not have the property olm.deprecated",
		Reason:  "OLM Classic never installs such a bundle, and resolution fails where one is installed.",
		Fix:     "use an olm.deprecations object instead"}
	ruleMetadataForm = &problem.Rule{Name: "metadata-form", Severity: problem.Info,
		Summary: "a bundle has its metadata in one of two forms, olm.csv.metadata or olm.bundle.object",
		Reason:  "With neither, consoles show nothing about the bundle; with both, readers differ in which one they use.",
		Fix:     "render the bundle again, or migrate the catalog"}
	ruleHeadMetadata = &problem.Rule{Name: "head-metadata", Severity: problem.Warning,
		Summary: "the head of a channel has olm.csv.metadata, or its ClusterServiceVersion in olm.bundle.object",
		Reason: "The package server of OLM describes a channel by the metadata of its head. It does not show a channel " +
			"whose head has none, nor a package without any other channel, so that users of consoles cannot find it.",
		Fix: "render the bundle again, or migrate the catalog"}
	ruleCSVMetadataCount = &problem.Rule{Name: "csv-metadata-count", Severity: problem.Warning,
		Summary: "a bundle has at most one property olm.csv.metadata",
		Reason:  "Registries refuse to serve a bundle with more than one.",
		Fix:     "keep one of them"}
	ruleV1Dependency = &problem.Rule{Name: "v1-dependency", Severity: problem.Info,
		Summary: "bundles have no dependencies, which OLM v1 rejects",
		Reason:  "OLM v1 rejects a bundle that requires packages, APIs or constraints, after it has chosen it.",
		Fix:     "remove them to support OLM v1"}
	ruleDuplicateGVK = &problem.Rule{Name: "duplicate-gvk", Severity: problem.Warning,
		Summary: "a bundle lists a kind that it provides once",
		Reason: "OLM Classic allows one provider of a kind in a namespace and counts the bundle twice, so it can never " +
			"install it.",
		Fix: "remove the second property"}
	ruleObjectSize = &problem.Rule{Name: "object-size", Severity: problem.Warning,
		Summary: "a manifest fits into a ConfigMap of 1 MiB",
		Reason:  "OLM Classic unpacks manifests into ConfigMaps.",
		Fix:     "shorten the manifest, for example descriptions in a CRD"}
	ruleMessageSize = &problem.Rule{Name: "message-size", Severity: problem.Warning,
		Summary: "a bundle fits into a gRPC message of 4 MiB",
		Reason: "Clients of a registry reject larger messages. Manifests can be left out with opm migrate; what is left is " +
			"shortened by the author of the bundle."}
)

// parseRange parses a version range as OLM does. The error is the reason without text itself.
func parseRange(text string) (graph.Range, error) {
	why := "it is empty"
	if text != "" {
		in, err := graph.ParseRange(text)
		if err == nil {
			return in, nil
		}
		why = err.Error()
		if _, detail, ok := strings.Cut(why, `": `); ok && strings.HasPrefix(why, "Could not parse Range ") {
			why = strings.Replace(detail, "Could not parse", "cannot parse the", 1)
		}
	}
	return graph.Range{}, legible.ExplainWhiteSpace(errors.New(why), text, " ")
}

// requiredRange checks the version range of a dependency.
func (s *scope) requiredRange(rule *problem.Rule, at jsontext.Pointer, text string) {
	switch in, err := parseRange(text); {
	case err != nil:
		s.add(rule, at, "%q is not a valid version range: %v", text, err)
	case in.Empty():
		s.add(ruleEmptyRange, at, "no version is in the range %q", text)
	}
}
