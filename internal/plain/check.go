package plain

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/installmode"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// check returns an error with the reasons for which OLM refuses a bundle. It checks the bundle first, and the options
// last.
func check(b *bundle.Contents, opts Options) error {
	all := b.Refusals(bundle.V1Options{SingleOwnNamespace: opts.Watch != "", NoWebhooks: opts.Certificates == ""})
	all = slices.DeleteFunc(all, isDependency)
	if err := joined(bundle.Reported(all)); err != nil || opts.Watch == "" {
		return err
	}
	if err := b.InstallModes().CheckConfig(installmode.ConfigOf(opts.Watch), opts.Namespace); err != nil {
		return b.ErrorIn(b.CSV, "/spec/installModes", err)
	}
	return nil
}

// CheckDependencies returns an error that joins a [*declcfg.Error] for each dependency of a bundle. OLM v1 refuses a
// bundle with a dependency after it has resolved to it, before it generates any object.
func CheckDependencies(b *bundle.Contents) error {
	isOther := func(r bundle.Refusal) bool { return !isDependency(r) }
	return joined(slices.DeleteFunc(b.Refusals(bundle.V1Options{}), isOther))
}

func isDependency(r bundle.Refusal) bool { return r.Kind == bundle.RefusedDependency }

// joined returns an error that joins the refusals, nil if there are none.
func joined(refusals []bundle.Refusal) error {
	var errs []error
	for _, r := range refusals {
		errs = append(errs, r.At())
	}
	return place.JoinErrors(errs)
}

// BlocksOpenShift returns the reason why OpenShift cannot be updated from the current version to the next minor version
// while the bundle is installed, nil if it can be updated. The reason is the property olm.maxOpenShiftVersion, which
// may be invalid.
func BlocksOpenShift(c *bundle.Contents, current platform.Version) *declcfg.Error {
	const annotation = "olm.properties"
	var properties []struct {
		Type  string         `json:"type"`
		Value jsontext.Value `json:"value"`
	}
	blocks := func(format string, args ...any) *declcfg.Error {
		at := jsontext.Pointer("/metadata/annotations").AppendToken(annotation)
		return c.ErrorIn(c.CSV, at, fmt.Errorf("OpenShift %s cannot be updated to the next minor version: %w",
			current, fmt.Errorf(format, args...)))
	}
	if text := c.CSV.Annotations[annotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &properties); err != nil {
			return blocks("%w", err)
		}
	}
	var values []jsontext.Value
	for _, p := range properties {
		if p.Type == declcfg.PropertyMaxOpenShiftVersion {
			values = append(values, p.Value)
		}
	}
	switch last, err := platform.MaxOpenShiftV1(values); {
	case err != nil:
		return blocks("%w", err)
	case last != nil && !last.After(current):
		return blocks("the %s is %s", declcfg.PropertyMaxOpenShiftVersion, last)
	}
	return nil
}
