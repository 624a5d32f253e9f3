// Package platform has facts about the platforms of catalogs: which Kubernetes, which OLM and which form of metadata a
// release of OpenShift has, and which APIs a version of Kubernetes removed. The facts are data in table.go.
//
//	p, err := platform.Parse("ocp=4.14")
//	fmt.Println(p, p.Kubernetes, p.Metadata) // OpenShift 4.14 1.27 olm.bundle.object
package platform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Platform is a release of OpenShift, or a version of Kubernetes without OpenShift.
type Platform struct {
	OpenShift  Version // zero without OpenShift
	Kubernetes Version // zero if the table does not have the release of OpenShift

	// Metadata is the type of the property that registries of the platform read the metadata of a bundle from:
	// olm.bundle.object or olm.csv.metadata. It is "" without OpenShift, because clusters then choose their OLM.
	Metadata string
	OLMv1    OLMv1
}

// OLMv1 is the availability of OLM v1 on a platform. "" means unknown: without OpenShift, clusters choose their OLM.
type OLMv1 string

// The availabilities of OLM v1.
const (
	OLMv1Absent    OLMv1 = "not available"
	OLMv1Preview   OLMv1 = "technology preview"
	OLMv1Available OLMv1 = "generally available"
)

// The names of platforms in targets.
const (
	targetOpenShift  = "ocp"
	targetKubernetes = "kubernetes"
)

// Parse reads a target, such as ocp=4.16 or kubernetes=1.31; both versions may begin with v. It accepts a release of
// OpenShift that the table does not have, such as 4.10 or 5.0: its Kubernetes is zero.
func Parse(target string) (Platform, error) {
	name, text, ok := strings.Cut(target, "=")
	if !ok || name != targetOpenShift && name != targetKubernetes {
		return Platform{}, fmt.Errorf("target %q: want ocp=VERSION or kubernetes=VERSION, such as ocp=4.16", target)
	}
	v, err := ParseVersion(strings.TrimPrefix(text, "v"))
	switch {
	case name == targetOpenShift && (err != nil || v.Major < 4):
		return Platform{}, fmt.Errorf("target %q: %q is not a version of OpenShift 4 or later, such as 4.16", target, text)
	case name == targetOpenShift:
		return OpenShift(v), nil
	case err != nil || v.Major < 1:
		return Platform{}, fmt.Errorf("target %q: %q is not a version of Kubernetes, such as 1.31", target, text)
	}
	return Platform{Kubernetes: v}, nil
}

// ParseTarget is like [Parse], and also returns the error of [Platform.Check].
func ParseTarget(target string) (Platform, error) {
	p, err := Parse(target)
	if err != nil {
		return p, err
	}
	if err := p.Check(); err != nil {
		return p, fmt.Errorf("target %q: %w", target, err)
	}
	return p, nil
}

// OpenShift returns the platform of a release of OpenShift 4 or later.
func OpenShift(v Version) Platform {
	i, ok := slices.BinarySearchFunc(releases, v, func(p Platform, v Version) int { return p.OpenShift.Compare(v) })
	p := releases[min(i, len(releases)-1)]
	if p.OpenShift = v; !ok {
		p.Kubernetes = Version{}
	}
	return p
}

// Releases returns the releases of OpenShift that the table has, in order.
func Releases() []Platform { return slices.Clone(releases) }

// String returns a name for people, such as OpenShift 4.16 or Kubernetes 1.31.
func (p Platform) String() string {
	if p.OpenShift != (Version{}) {
		return "OpenShift " + p.OpenShift.String()
	}
	return "Kubernetes " + p.Kubernetes.String()
}

// Check returns an error if the Kubernetes version is not known, because the table does not have the release of
// OpenShift.
func (p Platform) Check() error {
	if p.Kubernetes != (Version{}) {
		return nil
	}
	return fmt.Errorf("the Kubernetes of %s is not known: want OpenShift %s to %s, or kubernetes=VERSION",
		p, releases[0].OpenShift, releases[len(releases)-1].OpenShift)
}

// LacksWebhooksV1 reports whether the OLM v1 of the platform, with its default feature gates, refuses bundles with
// webhooks.
func (p Platform) LacksWebhooksV1() bool {
	return p.OpenShift != (Version{}) && webhooksV1.After(p.OpenShift)
}

// BundleRelease is the name of the release of a bundle for [Platform.Unread].
const BundleRelease = "a release in " + declcfg.PropertyPackage

// PartlyRead reports whether only some OLM reads properties of a type, or objects of a schema.
func PartlyRead(name string) bool {
	_, partly := readers[name]
	return partly
}

// Unread returns which OLM reads properties of a type, objects of a schema or [BundleRelease] if not every OLM of the
// platform does, as a clause that follows "which", such as "only OpenShift reads". Otherwise it returns "".
func (p Platform) Unread(name string) string {
	isOpenShift := p.OpenShift != (Version{})
	switch r := readers[name]; {
	case r.gate != "":
		return "OLM reads only with the feature gate " + r.gate
	case r.openShift && !isOpenShift:
		return "only OpenShift reads"
	case isOpenShift && r.first.After(p.OpenShift):
		return fmt.Sprintf("OpenShift reads from %s on", r.first)
	case r.classic && p.OLMv1 != OLMv1Absent:
		return "OLM v1 does not read"
	}
	return ""
}

// RemovedIn returns the version of Kubernetes that removed a kind of an API version, such as policy/v1beta1. It returns
// false if no known version removed it.
func RemovedIn(apiVersion, kind string) (Version, bool) {
	for _, removal := range removals {
		for _, a := range removal.apis {
			if a.version == apiVersion && slices.Contains(a.kinds, kind) {
				return removal.kubernetes, true
			}
		}
	}
	return Version{}, false
}
