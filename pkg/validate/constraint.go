package validate

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/constraint"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A requirement has the fields of an olm.constraint that this package checks; package schemas defines its shape.
type requirement struct {
	Package *struct {
		VersionRange string `json:"versionRange"`
	} `json:"package"`
	CEL *struct {
		Rule string `json:"rule"`
	} `json:"cel"`
	All  terms `json:"all"`
	Any  terms `json:"any"`
	Not  terms `json:"not"`
	None terms `json:"none"` // the former name of not
}

type terms struct {
	Constraints []requirement `json:"constraints"`
}

// constraint reports a constraint that OLM Classic cannot read. One of them is enough to stop the resolution of a
// namespace.
func (s *scope) constraint(at jsontext.Pointer, p *declcfg.Property) {
	if n := len(p.Value); n > constraint.MaxSize {
		s.add("constraint", at, "the constraint has %d bytes; OLM accepts %d", n, constraint.MaxSize)
		return
	}
	var c requirement
	err := json.Unmarshal(p.Value, &c)
	if _, wrongType := errors.AsType[*json.SemanticError](err); wrongType {
		return // the CUE schema reports the wrong shape
	}
	if err != nil {
		s.add("constraint", at, "not a valid constraint: %v", err)
		return
	}
	s.term(at, &c)
}

// term checks one constraint and the constraints nested in it.
func (s *scope) term(at jsontext.Pointer, c *requirement) {
	if c.Package != nil && c.Package.VersionRange != "" {
		s.requiredRange("constraint", at+"/package/versionRange", c.Package.VersionRange)
	}
	if c.CEL != nil && c.CEL.Rule != "" {
		s.rules = append(s.rules, celRule{at + "/cel/rule", c.CEL.Rule})
	}
	s.terms(at+"/all/constraints", c.All)
	s.terms(at+"/any/constraints", c.Any)
	s.terms(at+"/not/constraints", c.Not)
	s.terms(at+"/none/constraints", c.None)
}

func (s *scope) terms(at jsontext.Pointer, t terms) {
	for i := range t.Constraints {
		s.term(index(at, i), &t.Constraints[i])
	}
}
