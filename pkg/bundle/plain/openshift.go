package plain

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/platform"
)

// BlocksOpenShift returns why OpenShift of a version cannot be updated to the next minor version while the bundle is
// installed, nil if it can: the property olm.maxOpenShiftVersion, which may be invalid.
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
