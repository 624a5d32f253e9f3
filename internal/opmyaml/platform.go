package opmyaml

import (
	"fmt"
	"regexp"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/reference"
)

// versionAtEnd finds the version of a platform at the end of the name of a catalog or of an image.
var versionAtEnd = regexp.MustCompile(`(?:^|[/:=_-])v?([0-9]+\.[0-9]+)$`)

// PlatformOf returns the platform of a catalog: the version at the end of the name that it is given, the target in the
// configuration, which read returns, or the version at the end of its directory or tag. unknown is the reason why it is
// not known.
func PlatformOf(r *reference.Named, read func() (*Config, error)) (p platform.Platform, unknown, err error) {
	named, errNamed := platformAtEnd(r)
	if errNamed == nil && r.Name != reference.BaseName(r.Ref) {
		return named, nil, nil
	}
	c, err := read()
	if err != nil {
		return platform.Platform{}, nil, err
	}
	if p, err := c.TargetOf(r.Ref); err != nil || p != (platform.Platform{}) {
		return p, nil, err
	}
	return named, errNamed, nil
}

// platformAtEnd returns the platform in the name of a catalog or in the tag of its image.
func platformAtEnd(r *reference.Named) (platform.Platform, error) {
	for _, text := range []string{r.Name, r.Ref} {
		found := versionAtEnd.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		v, err := platform.ParseVersion(found[1])
		switch {
		case err != nil:
			return platform.Platform{}, err
		case v.Major < 4:
			return platform.Platform{Kubernetes: v}, nil
		}
		return platform.OpenShift(v), nil
	}
	return platform.Platform{},
		fmt.Errorf("no version of a platform at the end of %q; name it, as in v4.18=%[1]s", r.Ref)
}
