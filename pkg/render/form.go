package render

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Form is how bundles carry their manifests.
type Form string

// The forms. "" keeps the form of each bundle.
const (
	FormObject   Form = "object"   // properties of type olm.bundle.object; see [bundle.ToObjects]
	FormMetadata Form = "metadata" // a property of type olm.csv.metadata with what users see; see [bundle.ToMetadata]
)

// Forms returns all forms.
func Forms() []Form { return []Form{FormObject, FormMetadata} }

// TargetForm returns the form that the registries of a target read. A target is a release of OpenShift, such as
// ocp=4.16: since 4.17 they read the metadata, before that they need the objects.
func TargetForm(target string) (Form, error) {
	const since = 17
	platform, version, ok := strings.Cut(target, "=")
	if !ok || platform != "ocp" {
		return "", fmt.Errorf("target %q: want ocp=VERSION, such as ocp=4.16", target)
	}
	major, minor, ok := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	x, errMajor := strconv.ParseUint(major, 10, 16)
	y, errMinor := strconv.ParseUint(minor, 10, 16)
	if !ok || errors.Join(errMajor, errMinor) != nil || x < 4 {
		return "", fmt.Errorf("target %q: %q is not a version of OpenShift 4 or later, such as 4.16", target, version)
	}
	if x == 4 && y < since {
		return FormObject, nil
	}
	return FormMetadata, nil
}

// FormOf returns the form of a bundle, "" if it carries neither manifests nor metadata, or both.
func FormOf(b *declcfg.Bundle) Form {
	has := func(typ string) bool {
		return slices.ContainsFunc(b.Properties, func(p declcfg.Property) bool { return p.Type == typ })
	}
	switch objects, metadata := has(declcfg.PropertyBundleObject), has(declcfg.PropertyCSVMetadata); {
	case objects == metadata:
		return ""
	case objects:
		return FormObject
	}
	return FormMetadata
}

// convert converts b to the form. It does not change a bundle without manifests and metadata properties: registries
// read what they need from its image.
func (f Form) convert(b *declcfg.Bundle) error {
	if !slices.ContainsFunc(b.Properties, func(p declcfg.Property) bool { return bulk(p) == 1 }) {
		return nil
	}
	switch f {
	case FormObject:
		return bundle.ToObjects(b)
	case FormMetadata:
		return bundle.ToMetadata(b)
	}
	return nil
}
