package platform

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// MaxOpenShift returns the last version of OpenShift that an operator supports, given the values of its properties
// olm.maxOpenShiftVersion; nil if there are no values (pkg/controller/operators/openshift/helpers.go).
func MaxOpenShift(values []jsontext.Value) (*Version, error) {
	const property = declcfg.PropertyMaxOpenShiftVersion
	switch {
	case len(values) == 0:
		return nil, nil
	case len(values) > 1:
		return nil, fmt.Errorf("defining more than one %s property is not allowed", property)
	}
	text, err := textOf(values[0])
	if err != nil {
		return nil, err
	}
	switch v, err := semver.ParseTolerant(text); {
	case err != nil:
		return nil, fmt.Errorf("failed to parse %q as semver: %w", text, err)
	case v.Patch != 0 || len(v.Pre) > 0:
		return nil, fmt.Errorf("property %s must specify only <major>.<minor> version, got invalid value %s", property, v)
	default:
		return &Version{v.Major, v.Minor}, nil
	}
}

// MaxOpenShiftV1 is MaxOpenShift for OLM v1, which is stricter (cluster-olm-operator of OpenShift).
func MaxOpenShiftV1(values []jsontext.Value) (*Version, error) {
	const property = declcfg.PropertyMaxOpenShiftVersion
	switch {
	case len(values) == 0:
		return nil, nil
	case len(values) > 1:
		return nil, fmt.Errorf("%s is defined more than once", property)
	}
	text, err := textOf(values[0])
	if kind := values[0].Kind(); kind != jsontext.KindString && kind != jsontext.KindNumber {
		err = errors.New("want a number or string")
	}
	var v Version
	if err == nil {
		v, err = ParseVersion(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", property, err)
	}
	return &v, nil
}

// textOf returns the text of a JSON string, or the JSON of another value.
func textOf(value jsontext.Value) (text string, err error) {
	if value.Kind() != jsontext.KindString {
		return string(value), nil
	}
	err = json.Unmarshal(value, &text)
	return text, err
}
