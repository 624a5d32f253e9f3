package validate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/cel-go/cel"

	"github.com/opm-toolchain/opm/internal/constraint"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A requirement has the fields of an olm.constraint that this package checks; package schemas defines its shape.
type requirement struct {
	Package *struct {
		PackageName  string `json:"packageName"`
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
		s.add(ruleConstraint, at, "the constraint has %d bytes; OLM accepts %d", n, constraint.MaxSize)
		return
	}
	var c requirement
	err := json.Unmarshal(p.Value, &c)
	if _, wrongType := errors.AsType[*json.SemanticError](err); wrongType {
		return // the CUE schema reports the wrong shape
	}
	if err != nil {
		s.add(ruleConstraint, at, "not a valid constraint: %v", err)
		return
	}
	s.term(at, &c)
}

// term checks one constraint and the constraints nested in it.
func (s *scope) term(at jsontext.Pointer, c *requirement) {
	if c.Package != nil {
		s.name(at+"/package/packageName", c.Package.PackageName)
	}
	if c.Package != nil && c.Package.VersionRange != "" {
		s.requiredRange(ruleConstraint, at+"/package/versionRange", c.Package.VersionRange)
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
		s.term(place.Item(at, i), &t.Constraints[i])
	}
}

// A celRule is a CEL rule of a constraint, and the pointer to it in its object.
type celRule struct {
	at   jsontext.Pointer
	rule string
}

// celRules checks the CEL rules of a catalog, in catalog order, so that the cost limit is reached at the same rule on
// every run.
type celRules struct {
	compiler *constraint.Compiler
	errors   map[string]error // results by rule, because the bundles of a package repeat rules
}

func newCELRules() *celRules {
	return &celRules{constraint.NewCompiler(), map[string]error{}}
}

func (c *celRules) check(rule string) error {
	err, known := c.errors[rule]
	if known {
		return err
	}
	if err = c.compile(rule); !errors.Is(err, constraint.ErrBudget) {
		c.errors[rule] = err
	}
	return err
}

func (c *celRules) compile(rule string) error {
	if strings.TrimSpace(rule) == "" {
		return errors.New("the rule is empty")
	}
	ast, err := c.compiler.Compile(rule)
	if syntax, ok := errors.AsType[*constraint.SyntaxError](err); ok {
		return fmt.Errorf("the rule does not compile: %s", syntax.Brief())
	}
	if err != nil {
		return err
	}
	if ast.OutputType() != cel.BoolType {
		return fmt.Errorf("the rule returns %s, want bool", ast.OutputType())
	}
	return nil
}
