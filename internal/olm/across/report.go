package across

import (
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Report has the plans for all packages.
type Report struct {
	Catalogs []Platform         // in the order of the versions
	Plans    []*Plan            // by package, and then by the version of the first bundle
	Problems []*problem.Problem // sorted

	Bundles int // installed bundles for which there are plans
	Direct  int // bundles that need upgrades of the platform only
	Stuck   int // bundles without a plan to the last version, in some channel and version of OLM

	olm []graph.Semantics
}

// A Platform is a version of the platform with its catalog.
type Platform struct {
	Catalog  string `json:"catalog"`  // its name
	Platform string `json:"platform"` // the version
}

// add adds the plans of a package.
func (r *Report) add(p *packagePlans) {
	indirect, stuck, all := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, g := range p.groups {
		g.explain(p.layers)
		r.Plans = append(r.Plans, &g.Plan)
		// Add the problems of a plan.
		if o := g.journeys[0].obstacle; o != nil {
			names := make([]string, len(g.Installed))
			for i, in := range g.Installed {
				names[i] = in.Bundle
			}
			first, last, in := p.layers[0].version(), p.layers[len(p.layers)-1].version(), ""
			if len(g.OLM) < len(r.olm) {
				in = " in " + g.OLM[0].Title()
			}
			r.problem(g, o.rule, o.pos(p.layers), names, fmt.Sprintf("%s cannot go from %v to %v%s: %s",
				g.Bundles(), first, last, in, g.Obstacle.Message))
		}
		for _, d := range g.drops() {
			l := p.layers[d.layer]
			names := []string{d.channel}
			message := fmt.Sprintf("catalog %q has no channel %q; its users must switch to channel %q",
				l.Name, d.channel, d.instead)
			if !d.gone {
				names = append(names, d.bundle)
				message = fmt.Sprintf("channel %q of catalog %q neither has nor updates %s; its users must switch to channel %q",
					d.channel, l.Name, d.bundle, d.instead)
			}
			r.problem(g, ruleChannel, l.pos(), names, message)
		}
		for _, in := range g.Installed {
			all[in.Bundle] = true
			if !g.Direct() {
				indirect[in.Bundle] = true
			}
			if !g.Possible() {
				stuck[in.Bundle] = true
			}
		}
	}
	r.Bundles += len(all)
	r.Direct += len(all) - len(indirect)
	r.Stuck += len(stuck)
}

// explain sets the Obstacle of a plan.
func (g *group) explain(layers []*layer) {
	o := g.journeys[0].obstacle
	if o == nil {
		return
	}
	g.Obstacle = &Obstacle{Rule: o.rule.Name, Platform: layers[max(o.layer, 0)].version().String()}
	for _, j := range g.journeys {
		g.Obstacle.Bundles = append(g.Obstacle.Bundles, j.obstacle.bundle)
	}
	g.Obstacle.Bundles = unique(g.Obstacle.Bundles)
	g.Obstacle.Message = o.message(layers, g.Obstacle.Bundles, slices.Equal(g.Obstacle.Bundles, g.bundles()))
}

// message returns the reason in words for bundles. It does not name them if isFirst is set, which means that they are
// the bundles that are installed at first.
func (o *obstacle) message(layers []*layer, bundles []string, isFirst bool) string {
	const property = declcfg.PropertyMaxOpenShiftVersion
	next, of, them := layers[o.layer+1], " of "+abbreviate(bundles), abbreviate(bundles)
	if isFirst {
		of, them = "", "it"
		if len(bundles) > 1 {
			them = "them"
		}
	}
	switch {
	case o.rule == ruleBlocked && o.limit.err != nil:
		return fmt.Sprintf("the invalid %s%s blocks the upgrade to %v: %v", property, of, next.version(), o.limit.err)
	case o.rule == ruleBlocked:
		return fmt.Sprintf("%s %v%s blocks the upgrade to %v", property, o.limit.version, of, next.version())
	case o.rule == rulePackage:
		return fmt.Sprintf("catalog %q does not have the package", next.Name)
	}
	text := fmt.Sprintf("catalog %q neither has nor updates %s", next.Name, them)
	if err := next.rejection(); err != nil {
		text += fmt.Sprintf(" (OLM Classic rejects a channel: %v)", err)
	}
	return text
}

// Summary returns the numbers of bundles in a sentence.
func (r *Report) Summary() string {
	from, to := r.Catalogs[0].Platform, r.Catalogs[len(r.Catalogs)-1].Platform
	text := fmt.Sprintf("%s of %s can go from %s to %s, %s without another step", plural.Number(r.Bundles-r.Stuck),
		plural.Of(r.Bundles, "bundle"), from, to, plural.Number(r.Direct))
	return text
}

// Report returns the problems with the plans. If withDirect is not set, the table has only plans with another step than
// upgrades of the platform.
func (r *Report) Report(withDirect bool) *problem.Report {
	out := &problem.Report{
		Subject: "upgrade of the platform", Problems: r.Problems, Rules: Rules(), Summary: []string{r.Summary()},
		Wrap: func(result *problem.Result) any { return &Output{*result, r.Catalogs, r.Plans} },
	}
	plans := r.Plans
	if !withDirect {
		plans = slices.DeleteFunc(slices.Clone(plans), (*Plan).Direct)
	}
	if len(plans) > 0 {
		out.Tables = append(out.Tables, r.table(plans))
	}
	return out
}

// An Output is the report in JSON and YAML: the problems, as in other checks, and the plans.
type Output struct {
	problem.Result
	Catalogs []Platform `json:"catalogs"` // in the order of the versions
	Plans    []*Plan    `json:"plans"`    // by package, and then by the version of the first bundle
}
