package validate

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// maxConstraint is how many bytes OLM takes for a constraint; documents that speak of 64 KB are wrong.
const maxConstraint = 2 << 16

// A constraint is the value of olm.constraint: one term, which may be made of others.
type constraint struct {
	FailureMessage string       `json:"failureMessage"`
	GVK            *gvkTerm     `json:"gvk"`
	Package        *packageTerm `json:"package"`
	CEL            *celTerm     `json:"cel"`
	All            *terms       `json:"all"`
	Any            *terms       `json:"any"`
	Not            *terms       `json:"not"`
	None           *terms       `json:"none"` // what not was called first
}

type gvkTerm struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

type packageTerm struct {
	PackageName  string `json:"packageName"`
	VersionRange string `json:"versionRange"`
}

type celTerm struct {
	Rule string `json:"rule"`
}

type terms struct {
	Constraints []constraint `json:"constraints"`
}

// constraint checks what stops OLM Classic from resolving a namespace: a constraint that it cannot read.
func (s *scope) constraint(at jsontext.Pointer, p *declcfg.Property) {
	if n := len(p.Value); n > maxConstraint {
		s.add("constraint", at, "the constraint has %d bytes, OLM takes %d", n, maxConstraint)
		return
	}
	var c constraint
	if err := json.Unmarshal(p.Value, &c, json.RejectUnknownMembers(true)); err != nil {
		s.badConstraint(at, err)
		return
	}
	s.term(at, &c)
}

func (s *scope) badConstraint(at jsontext.Pointer, err error) {
	bad, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		s.add("constraint", at, "no constraint: %v", err)
	case errors.Is(err, json.ErrUnknownName):
		s.add("constraint", at+bad.JSONPointer, "a constraint has no key %q", bad.JSONPointer.LastToken())
	default:
		s.add("constraint", at+bad.JSONPointer, "a value of a constraint has the wrong type")
	}
}

// term checks one term. Of several keys OLM takes the first in this order.
func (s *scope) term(at jsontext.Pointer, c *constraint) {
	switch {
	case c.GVK != nil:
	case c.Package != nil:
		if err := checkRange(c.Package.VersionRange); err != nil {
			s.add("constraint", at+"/package/versionRange", "%q is no range of versions: %v", c.Package.VersionRange, err)
		}
	case c.All != nil:
		s.terms(at+"/all/constraints", c.All)
	case c.Any != nil:
		s.terms(at+"/any/constraints", c.Any)
	case c.Not != nil:
		s.terms(at+"/not/constraints", c.Not)
	case c.None != nil:
		s.add("constraint", at+"/none", "the key none is deprecated; call it not")
		s.terms(at+"/none/constraints", c.None)
	case c.CEL != nil:
		if err := compileRule(c.CEL.Rule); err != nil {
			s.add("constraint", at+"/cel/rule", "%v", err)
		}
	default:
		s.add("constraint", at, "the constraint is empty")
	}
}

func (s *scope) terms(at jsontext.Pointer, t *terms) {
	for i := range t.Constraints {
		s.term(index(at, i), &t.Constraints[i])
	}
}

// celEnvironment is that of OLM: the properties of a bundle, and a function to compare versions.
var celEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("properties", cel.ListType(cel.MapType(cel.StringType, cel.DynType))),
		cel.Function("semver_compare",
			cel.Overload("semver_compare", []*cel.Type{cel.DynType, cel.DynType}, cel.IntType)),
	)
})

// compiledRules remembers what is wrong with a rule of CEL, since bundles of a package have the same.
var compiledRules sync.Map // of string to error, or nil

func compileRule(rule string) error {
	if err, ok := compiledRules.Load(rule); ok {
		known, _ := err.(error)
		return known
	}
	err := checkRule(rule)
	compiledRules.Store(rule, err)
	return err
}

func checkRule(rule string) error {
	if strings.TrimSpace(rule) == "" {
		return errors.New("the rule is empty")
	}
	env, err := celEnvironment()
	if err != nil {
		return err
	}
	ast, issues := env.Compile(rule)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return fmt.Errorf("the rule does not compile: %d:%d: %s",
			first.Location.Line(), first.Location.Column()+1, strings.TrimSpace(first.Message))
	}
	if ast.OutputType() != cel.BoolType {
		return fmt.Errorf("the rule gives %s, want bool", ast.OutputType())
	}
	return nil
}
