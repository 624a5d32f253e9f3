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

// The forms. "" is any.
const (
	FormObject   Form = "object"   // as properties of type olm.bundle.object; see [bundle.ToObjects]
	FormMetadata Form = "metadata" // what users see of them, as olm.csv.metadata; see [bundle.ToMetadata]
)

// Forms returns the names of all, as the command line knows them.
func Forms() []string { return []string{string(FormObject), string(FormMetadata)} }

// TargetForm returns the form that the registries of a target read: ocp=4.16, a release of OpenShift. Those since 4.17
// take the metadata, and those before need the objects.
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
		return "", fmt.Errorf("target %q: %q is no version of OpenShift 4 or later, such as 4.16", target, version)
	}
	if x == 4 && y < since {
		return FormObject, nil
	}
	return FormMetadata, nil
}

// bring brings b into the form. A bundle without any property that holds manifests or their metadata stays as it is:
// registries read what they need of it from its image.
func (f Form) bring(b *declcfg.Bundle) error {
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
