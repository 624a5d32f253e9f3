package validate

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A celRule is a CEL rule of a constraint, and its place in an object.
type celRule struct {
	at   jsontext.Pointer
	rule string
}

// maxCEL is what the CEL rules of a catalog may cost to compile, about as many bytes. Catalogs have a few, which their
// bundles repeat; without a limit, one could keep a CPU busy for hours.
const maxCEL = 1 << 20

// errCEL is reported where maxCEL is exceeded.
var errCEL = errors.New("the rule is not checked: the catalog has too much CEL; " +
	"opm compiles 1 MB of different rules, of which nested lists and maps count as more")

// A celCompiler compiles the CEL rules of a catalog, in its order, so that the limit is the same on every run.
type celCompiler struct {
	left   int              // of maxCEL
	errors map[string]error // by rule, since the bundles of a package repeat them
}

func newCELCompiler() *celCompiler {
	return &celCompiler{left: maxCEL, errors: map[string]error{}}
}

// check returns what is wrong with a rule.
func (c *celCompiler) check(rule string) error {
	err, known := c.errors[rule]
	if known {
		return err
	}
	if !c.pay(minCELCost + len(rule)) {
		return errCEL
	}
	if err = c.compile(rule); !errors.Is(err, errCEL) {
		c.errors[rule] = err
	}
	return err
}

// minCELCost is what compiling even an empty rule costs.
const minCELCost = 256

// pay reports whether so much is left, and takes it.
func (c *celCompiler) pay(cost int) bool {
	if cost > c.left {
		return false
	}
	c.left -= cost
	return true
}

// celEnvironment is that of OLM: the properties of a bundle, and a function to compare versions.
var celEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("properties", cel.ListType(cel.MapType(cel.StringType, cel.DynType))),
		cel.Function("semver_compare",
			cel.Overload("semver_compare", []*cel.Type{cel.DynType, cel.DynType}, cel.IntType)),
	)
})

func (c *celCompiler) compile(rule string) error {
	if strings.TrimSpace(rule) == "" {
		return errors.New("the rule is empty")
	}
	env, err := celEnvironment()
	if err != nil {
		return err
	}
	ast, issues := env.Parse(rule)
	if issues.Err() != nil {
		return celError(issues)
	}
	if !c.pay(typeCost(rule, ast)) {
		return errCEL
	}
	ast, issues = env.Check(ast)
	if issues.Err() != nil {
		return celError(issues)
	}
	if ast.OutputType() != cel.BoolType {
		return fmt.Errorf("the rule returns %s, want bool", ast.OutputType())
	}
	return nil
}

func celError(issues *cel.Issues) error {
	first := issues.Errors()[0]
	return fmt.Errorf("the rule does not compile: %d:%d: %s",
		first.Location.Line(), first.Location.Column()+1, strings.TrimSpace(first.Message))
}

// typeCost is what checking the types of a rule costs beyond what its length does. The types of nested lists and maps
// nest too, and comparing them takes the power of their depth: .map(x, [x]) a hundred times took seconds.
func typeCost(rule string, ast *cel.Ast) int {
	depth := nesting(celast.NavigateAST(ast.NativeRep())) / 4
	return len(rule) * depth * depth * depth
}

// nesting returns how many lists, maps and macros are inside of each other.
func nesting(e celast.NavigableExpr) int {
	deepest := 0
	for _, child := range e.Children() {
		deepest = max(deepest, nesting(child))
	}
	switch e.Kind() {
	case celast.ListKind, celast.MapKind, celast.StructKind, celast.ComprehensionKind:
		deepest++
	}
	return deepest
}

// celRules checks the rules of the constraints of an object.
func (r *relations) celRules(m *declcfg.Meta, rules []celRule) {
	for _, rule := range rules {
		if err := r.cel.check(rule.rule); err != nil {
			r.of(m).add("constraint", rule.at, "%v", err)
		}
	}
}
