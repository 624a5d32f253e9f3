package resolve

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// askV1 asks OLM v1 about every channel.
func (p *packageCheck) askV1() {
	g := graph.NewPackage(p.x)
	for _, c := range g.Channels {
		notAdmitted := (&Extension{Package: g.Name, Channels: []string{c.Name}}).Admit().ToAggregate()
		ask := func(installed string, err error) {
			p.v1Tally.Questions++
			if notAdmitted != nil {
				err = notAdmitted
			}
			if err != nil {
				p.v1Tally.Unresolved++
				p.blameV1(err, effect{channel: c.Name, installed: installed})
			}
		}
		plan := g.V1(graph.V1Options{Channels: []*graph.Channel{c}})
		if goal := plan.Goal(); goal != nil {
			ask("", goal.Refusal())
		} else {
			ask("", &graph.UnresolvedError{Package: g.Name, Channels: []string{c.Name}})
		}
		for _, e := range c.Entries() {
			if b := g.Bundle(e.Name); !b.Virtual {
				ask(b.Name, plan.Err(b))
			}
		}
	}
}

// blameV1 adds an effect to the cause of an error.
func (p *packageCheck) blameV1(err error, e effect) {
	refusal, ok := errors.AsType[*graph.RefusalError](err)
	if !ok {
		c, _ := p.cause(v1Unresolved, err.Error())
		c.text = err.Error()
		c.affect(v1Unresolved, e)
		return
	}
	b := refusal.Bundle
	c, known := p.cause(v1Unresolved, b.Dependency)
	if !known {
		c.pos, c.verb, c.plural = p.propertyPos(b.Name, b.Dependency), "has", "have"
		c.text = fmt.Sprintf("a dependency declared via property %q, which OLM v1 does not support", b.Dependency)
		c.fix = "use OLM Classic, or remove the dependency"
	}
	c.addBundle(b.Name)
	c.affect(v1Unresolved, e)
}

// propertyPos returns the place of the first property of a type that a bundle has.
func (p *packageCheck) propertyPos(bundle, typ string) declcfg.Pos {
	for _, e := range named(p.catalog.list().byPackage[p.x.Name], bundle) {
		if i := slices.IndexFunc(e.properties, func(p Property) bool { return p.Type == typ }); i >= 0 {
			return e.propertyPlace(i).find()
		}
	}
	return declcfg.Pos{}
}
