package platform

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// AnnotationVersions is the annotation of a bundle with the releases of OpenShift that it supports. Pipelines use it to
// choose the catalogs for a bundle; clusters do not read it. Catalogs do not contain the annotations of bundles, so
// there it is known only if the ClusterServiceVersion also has it.
const AnnotationVersions = "com.redhat.openshift.versions"

// A Supported is a range of releases of OpenShift.
type Supported struct {
	First Version
	Last  Version // zero if there is no last release
}

// ParseSupported reads the value of [AnnotationVersions]: v4.12 is this and every later release, v4.12-v4.14 a range,
// =v4.12 one release, and a list such as v4.8,v4.9 every release from the earliest on.
func ParseSupported(text string) (Supported, error) {
	var first, last []string
	if one, exact := strings.CutPrefix(text, "="); exact {
		first, last = []string{one}, []string{one}
	} else if from, to, isRange := strings.Cut(text, "-"); isRange {
		first, last = []string{from}, []string{to}
	} else {
		first = strings.Split(text, ",")
	}
	from, err := earliest(first)
	to, errLast := earliest(last)
	if err != nil || errLast != nil {
		return Supported{}, fmt.Errorf("%q is not a range of releases, such as v4.12, v4.12-v4.14 or =v4.12", text)
	}
	if len(last) > 0 && from.After(to) {
		return Supported{}, fmt.Errorf("%q is not a range of releases: it is empty, because %s is after %s", text, from, to)
	}
	return Supported{from, to}, nil
}

// Releases returns the known releases of OpenShift that the range contains, and the known releases that it does not
// contain, both in order.
func (s Supported) Releases() (contained, missed []Version) {
	for _, p := range releases {
		if s.Contains(p.OpenShift) {
			contained = append(contained, p.OpenShift)
		} else {
			missed = append(missed, p.OpenShift)
		}
	}
	return contained, missed
}

// IsOutdated reports whether the range ends before the first known release, the oldest one with a published catalog.
func (s Supported) IsOutdated() bool {
	return s.Last != Version{} && releases[0].OpenShift.After(s.Last)
}

// earliest returns the earliest of the given releases, such as v4.12, or the zero Version if there are none.
func earliest(texts []string) (least Version, err error) {
	for i, text := range texts {
		number, ok := strings.CutPrefix(strings.TrimSpace(text), "v")
		v, err := ParseVersion(number)
		if !ok || err != nil {
			return Version{}, errors.New("not a release")
		}
		if i == 0 || least.After(v) {
			least = v
		}
	}
	return least, nil
}

// Contains reports whether the range contains a release.
func (s Supported) Contains(v Version) bool {
	return !s.First.After(v) && (s.Last == Version{} || !v.After(s.Last))
}

// String returns a text for people, such as 4.12 and later.
func (s Supported) String() string {
	switch s.Last {
	case Version{}:
		return s.First.String() + " and later"
	case s.First:
		return s.First.String()
	}
	return s.First.String() + " to " + s.Last.String()
}

// Unsupported returns the reason why the platform does not support a bundle, or "" if it does. releases is the value of
// AnnotationVersions of the bundle, which its object may not have.
func (p Platform) Unsupported(b *declcfg.Bundle, releases string) string {
	if supported, err := ParseSupported(releases); err == nil && p.OpenShift != (Version{}) &&
		!supported.Contains(p.OpenShift) {
		return fmt.Sprintf("it is for %s (%s)", supported, AnnotationVersions)
	}
	for i := range b.Properties {
		if b.Properties[i].Type != declcfg.PropertyMaxOpenShiftVersion {
			continue
		}
		last, err := MaxOpenShift([]jsontext.Value{b.Properties[i].Value})
		if err == nil && p.OpenShift.After(*last) {
			return fmt.Sprintf("it is for OpenShift up to %s (%s)", last, declcfg.PropertyMaxOpenShiftVersion)
		}
	}
	csv := b.CSVMetadata()
	v, err := declcfg.ParseVersion(strings.TrimPrefix(csv.MinKubeVersion, "v"), "")
	needs := Version{Major: v.Semver.Major, Minor: v.Semver.Minor}
	if err == nil && p.Kubernetes != (Version{}) && needs.After(p.Kubernetes) {
		return fmt.Sprintf("it needs Kubernetes %s (minKubeVersion), and the platform has %s",
			csv.MinKubeVersion, p.Kubernetes)
	}
	return ""
}
