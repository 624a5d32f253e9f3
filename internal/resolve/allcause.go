package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	problems "github.com/opm-toolchain/opm/pkg/problem"
)

// A cause is a fact that keeps OLM from installing bundles of a package, with its effects.
type cause struct {
	rule *problems.Rule
	key  string // identifies it in a baseline
	pos  declcfg.Pos
	fix  string

	// The text describes the cause. If it is about bundles, it follows their names and a verb, in the singular or in
	// the plural.
	text         string
	bundles      []string
	verb, plural string

	effects []*effects // in the order they were found
}

// An effect is the effect of a cause on one question.
type effect struct {
	channel     string // "" for all channels, and bundles in none
	installed   string // "" for a new installation
	got, wanted string // bundles; "" if OLM reports an error
}

// effects are all effects of one kind: the first of them, and the number of the others.
type effects struct {
	effect
	more int
}

// cause returns the cause for a key, and adds it if it is new. OLM v1 has its own causes, even for the same key.
func (p *packageCheck) cause(rule *problems.Rule, key string) (c *cause, known bool) {
	id := [2]string{key, ""}
	if rule == ruleV1Unresolved || rule == ruleV1NotInstallable {
		id[1] = rule.Name
	}
	c, known = p.causes[id]
	if !known {
		c = &cause{key: key, rule: rule}
		p.causes[id] = c
	}
	return c, known
}

// addEffect records an effect of the cause. A cause that breaks both rules of OLM Classic is reported under the worse
// rule.
func (c *cause) addEffect(rule *problems.Rule, e effect) {
	if rule == ruleClassicUnresolved {
		c.rule = rule
	}
	sameKind := func(all *effects) bool {
		return (all.installed == "") == (e.installed == "") && (all.wanted == "") == (e.wanted == "")
	}
	if i := slices.IndexFunc(c.effects, sameKind); i >= 0 {
		c.effects[i].more++
		return
	}
	c.effects = append(c.effects, &effects{effect: e})
}

// addBundle adds a bundle that the text applies to.
func (c *cause) addBundle(name string) {
	if !slices.Contains(c.bundles, name) {
		c.bundles = append(c.bundles, name)
	}
}

// addEffect records an effect for the causes why OLM Classic installs none of the candidates: their unsatisfied
// requirements or, if these do not explain all of them, the facts of the answer.
func (p *packageCheck) addEffect(
	dead *deadEnds, candidates []*entry, answer *ClassicResult, rule *problems.Rule, e effect,
) {
	if !dead.explains(candidates) {
		p.conflict(answer, rule).addEffect(rule, e)
		return
	}
	causes := map[*cause]bool{}
	dead.roots(candidates, func(v *variable, d *dependency) {
		c := p.missing(v, d, rule)
		c.addBundle(v.bundle.name)
		if !causes[c] {
			causes[c] = true
			c.addEffect(rule, e)
		}
	})
}

// maxCauses is the maximum number of causes of a package that get a position. Finding one takes as long as reading the
// bundle.
const maxCauses = 100

// missing returns the cause for a dependency without a provider or, if d is nil, for a deprecated bundle.
func (p *packageCheck) missing(v *variable, d *dependency, rule *problems.Rule) *cause {
	at := p.catalogEntry(v.entry)
	if d == nil {
		c, known := p.cause(rule, declcfg.PropertyDeprecated)
		if !known {
			c.pos, c.verb, c.plural = at.bundle.place().find(), "has", "have"
			c.text = "the property " + declcfg.PropertyDeprecated
		}
		return c
	}
	key := d.String()
	if p.causes[[2]string{key, ""}] == nil && len(p.causes) > maxCauses {
		key = ""
	}
	c, known := p.cause(rule, key)
	if !known && key == "" {
		c.verb, c.plural, c.text = "requires", "require", "other operators that no catalog has"
	} else if !known {
		c.pos, c.verb, c.plural = at.propertyPlace(d.property).find(), "requires", "require"
		c.text = "an operator " + d.String() + ", and no catalog has one"
		c.fix = "add it, or name another catalog that has it"
	}
	return c
}

// catalogEntry returns the entry in the catalog of a bundle that is assumed to be installed. It returns any other entry
// unchanged.
func (p *packageCheck) catalogEntry(e *entry) *entry {
	if e.installed == nil {
		return e
	}
	return named(p.catalog.list().byPackage[p.x.Name], e.bundle.name)[0]
}

// conflict returns one cause for all facts of an answer or, if it has no facts, for its message.
func (p *packageCheck) conflict(answer *ClassicResult, rule *problems.Rule) *cause {
	facts := slices.DeleteFunc(slices.Clone(answer.Core), func(f Fact) bool { // the facts of every question
		return f.Kind == FactSubscription || f.Kind == FactInstalled || f.Kind == FactCandidates || f.Kind == FactUpdate
	})
	keys := []string{answer.Message}
	if len(facts) > 0 {
		keys = nil
	}
	for _, f := range facts {
		keys = append(keys, f.key())
	}
	slices.Sort(keys)
	c, known := p.cause(rule, strings.Join(slices.Compact(keys), ", "))
	if !known && len(facts) > 0 {
		c.text, c.pos = sentences(facts), facts[0].Places[0]
	} else if !known {
		c.text = answer.Message
	}
	return c
}

// key returns the part of a fact that is the same for different bundles.
func (f Fact) key() string {
	switch f.Kind {
	case FactRequirement:
		return f.requires
	case FactOneBundle, FactOneProvider:
		return f.Subject
	case FactDeprecated:
		return declcfg.PropertyDeprecated
	}
	return f.Message
}

// problem converts the cause to a problem of a package.
func (c *cause) problem(pkg string) *problems.Problem {
	text := c.text
	if n := len(c.bundles); n == 1 {
		text = fmt.Sprintf("%s %s %s", c.bundles[0], c.verb, text)
	} else if n > 1 {
		text = fmt.Sprintf("%s and %d more %s %s", c.bundles[0], n-1, c.plural, text)
	}
	var follows []string
	for _, e := range c.effects {
		follows = append(follows, e.String())
	}
	return &problems.Problem{
		Rule: c.rule.Name, Severity: c.rule.Severity, Pos: c.pos, Package: pkg, Names: []string{c.key},
		Path: fmt.Sprintf("package %q", pkg), Message: text + ": " + strings.Join(follows, "; "), Fix: c.fix,
	}
}

func (e *effects) String() string {
	more := ""
	if e.more > 0 {
		more = fmt.Sprintf(" (and %d more)", e.more)
	}
	switch {
	case e.channel == "":
		return "nothing can be installed without a channel"
	case e.installed == "" && e.wanted == "":
		return fmt.Sprintf("nothing can be installed from channel %q%s", e.channel, more)
	case e.installed == "":
		return fmt.Sprintf("channel %q installs %s instead of %s%s", e.channel, e.got, e.wanted, more)
	case e.wanted == "":
		return fmt.Sprintf("nothing is resolved if %s of channel %q is installed%s", e.installed, e.channel, more)
	case e.got == e.installed:
		return fmt.Sprintf("in channel %q %s is not updated to %s%s", e.channel, e.installed, e.wanted, more)
	}
	return fmt.Sprintf("in channel %q %s is updated to %s instead of %s%s", e.channel, e.installed, e.got, e.wanted, more)
}
