package declcfg

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/internal/legible"
)

// A Version is the version of a bundle in its olm.package property. The release distinguishes bundles of one version of
// the operator, for example after a correction of a manifest.
type Version struct {
	Semver  semver.Version
	Release Release // nil for none
}

// ParseVersion parses the version and the release of an olm.package property. A version must conform to semantic
// versioning 2.0.0: three numbers, no "v". An empty release means no release.
func ParseVersion(version, release string) (Version, error) {
	v, err := semver.Parse(version)
	if err != nil {
		if meant, tolerantErr := semver.ParseTolerant(version); tolerantErr == nil {
			err = fmt.Errorf("want %q", meant)
		}
		err = legible.ExplainWhiteSpace(err, version, "")
		return Version{}, fmt.Errorf("version %q is not a semantic version: %w", version, err)
	}
	r, err := ParseRelease(release)
	return Version{v, r}, err
}

// Compare returns -1, 0 or 1. It compares the versions, then the releases; no release sorts first. Build metadata does
// not count, so versions that differ only in it are equal.
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

// CanonicalName returns PACKAGE-vVERSION-RELEASE, the only valid name of a bundle with a release. Without a release it
// returns PACKAGE-vVERSION, although such a bundle may have any name.
func (v Version) CanonicalName(pkg string) string {
	return pkg + "-v" + v.String()
}

// maxRelease is the maximum length of a release in bytes, including its dots.
const maxRelease = 20

// A Release is the identifiers of a release, which are separated by dots. Nil means no release.
type Release []semver.PRVersion

// ParseRelease parses a release: identifiers separated by dots, as in the pre-release of a semantic version, with at
// most 20 bytes in total. For the empty text it returns nil.
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
		return nil, fmt.Errorf("release %q: %w", s, legible.ExplainWhiteSpace(err, s, ""))
	}
	return v.Pre, nil
}

// Compare returns -1, 0 or 1. Releases are ordered like pre-releases in semantic versioning: numeric identifiers by
// value and before alphanumeric ones, and a longer release after its prefix. No release sorts before any release,
// unlike no pre-release.
func (r Release) Compare(s Release) int {
	return slices.CompareFunc(r, s, semver.PRVersion.Compare)
}

// String returns the text of the release; "" for nil.
func (r Release) String() string {
	parts := make([]string, len(r))
	for i, identifier := range r {
		parts[i] = identifier.String()
	}
	return strings.Join(parts, ".")
}
