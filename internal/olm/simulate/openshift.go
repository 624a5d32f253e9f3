package simulate

import (
	"cmp"
	"fmt"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An OpenShift is the verdict whether the operators that are installed at the end allow an update of OpenShift to its
// next minor version. Patch updates are always allowed.
type OpenShift struct {
	Version     string    `json:"version"`
	Upgradeable bool      `json:"upgradeable"`
	Blocked     []Blocker `json:"blocked"` // the operators that prevent the update
}

// A Blocker is an object that prevents the update of another one, or of OpenShift.
type Blocker struct {
	Object  Ref         `json:"object"`
	Place   declcfg.Pos `json:"place,omitzero"`
	Message string      `json:"message"` // the reason; for OpenShift, its own message
}

// openShift sets the verdict about OpenShift if its version is known: from the options or else from the state.
func (r *run) openShift() error {
	text, current, err := r.openShiftVersion()
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
		if text, ok := o.Value.Annotations[install.AnnotationProperties]; ok && !o.Value.IsCopied() {
			properties, err := resolve.AnnotatedProperties(text)
			block(RefTo(o.Value), o.Pos, blocksClassic(o.Value.Namespace+"/"+o.Value.Name, properties, err, current))
		}
	}
	for o := range r.State.ClusterExtensions.All() {
		properties, ok := r.request.InstalledProperties(o.Value)
		if name := o.Value.Status.Install.Bundle.Name; !ok && name != "" {
			r.assume(fmt.Sprintf("no catalog has %s: it is not known which version of OpenShift it supports", name))
		}
		block(RefTo(o.Value), o.Pos, blocksV1(o.Value, properties, current))
	}
	r.OpenShift.Upgradeable = len(r.OpenShift.Blocked) == 0
	return nil
}

// openShiftVersion returns the version of OpenShift, "" if it is not known, and its minor version.
func (r *run) openShiftVersion() (text string, minor platform.Version, err error) {
	text = cmp.Or(r.opts.OCPVersion, desiredVersion(r.State))
	if text == "" {
		return "", minor, nil
	}
	version, err := semver.ParseTolerant(text)
	if err != nil {
		err = fmt.Errorf("version %q of OpenShift: %w", text, err)
	}
	return text, platform.Version{Major: version.Major, Minor: version.Minor}, err
}

// desiredVersion returns the version of OpenShift in the status of the ClusterVersion, "" if there is none.
func desiredVersion(s *cluster.State) string {
	o, ok := s.Get(schema.GroupKind{Group: "config.openshift.io", Kind: "ClusterVersion"}, "", "version")
	if !ok {
		return ""
	}
	var version struct {
		Status struct {
			Desired struct {
				Version string `json:"version"`
			} `json:"desired"`
		} `json:"status"`
	}
	if cluster.As(o.Value, &version) != nil {
		return ""
	}
	return version.Status.Desired.Version
}

// blocksClassic returns OLM Classic's message about an operator that does not support the next version of OpenShift, ""
// if it does.
func blocksClassic(name string, properties []resolve.Property, err error, current platform.Version) string {
	var highest *platform.Version
	if err == nil {
		highest, err = platform.MaxOpenShift(maxOpenShift(properties))
	}
	switch {
	case err != nil:
		return fmt.Sprintf("%s has invalid olm.maxOpenShiftVersion properties: %v", name, err)
	case highest != nil && !highest.After(current):
		return fmt.Sprintf("maximum supported OCP version for %s is %s", name, highest)
	}
	return ""
}

// blocksV1 is blocksClassic for a ClusterExtension.
func blocksV1(e *cluster.Extension, properties []resolve.Property, current platform.Version) string {
	name := fmt.Sprintf("bundle %q for ClusterExtension %q", e.Status.Install.Bundle.Name, e.Name)
	switch highest, err := platform.MaxOpenShiftV1(maxOpenShift(properties)); {
	case err != nil:
		return fmt.Sprintf("%s: %v", name, err)
	case highest == nil || highest.After(current):
		return ""
	}
	return name
}

// maxOpenShift returns the values of olm.maxOpenShiftVersion, which are strings or numbers.
func maxOpenShift(properties []resolve.Property) []jsontext.Value {
	var values []jsontext.Value
	for _, p := range properties {
		if p.Type == declcfg.PropertyMaxOpenShiftVersion {
			values = append(values, p.Value)
		}
	}
	return values
}
