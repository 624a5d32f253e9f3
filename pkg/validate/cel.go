package validate

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/constraint"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A celRule is a CEL rule of a constraint, and its place in an object.
type celRule struct {
	at   jsontext.Pointer
	rule string
}

// celRules are the CEL rules of a catalog, checked in its order, so that the limit is the same on every run.
type celRules struct {
	compiler *constraint.Compiler
	errors   map[string]error // by rule, since the bundles of a package repeat them
}

func newCELRules() *celRules {
	return &celRules{constraint.NewCompiler(), map[string]error{}}
}

// check returns what is wrong with a rule.
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

// celRules checks the rules of the constraints of an object.
func (r *relations) celRules(m *declcfg.Meta, rules []celRule) {
	for _, rule := range rules {
		if err := r.cel.check(rule.rule); err != nil {
			r.of(m).add("constraint", rule.at, "%v", err)
		}
	}
}
