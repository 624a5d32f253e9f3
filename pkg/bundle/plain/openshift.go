package plain

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An OpenShiftVersion is a version of OpenShift without the patch.
type OpenShiftVersion struct{ Major, Minor uint64 }

// ParseOpenShiftVersion reads X.Y.
func ParseOpenShiftVersion(text string) (v OpenShiftVersion, err error) {
	major, minor, _ := strings.Cut(text, ".")
	v.Major, err = strconv.ParseUint(major, 10, 32)
	if err == nil {
		v.Minor, err = strconv.ParseUint(minor, 10, 32)
	}
	if err != nil {
		return v, fmt.Errorf("%q is not a version of OpenShift: want X.Y, such as 4.20", text)
	}
	return v, nil
}

func (v OpenShiftVersion) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// After reports whether v is later than w. 4.23 and 5.0 are the same.
func (v OpenShiftVersion) After(w OpenShiftVersion) bool {
	for _, x := range []*OpenShiftVersion{&v, &w} {
		if *x == (OpenShiftVersion{4, 23}) {
			*x = OpenShiftVersion{5, 0}
		}
	}
	return v.Major > w.Major || v.Major == w.Major && v.Minor > w.Minor
}

// BlocksOpenShift returns why OpenShift of a version cannot be updated to the next minor version while the bundle is
// installed, nil if it can: the property olm.maxOpenShiftVersion, which may be invalid.
func BlocksOpenShift(c *bundle.Contents, current OpenShiftVersion) *declcfg.Error {
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
	switch last, err := MaxOpenShift(values); {
	case err != nil:
		return blocks("%w", err)
	case last != nil && !last.After(current):
		return blocks("the %s is %s", declcfg.PropertyMaxOpenShiftVersion, last)
	}
	return nil
}

// MaxOpenShift returns the last version of OpenShift that a bundle supports, as OLM v1 reads it, nil if the bundle does
// not say. The values are those of its properties olm.maxOpenShiftVersion.
func MaxOpenShift(values []jsontext.Value) (*OpenShiftVersion, error) {
	const property = declcfg.PropertyMaxOpenShiftVersion
	switch len(values) {
	case 0:
		return nil, nil
	case 1:
	default:
		return nil, fmt.Errorf("%s is defined more than once", property)
	}
	v, err := parseMaxVersion(values[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", property, err)
	}
	return &v, nil
}

// parseMaxVersion reads the number or the text of a property.
func parseMaxVersion(value jsontext.Value) (OpenShiftVersion, error) {
	text := string(value)
	switch value.Kind() {
	case jsontext.KindString:
		if err := json.Unmarshal(value, &text); err != nil {
			return OpenShiftVersion{}, err
		}
	case jsontext.KindNumber:
	default:
		return OpenShiftVersion{}, errors.New("want a number or text")
	}
	return ParseOpenShiftVersion(text)
}
