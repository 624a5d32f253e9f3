package validate

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// name reports white space in a name that upstream accepts.
func (s *scope) name(at jsontext.Pointer, name string) {
	if found := legible.WhiteSpace(name, ""); found != "" {
		s.add(ruleWhiteSpace, at, "the name %q has white space: %s", name, found)
	}
}

var ruleWhiteSpace = &problem.Rule{Name: "white-space", Severity: problem.Warning,
	Summary: "names have no white space and no invisible characters",
	Reason: "A name with them is another name: an entry that replaces \"kiln.v1.0.0 \" updates nothing. OLM v1 accepts " +
		"no such names. They often come from a template or from a copied text.",
	Fix: "remove it"}
