package platform

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A Version is a version of OpenShift or Kubernetes without the patch.
type Version struct{ Major, Minor uint64 }

// ParseVersion reads X.Y.
func ParseVersion(text string) (v Version, err error) {
	major, minor, _ := strings.Cut(text, ".")
	v.Major, err = strconv.ParseUint(major, 10, 32)
	if err == nil {
		v.Minor, err = strconv.ParseUint(minor, 10, 32)
	}
	if err != nil {
		return Version{}, fmt.Errorf("%q is not a version X.Y, such as 4.20", text)
	}
	return v, nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Compare returns -1, 0 or +1. The versions 4.23 and 5.0 of OpenShift are equal.
func (v Version) Compare(w Version) int {
	v, w = v.canonical(), w.canonical()
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}

// Next returns the following minor version. The version 5.0 of OpenShift follows 4.22, and 5.1 follows 4.23 and 5.0.
func (v Version) Next() Version {
	v = v.canonical()
	v.Minor++
	return v.canonical()
}

// canonical returns 5.0 for 4.23, which is another name for it (OLM, pkg/controller/operators/openshift/helpers.go).
func (v Version) canonical() Version {
	if v == (Version{4, 23}) {
		return Version{5, 0}
	}
	return v
}

// After reports whether v is later than w.
func (v Version) After(w Version) bool { return v.Compare(w) > 0 }
