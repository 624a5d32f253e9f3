package validate

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/constraint"
)

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
