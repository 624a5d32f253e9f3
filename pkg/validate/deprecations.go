package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func (s *scope) deprecations(d *declcfg.Deprecations) {
	if d.Package == "" {
		s.add(ruleDeprecationsPackage, "/package", "package name must be set for deprecation item")
	}
	seen := map[[2]string]bool{}
	for i := range d.Entries {
		e := &d.Entries[i]
		ref, at := e.Reference, place.Item("/entries", i)
		rule := ruleDeprecationReference
		switch {
		case ref.Schema == "":
			s.add(rule, at+"/reference/schema", "schema must be set for deprecation entry: the reference has none")
		case !slices.Contains(deprecable, ref.Schema):
			s.add(rule, at+"/reference/schema", "cannot deprecate object of schema %q: object schema unknown%s",
				ref.Schema, nearest.Hint(ref.Schema, deprecable))
		case ref.Schema == declcfg.SchemaPackage && ref.Name != "":
			s.add(rule, at+"/reference/name", "package name must be empty for deprecated package: found %q", ref.Name)
		case ref.Schema != declcfg.SchemaPackage && ref.Name == "":
			s.add(rule, at+"/reference/name", "a reference to an %s needs a name", ref.Schema)
		}
		key := [2]string{ref.Schema, ref.Name}
		if seen[key] {
			s.add(ruleDuplicateDeprecation, at+"/reference",
				"duplicate deprecation entry: %s is already deprecated", target(ref))
		}
		seen[key] = true
		if e.Message == "" {
			s.add(ruleDeprecationMessage, at+"/message", "message must be set: the deprecation of %s has none", target(ref))
		}
	}
}

// deprecable lists the schemas of objects that can be deprecated.
var deprecable = []string{declcfg.SchemaPackage, declcfg.SchemaChannel, declcfg.SchemaBundle}

// target describes the object that a deprecation refers to.
func target(ref declcfg.Reference) string {
	if ref.Schema == declcfg.SchemaPackage {
		return "the package"
	}
	return fmt.Sprintf("%s %q", strings.TrimPrefix(ref.Schema, "olm."), ref.Name)
}

var deprecationRules = &problem.Group{Title: "Deprecations", Rules: []*problem.Rule{
	ruleDeprecationsPackage, ruleDuplicateDeprecations, ruleDeprecationReference, ruleDuplicateDeprecation,
	ruleDeprecationMessage,
}}

var (
	ruleDeprecationsPackage = &problem.Rule{Name: "deprecations-package", Severity: problem.Error,
		Summary: "deprecations belong to a package of the catalog",
		Reason:  "Upstream rejects deprecations of unknown packages.",
		Fix:     "correct the package"}
	ruleDuplicateDeprecations = &problem.Rule{Name: "duplicate-deprecations", Severity: problem.Error,
		Summary: "a package has at most one olm.deprecations",
		Reason:  "Upstream rejects a second one.",
		Fix:     "merge their entries"}
	ruleDeprecationReference = &problem.Rule{Name: "deprecation-reference", Severity: problem.Error,
		Summary: "a deprecation refers to its package or to a channel or bundle of it",
		Reason:  "Nobody would see a message about something unknown.",
		Fix:     "correct the reference, or remove the deprecation"}
	ruleDuplicateDeprecation = &problem.Rule{Name: "duplicate-deprecation", Severity: problem.Error,
		Summary: "a package, channel or bundle is deprecated once",
		Reason:  "Only one message is shown.",
		Fix:     "merge the messages"}
	ruleDeprecationMessage = &problem.Rule{Name: "deprecation-message", Severity: problem.Error,
		Summary: "a deprecation has a message",
		Reason:  "The message says what users should do.",
		Fix:     "write a message"}
)
