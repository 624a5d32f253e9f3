package declcfg

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// A Version is the version of a bundle as its olm.package property gives it. The release distinguishes bundles of one
// version of the operator, say because a manifest was corrected.
type Version struct {
	Semver  semver.Version
	Release Release // nil for none
}

// ParseVersion parses the two texts of an olm.package property. A version is all of semantic versioning 2.0.0 and
// nothing else: three numbers, no "v". An empty release is none.
func ParseVersion(version, release string) (Version, error) {
	v, err := semver.Parse(version)
	if err != nil {
		return Version{}, versionError(version, err)
	}
	r, err := ParseRelease(release)
	return Version{v, r}, err
}

// versionError names the version that was meant, where it can be told.
func versionError(version string, err error) error {
	meant, tolerantErr := semver.ParseTolerant(version)
	if tolerantErr != nil {
		return fmt.Errorf("version %q is not a semantic version: %w", version, err)
	}
	return fmt.Errorf("version %q is not a semantic version: want %q", version, meant)
}

// Compare returns -1, 0 or 1. It goes by version, then by release, where none comes first. Build metadata does not
// count, so versions that differ in nothing else are equal.
func (v Version) Compare(w Version) int {
	return cmp.Or(v.Semver.Compare(w.Semver), v.Release.Compare(w.Release))
}

// String returns VERSION or, with a release, VERSION-RELEASE. No two bundles of a package may share it, so release 1 of
// 1.0.0 collides with version 1.0.0-1.
func (v Version) String() string {
	if len(v.Release) == 0 {
		return v.Semver.String()
	}
	return v.Semver.String() + "-" + v.Release.String()
}

// CanonicalName returns PACKAGE-vVERSION-RELEASE, the one name that a bundle with a release may have. Without a
// release, where bundles may have any name, it returns PACKAGE-vVERSION.
func (v Version) CanonicalName(pkg string) string {
	return pkg + "-v" + v.String()
}

// maxRelease is how many bytes a release may have, its dots included.
const maxRelease = 20

// A Release is the identifiers between the dots of a release. Nil means none.
type Release []semver.PRVersion

// ParseRelease parses a release: identifiers with dots between them, as in the pre-release of a semantic version, at
// most 20 bytes in all. The empty text is not a release.
func ParseRelease(s string) (Release, error) {
	if s == "" {
		return nil, nil
	}
	if len(s) > maxRelease {
		return nil, fmt.Errorf("release %q is %d bytes long: at most %d are allowed", s, len(s), maxRelease)
	}
	v, err := semver.Parse("0.0.0-" + s)
	if err == nil && len(v.Build) > 0 {
		err = errors.New("invalid character '+'")
	}
	if err != nil {
		return nil, fmt.Errorf("release %q: %w", s, err)
	}
	return v.Pre, nil
}

// Compare returns -1, 0 or 1, comparing releases as semantic versioning compares pre-releases: numbers by value and
// before texts, and the one that goes on after the other. No release comes before any other, unlike no pre-release.
func (r Release) Compare(s Release) int {
	return slices.CompareFunc(r, s, semver.PRVersion.Compare)
}

// String returns the release as it was parsed, "" for none.
func (r Release) String() string {
	parts := make([]string, len(r))
	for i, identifier := range r {
		parts[i] = identifier.String()
	}
	return strings.Join(parts, ".")
}
