package across

import (
	"fmt"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// pos returns the position of an obstacle: the bundle that blocks the upgrade, or the package that lacks an update.
func (o *obstacle) pos(layers []*layer) declcfg.Pos {
	switch o.rule {
	case ruleBlocked:
		return layers[o.layer].bundle(o.bundle).Pos
	case rulePackage:
		return layers[o.layer].pos()
	}
	return layers[o.layer+1].pos()
}

// drops returns the drops of all journeys, each once.
func (g *group) drops() []drop {
	var all []drop
	known := map[drop]bool{}
	for _, j := range g.journeys {
		for _, d := range j.dropped {
			if !known[d] {
				known[d] = true
				all = append(all, d)
			}
		}
	}
	return all
}

// problem adds a problem of a package.
func (r *Report) problem(g *group, rule *problem.Rule, pos declcfg.Pos, names []string, message string) {
	r.Problems = append(r.Problems, &problem.Problem{
		Rule: rule.Name, Severity: rule.Severity, Pos: pos, Package: g.Package, Names: names,
		Path: fmt.Sprintf("package %q", g.Package), Message: message,
	})
}
