package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// An OpenShift says whether the operators that are installed at the end allow to update OpenShift to its next minor
// version. Patches are always allowed.
type OpenShift struct {
	Version     string    `json:"version"`
	Upgradeable bool      `json:"upgradeable"`
	Blocked     []Blocker `json:"blocked"` // by what
}

// A Blocker is an operator that does not support the next minor version.
type Blocker struct {
	Object  Ref         `json:"object"`
	Place   declcfg.Pos `json:"place,omitzero"`
	Message string      `json:"message"` // as OpenShift shows it
}

// openShift sets the verdict about OpenShift if its version is known: from the options or else from the state.
func (r *run) openShift() error {
	text, version, err := r.openShiftVersion()
	if text == "" || err != nil {
		return err
	}
	r.OpenShift = &OpenShift{Version: text, Blocked: []Blocker{}}
	block := func(ref Ref, pos declcfg.Pos, message string) {
		if message != "" {
			r.OpenShift.Blocked = append(r.OpenShift.Blocked, Blocker{ref, pos, message})
		}
	}
	for o := range r.State.ClusterServiceVersions.All() {
		if text, ok := o.Value.Annotations[annotationProperties]; ok && !o.Value.IsCopied() {
			properties, err := resolve.AnnotatedProperties(text)
			block(refTo(o.Value), o.Pos, blocksClassic(o.Value.Namespace+"/"+o.Value.Name, properties, err, version))
		}
	}
	for o := range r.State.ClusterExtensions.All() {
		properties, ok := r.question.InstalledProperties(o.Value)
		if name := o.Value.Status.Install.Bundle.Name; !ok && name != "" {
			r.assume(fmt.Sprintf("no catalog has %s: it is not known which version of OpenShift it supports", name))
		}
		block(refTo(o.Value), o.Pos, blocksV1(o.Value, properties, version))
	}
	r.OpenShift.Upgradeable = len(r.OpenShift.Blocked) == 0
	return nil
}

// openShiftVersion returns the version of OpenShift, "" if it is not known.
func (r *run) openShiftVersion() (text string, version semver.Version, err error) {
	text = cmp.Or(r.opts.OCPVersion, desiredVersion(r.State))
	if text == "" {
		return "", version, nil
	}
	if version, err = semver.ParseTolerant(text); err != nil {
		err = fmt.Errorf("version %q of OpenShift: %w", text, err)
	}
	return text, version, err
}

// desiredVersion returns the version of OpenShift that the ClusterVersion has, "" if there is none.
func desiredVersion(s *cluster.State) string {
	o, ok := s.Get(schema.GroupKind{Group: "config.openshift.io", Kind: "ClusterVersion"}, "", "version")
	if !ok {
		return ""
	}
	var rest struct {
		Status struct {
			Desired struct {
				Version string `json:"version"`
			} `json:"desired"`
		} `json:"status"`
	}
	other, ok := o.Value.(*cluster.Other)
	if !ok || json.Unmarshal(other.Unknown, &rest) != nil {
		return ""
	}
	return rest.Status.Desired.Version
}

// blocksClassic returns what OLM Classic says of an operator that does not support the version after the current one,
// "" if it does.
func blocksClassic(name string, properties []resolve.Property, err error, current semver.Version) string {
	var texts []string
	if err == nil {
		texts, err = maxVersions(properties)
	}
	if len(texts) > 1 {
		err = errors.New("defining more than one olm.maxOpenShiftVersion property is not allowed")
	}
	var highest semver.Version
	if err == nil && len(texts) == 1 {
		highest, err = parseMax(texts[0])
	}
	switch {
	case err != nil:
		return fmt.Sprintf("%s has invalid olm.maxOpenShiftVersion properties: %v", name, err)
	case len(texts) == 1 && !allows(highest, current):
		return fmt.Sprintf("maximum supported OCP version for %s is %d.%d", name, highest.Major, highest.Minor)
	}
	return ""
}

// blocksV1 is blocksClassic for a ClusterExtension.
func blocksV1(e *cluster.Extension, properties []resolve.Property, current semver.Version) string {
	texts, err := maxVersions(properties)
	name := fmt.Sprintf("bundle %q for ClusterExtension %q", e.Status.Install.Bundle.Name, e.Name)
	switch {
	case err != nil:
		return fmt.Sprintf("%s has an invalid olm.maxOpenShiftVersion: %v", name, err)
	case len(texts) > 1:
		return name + " has more than one olm.maxOpenShiftVersion"
	case len(texts) == 0:
		return ""
	}
	highest, err := semver.ParseTolerant(texts[0])
	if err != nil || strings.Count(texts[0], ".") != 1 || strings.HasPrefix(texts[0], "v") {
		return fmt.Sprintf("%s has an invalid olm.maxOpenShiftVersion: %q is not MAJOR.MINOR", name, texts[0])
	}
	if allows(highest, current) {
		return ""
	}
	return name
}

// maxVersions returns the values of olm.maxOpenShiftVersion, which are texts or numbers.
func maxVersions(properties []resolve.Property) ([]string, error) {
	var texts []string
	for _, p := range properties {
		if p.Type != declcfg.PropertyMaxOpenShiftVersion {
			continue
		}
		text := string(p.Value)
		if p.Value.Kind() == '"' {
			if err := json.Unmarshal(p.Value, &text); err != nil {
				return nil, err
			}
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func parseMax(text string) (semver.Version, error) {
	v, err := semver.ParseTolerant(text)
	switch {
	case err != nil:
		return v, fmt.Errorf("failed to parse %q as semver: %w", text, err)
	case v.Patch != 0 || len(v.Pre) > 0:
		return v, fmt.Errorf(
			"property olm.maxOpenShiftVersion must specify only <major>.<minor> version, got invalid value %s", v)
	}
	return v, nil
}

// allows reports whether OpenShift may leave the current version for the next minor one. OpenShift 4.23 is the same as
// 5.0.
func allows(highest, current semver.Version) bool {
	return minor(highest) > minor(current)
}

// minor returns a number that grows with the minor version.
func minor(v semver.Version) uint64 {
	if v.Major == 4 && v.Minor == 23 {
		v.Major, v.Minor = 5, 0
	}
	return v.Major<<32 + v.Minor
}
