package validate

import (
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/schemas"
)

// ownKeys lists, by schema, the keys that have rules of their own in Go. Most of these rules are errors, which Options
// with ErrorsOnly report without CUE.
var ownKeys = map[string][]string{
	declcfg.SchemaPackage: {"/name", "/defaultChannel", "/icon/base64data", "/icon/mediatype"},
	declcfg.SchemaChannel: {"/package", "/name", "/entries", "/entries/*/name", "/entries/*/skips/*"},
	declcfg.SchemaBundle: {
		"/package", "/name", "/image", "/relatedImages/*/image",
		"/properties", "/properties/*/type",
	},
	declcfg.SchemaDeprecations: {
		"/package", "/entries/*/message",
		"/entries/*/reference", "/entries/*/reference/schema", "/entries/*/reference/name",
	},
}

// ownValues lists, by CUE definition, the keys of property values that have rules of their own in Go.
var ownValues = map[string][]string{
	"#PropertyPackage":         {"packageName", "version"},
	"#PropertyPackageRequired": {"versionRange"},
}

// shapeRule returns the rule for a CUE finding, or "" if a check in Go reports it.
func (s *scope) shapeRule(f schemas.Finding) string {
	path := slices.Collect(f.Pointer.Tokens())
	var pattern strings.Builder // the path with * in place of list indexes
	for _, step := range path {
		if digits(step) {
			step = "*"
		}
		pattern.WriteString("/" + step)
	}
	switch {
	case f.Extra:
		return "user-schema"
	case s.meta.Schema == declcfg.SchemaBundle && len(path) > 2 && path[0] == "properties":
		return s.propertyRule(f, path[1], path[2:])
	case f.Kind == schemas.Excess && f.Empty: // Go treats the empty value like a missing key
		return "schema"
	case slices.Contains(ownKeys[s.meta.Schema], pattern.String()):
		return ""
	}
	return "schema"
}

// propertyRule is shapeRule for a path inside the bundle property of that index.
func (s *scope) propertyRule(f schemas.Finding, index string, path []string) string {
	switch {
	case path[0] == "type":
		return "" // reported by rule property-type
	case len(path) == 1 && f.Kind == schemas.Missing, f.Kind == schemas.WrongType && s.refused[index]:
		return "" // reported by rule property-value
	case f.Definition == "#PropertyMaxOpenShiftVersion":
		return "max-openshift-version"
	case f.Definition == "#PropertyConstraint":
		return constraintRule(f)
	case len(path) == 2 && slices.Contains(ownValues[f.Definition], path[1]):
		return ""
	}
	return "schema"
}

// constraintRule returns the rule constraint if OLM cannot read the value, and schema otherwise.
func constraintRule(f schemas.Finding) string {
	key := f.Pointer.LastToken()
	switch {
	case f.Kind == schemas.Unknown, f.Kind == schemas.WrongType, f.Kind == schemas.Null,
		f.Kind == schemas.Excess && key == "none",
		f.Kind == schemas.Invalid && !f.Empty, key == "versionRange", key == "rule":
		return "constraint"
	}
	return "schema"
}
