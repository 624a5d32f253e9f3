package constraint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// environment is OLM's CEL environment: the properties of a bundle, and a function to compare versions.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("properties", cel.ListType(cel.MapType(cel.StringType, cel.DynType))),
		cel.Function("semver_compare",
			cel.Overload("semver_compare", []*cel.Type{cel.DynType, cel.DynType}, cel.IntType,
				cel.BinaryBinding(compareVersions))),
	)
})

func compareVersions(a, b ref.Val) ref.Val {
	v, err := semver.ParseTolerant(fmt.Sprint(a.Value()))
	if err != nil {
		return types.WrapErr(err)
	}
	w, err := semver.ParseTolerant(fmt.Sprint(b.Value()))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Int(v.Compare(w))
}

// budget is the maximum cost of compiling the CEL rules of a catalog, in units of about one byte of rules. Catalogs
// have few rules, which their bundles repeat; without a limit, a catalog could keep a CPU busy for hours.
const budget = 1 << 20

// minCost is the cost of compiling an empty rule.
const minCost = 256

// ErrBudget is returned by a Compiler whose budget is spent.
var ErrBudget = errors.New("the rule is not checked: the catalog has too much CEL; " +
	"opm compiles 1 MB of different rules, of which nested lists and maps count as more")

// A Compiler compiles the CEL rules of a catalog. It has a budget, so rules must come in the same order on every run.
type Compiler struct {
	left  int
	spent *atomic.Uint64 // by evaluations of its programs
}

// NewCompiler returns a Compiler with a full budget.
func NewCompiler() *Compiler { return &Compiler{left: budget, spent: new(atomic.Uint64)} }

// Another returns a Compiler with a full budget, for another goroutine. Both Compilers share the cost limit of
// evaluations.
func (c *Compiler) Another() *Compiler { return &Compiler{left: budget, spent: c.spent} }

// Err returns ErrEvaluations if the evaluations so far cost too much, else nil.
func (c *Compiler) Err() error {
	if c.spent.Load() > MaxTotalCost {
		return ErrEvaluations
	}
	return nil
}

// pay takes the cost from the budget, and reports whether enough was left.
func (c *Compiler) pay(cost int) bool {
	if cost > c.left {
		return false
	}
	c.left -= cost
	return true
}

// A SyntaxError is the reason why a rule does not compile. Its text is OLM's, on several lines.
type SyntaxError struct{ *cel.Issues }

func (e *SyntaxError) Error() string { return e.Err().Error() }

// Brief returns the first error on one line.
func (e *SyntaxError) Brief() string {
	first := e.Errors()[0]
	return fmt.Sprintf("%d:%d: %s", first.Location.Line(), first.Location.Column()+1, strings.TrimSpace(first.Message))
}

// Compile parses and type-checks a rule, which may still not return a bool. The error is ErrBudget or a *SyntaxError.
func (c *Compiler) Compile(rule string) (*cel.Ast, error) {
	if !c.pay(minCost + len(rule)) {
		return nil, ErrBudget
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Parse(rule)
	if issues.Err() != nil {
		return nil, &SyntaxError{issues}
	}
	// Type-checking costs more than the length of a rule: the types of nested lists and maps nest too, and the time to
	// compare them grows with a power of their depth: .map(x, [x]) a hundred times took seconds.
	depth := nesting(celast.NavigateAST(ast.NativeRep())) / 4
	if !c.pay(len(rule) * depth * depth * depth) {
		return nil, ErrBudget
	}
	ast, issues = env.Check(ast)
	if issues.Err() != nil {
		return nil, &SyntaxError{issues}
	}
	return ast, nil
}

// nesting returns the maximum depth of nested lists, maps and macros.
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

// maxCost is the maximum cost of one evaluation of a rule, in CEL cost units. Real rules cost some hundred; the maximum
// takes about half a second.
const maxCost = 1 << 20

// ErrCost is wrapped by the error about a rule whose evaluation costs too much.
var ErrCost = errors.New("the evaluation of the rule costs too much")

// MaxTotalCost is the maximum cost of all evaluations of the rules of a catalog, some seconds. Tests lower it.
var MaxTotalCost uint64 = 100_000_000

// ErrEvaluations is returned if all evaluations together cost too much.
var ErrEvaluations = errors.New("the CEL rules of the catalog cost too much to evaluate all of them")

// A Program is a rule that can be evaluated.
type Program struct {
	program  cel.Program
	compiler *Compiler
}

// Program returns the program of a rule. The error has the words of OLM.
func (c *Compiler) Program(rule string) (*Program, error) {
	ast, err := c.Compile(rule)
	if err != nil {
		return nil, err
	}
	if ast.OutputType() != cel.BoolType {
		return nil, errors.New("cel expressions must have type Bool")
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	p, err := env.Program(ast, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(100))
	return &Program{p, c}, err
}

// Holds reports whether the rule holds for a bundle with these properties: maps with the keys type and value. As in
// OLM, a rule that fails does not hold. The error is the error of ctx, ErrCost or ErrEvaluations.
func (p *Program) Holds(ctx context.Context, properties []map[string]any) (bool, error) {
	if err := p.compiler.Err(); err != nil {
		return false, err
	}
	result, details, err := p.program.ContextEval(ctx, map[string]any{"properties": properties})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	cost := details.ActualCost()
	if cost != nil {
		p.compiler.spent.Add(*cost)
	}
	if err != nil {
		if cost != nil && *cost > maxCost {
			return false, ErrCost
		}
		return false, nil
	}
	return result == types.True, nil
}
