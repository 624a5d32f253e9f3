package serve

import (
	"context"
	"fmt"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A check validates each catalog while a store is made of all, and refuses packages that several of them hold: clients
// ask for a package without saying of which catalog.
type check struct {
	catalogs []*validate.Checker
	system   bool // see [ProblemsError]
}

func newCheck(sources []declcfg.Source) (*check, error) {
	all := &check{}
	for _, s := range sources {
		c, err := validate.NewChecker(validate.Options{ErrorsOnly: true}, s)
		if err != nil {
			return nil, err
		}
		all.catalogs = append(all.catalogs, c)
	}
	return all, nil
}

// Object implements [store.Check].
func (c *check) Object(source int, o *declcfg.Object, value any, err error) any {
	return c.catalogs[source].Object(o, value, err)
}

// Add implements [store.Check].
func (c *check) Add(source int, object any, err error) {
	c.system = c.system || ofSystem(err)
	c.catalogs[source].Add(object, err)
}

// Done implements [store.Check]. The error of a catalog that is invalid is a [*ProblemsError].
func (c *check) Done(ctx context.Context) error {
	invalid := &ProblemsError{System: c.system}
	owners := map[string]*declcfg.Meta{} // by package
	for _, catalog := range c.catalogs {
		report, err := catalog.Report(ctx)
		if err != nil {
			return err
		}
		invalid.Problems = append(invalid.Problems, report.Problems...)
		for _, p := range report.Index.Packages() {
			if clash := claim(owners, p); clash != nil {
				invalid.Problems = append(invalid.Problems, clash)
				invalid.Clash = true
			}
		}
	}
	if len(invalid.Problems) > 0 {
		return invalid
	}
	return nil
}

// claim enters a package of a catalog, and returns what is wrong with that, or nil.
func claim(owners map[string]*declcfg.Meta, p *declcfg.PackageIndex) *problem.Problem {
	meta := definition(p)
	if meta == nil || p.Name == "" {
		return nil
	}
	if other, ok := owners[p.Name]; ok {
		return &problem.Problem{
			Rule: "duplicate-package", Severity: problem.Error, Pos: meta.Pos, Package: p.Name,
			Path: fmt.Sprintf("package %q", p.Name), Message: "another catalog defines it too, at " + other.Pos.String(),
		}
	}
	owners[p.Name] = meta
	return nil
}

// definition returns the olm.package of a package, nil for none.
func definition(p *declcfg.PackageIndex) *declcfg.Meta {
	if len(p.Packages) == 0 {
		return nil
	}
	return p.Packages[0].Meta
}
