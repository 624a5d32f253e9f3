package resolve

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	problems "github.com/opm-toolchain/opm/pkg/problem"
)

//go:embed rules.txt
var rulesText string

// Rules returns the table of the rules that [Check.Run] knows.
var Rules = sync.OnceValue(func() *problems.Rules { return problems.ParseRules(rulesText) })

// The names of the rules.
const (
	classicUnresolved = "classic-unresolved"
	classicHeldBack   = "classic-held-back"
	v1Unresolved      = "v1-unresolved"
)

// A Check asks about every channel of a catalog what a new installation gets, and what happens where one of its bundles
// is installed and nothing else.
type Check struct {
	Classic bool // ask OLM Classic
	V1      bool // ask OLM v1, of the checked catalog only, since it installs no dependencies

	// Namespace has the catalogs for OLM Classic: the first one is checked, the others provide dependencies. It has no
	// Subscriptions and operators.
	Namespace Namespace

	Package string           // check this one only; "" for all
	Options Options          // for each question
	Start   func(total int)  // called with the number of packages; may be nil
	Checked func(pkg string) // called after each package, in order; may be nil
}

// Checked is the result of a Check.
type Checked struct {
	// Problems are sorted. There is one for each cause in a package, whatever the number of questions it matters to.
	Problems    []*problems.Problem
	Classic, V1 Tally
}

// A Tally counts how questions were answered.
type Tally struct {
	Questions  int // new installations and installed bundles
	HeldBack   int // a dependency keeps OLM from a newer bundle
	Unresolved int // OLM has an error
}

// Summary says how many questions had which answer.
func (t Tally) Summary() string {
	return fmt.Sprintf("%s new installations and updates: %s as they should be, %s held back, %s unresolved",
		plural.Number(t.Questions), plural.Number(t.Questions-t.HeldBack-t.Unresolved), plural.Number(t.HeldBack),
		plural.Number(t.Unresolved))
}

// Run asks all questions. Packages are checked in parallel. The error is that of ctx, or
// [ErrEvaluations].
func (c *Check) Run(ctx context.Context) (*Checked, error) {
	var packages []*declcfg.PackageIndex
	for _, x := range c.Namespace.Catalogs[0].Index.Packages() {
		if x.Name != "" && (c.Package == "" || c.Package == x.Name) {
			packages = append(packages, x)
		}
	}
	if c.Start != nil {
		c.Start(len(packages))
	}
	result, requirements := &Checked{}, newRequirementReader()
	var err error
	for p := range parallel.Map(ctx, 0, slices.Values(packages), c.check(ctx, requirements)) {
		result.add(p)
		err = errors.Join(err, p.err)
		if c.Checked != nil {
			c.Checked(p.x.Name)
		}
	}
	result.Problems = problems.Sort(result.Problems)
	if err := cmp.Or(ctx.Err(), requirements.compiler.Err()); err != nil {
		return nil, err
	}
	return result, err
}

func (c *Checked) add(p *packageCheck) {
	for _, cause := range p.causes {
		found := cause.problem(p.x.Name)
		if found.Pos.File == "" && len(p.x.Packages) > 0 {
			found.Pos = p.x.Packages[0].Meta.Pos
		}
		c.Problems = append(c.Problems, found)
	}
	c.Classic.add(p.classicTally)
	c.V1.add(p.v1Tally)
}

func (t *Tally) add(u Tally) {
	t.Questions += u.Questions
	t.HeldBack += u.HeldBack
	t.Unresolved += u.Unresolved
}

// A packageCheck is the check of a package.
type packageCheck struct {
	*Check
	x       *declcfg.PackageIndex
	catalog *Catalog

	requirements requirementReader // whose bounds count for all packages together

	causes map[[2]string]*cause
	err    error

	classicTally, v1Tally Tally
}

func (c *Check) check(ctx context.Context, requirements requirementReader) func(*declcfg.PackageIndex) *packageCheck {
	return func(x *declcfg.PackageIndex) *packageCheck {
		p := &packageCheck{Check: c, x: x, requirements: requirements}
		p.catalog, p.causes = c.Namespace.Catalogs[0], map[[2]string]*cause{}
		if c.Classic {
			p.err = p.askClassic(ctx)
		}
		if c.V1 {
			p.askV1()
		}
		return p
	}
}
