package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Explanation explains why an installed bundle is or is not updated to another bundle next.
type Explanation struct {
	Semantics Semantics `json:"semantics"`
	Channel   string    `json:"channel,omitzero"` // "" for all channels of the package
	From      string    `json:"from"`
	To        string    `json:"to"`
	Updates   bool      `json:"updates"` // all checks hold
	Checks    []Check   `json:"checks"`

	// Path is From and its updates, in order. If Loop is set, the last bundle repeats an earlier one.
	Path []string `json:"path"`
	Loop bool     `json:"loop,omitzero"`

	Error string `json:"error,omitzero"` // the error that OLM reports at the end of Path, or ""
}

// A Check is one condition of an update.
type Check struct {
	Name  string `json:"name"` // such as edge
	Holds bool   `json:"holds"`
	Why   string `json:"why"` // a sentence without a full stop
}

// String returns the explanation as text for terminals, with one line for each check.
func (e *Explanation) String() string {
	var text strings.Builder
	is := "is not"
	if e.Updates {
		is = "is"
	}
	where := "in any channel"
	if e.Channel != "" {
		where = "in channel " + e.Channel
	}
	line := func(format string, args ...any) { text.WriteString(legible.Name(fmt.Sprintf(format, args...)) + "\n") }
	line("%s, %s: %s %s updated to %s next", e.Semantics, where, e.From, is, e.To)
	width := len("not skipped ") // or more
	for _, c := range e.Checks {
		width = max(width, len(c.Name)+1)
	}
	for _, c := range e.Checks {
		verdict := "no "
		if c.Holds {
			verdict = "yes"
		}
		line("  %s  %-*s %s", verdict, width, c.Name, c.Why)
	}
	line("  %s", e.describePath())
	return text.String()
}

// describePath describes the update path of From.
func (e *Explanation) describePath() string {
	path := strings.Join(e.Path, " -> ")
	if e.Error != "" {
		path += "; then OLM reports: " + e.Error
	}
	switch {
	case e.Loop:
		return "updates never end: " + path
	case len(e.Path) == 1 && e.Error != "":
		return "OLM reports: " + e.Error
	case len(e.Path) == 1:
		return e.From + " stays"
	case slices.Contains(e.Path, e.To):
		return fmt.Sprintf("updates reach %s: %s", e.To, path)
	}
	return fmt.Sprintf("updates never reach %s: %s", e.To, path)
}

// An explainer builds an Explanation by adding checks to it.
type explainer struct {
	Explanation
	from, to *Bundle
}

func newExplainer(plan *Plan, from, to *Bundle) *explainer {
	e := &explainer{from: from, to: to}
	e.Explanation = Explanation{Semantics: plan.Semantics, From: from.Name, To: to.Name, Path: []string{from.Name}}
	steps, loop := plan.Path(from)
	for _, s := range steps {
		e.Path = append(e.Path, s.To.Name)
	}
	e.Loop = loop
	if at, _, _ := plan.End(from); plan.Err(at) != nil {
		e.Error = plan.Err(at).Error()
	}
	return e
}

// check adds a condition, with the reasons for both results.
func (e *explainer) check(name string, holds bool, yes, no string) {
	why := no
	if holds {
		why = yes
	}
	e.Checks = append(e.Checks, Check{name, holds, why})
}

// holds reports whether all conditions so far hold.
func (e *explainer) holds() bool {
	return !slices.ContainsFunc(e.Checks, func(c Check) bool { return !c.Holds })
}

// checkPreferred checks that the plan prefers To, if all other conditions hold. first is the reason why a bundle is
// preferred.
func (e *explainer) checkPreferred(plan *Plan, first string) *Explanation {
	if e.holds() {
		s := plan.choice(e.from)
		other, reason := e.From, "stays"
		if s.To != nil && s.To != e.from {
			other, reason = s.To.Name, s.reason(e.from)
		}
		e.check("preferred", s.To == e.to && e.to != e.from,
			fmt.Sprintf("of all bundles that may update %s it %s", e.From, first),
			fmt.Sprintf("%s %s, and %s", other, first, reason))
	}
	e.Updates = e.holds()
	return &e.Explanation
}

func (e *explainer) checkExists() {
	e.check("exists", !e.to.Virtual, e.To+" is in the catalog", "the catalog has no bundle "+e.To)
}

// checkEdge checks that an entry for To in one of the channels has an edge to From.
func (e *explainer) checkEdge(channels []*Channel, other string) {
	var found, missed []string
	for _, c := range channels {
		entry, ok := c.index[e.To]
		if !ok {
			continue
		}
		yes, no := c.describeEdge(entry, e.from)
		if yes != "" {
			found = append(found, fmt.Sprintf("in channel %s, %s %s", c.Name, e.To, yes))
		} else {
			missed = append(missed, fmt.Sprintf("in channel %s, %s %s", c.Name, e.To, no))
		}
	}
	if len(found) == 0 && other != "" {
		found = append(found, other)
	}
	if len(missed) == 0 {
		missed = append(missed, "it is in no channel")
	}
	e.check("edge", len(found) > 0, strings.Join(found, "; "), strings.Join(missed, "; "))
}

// describeEdge describes the edge by which an entry updates b as yes or, if there is none, the reason as no.
func (c *Channel) describeEdge(entry int, b *Bundle) (yes, no string) {
	e := c.entries[entry]
	switch c.edgeTo(entry, b) {
	case Replaces:
		return "replaces " + b.Name, ""
	case Skips:
		return "skips " + b.Name, ""
	case SkipRange:
		return fmt.Sprintf("has %s in its skipRange %q", b.Version, e.SkipRange), ""
	}
	switch {
	case e.SkipRange == "":
		return "", fmt.Sprintf("neither replaces nor skips %s, and has no skipRange", b.Name)
	case c.rangeErrors[entry] != nil:
		return "", fmt.Sprintf("neither replaces nor skips %s, and its skipRange %q is invalid", b.Name, e.SkipRange)
	case b.Version == nil:
		return "", fmt.Sprintf("neither replaces nor skips %s, which has no version for its skipRange", b.Name)
	}
	return "", fmt.Sprintf("neither replaces nor skips %s, and %s is not in its skipRange %q",
		b.Name, b.Version, e.SkipRange)
}

// ExplainClassic explains why OLM Classic, with a subscription to the channel, does or does not update a bundle to
// another bundle next; see [Package.Classic]. The channel and both bundles must be of p; a nil channel means all
// channels.
func (p *Package) ExplainClassic(c *Channel, from, to *Bundle) *Explanation {
	plan, err := p.Classic(c)
	e := newExplainer(plan, from, to)
	if c != nil {
		e.Channel = c.Name
	}
	e.checkExists()
	channels := p.subscribed(c)
	e.checkMember(channels)
	e.checkEdge(channels, "")
	if err != nil {
		e.check("order", false, "", err.Error())
	} else {
		// Check that OLM Classic offers the entry for To that updates From or, if there is none, any entry for To.
		var checks []Check
		for _, c := range channels {
			entry, ok := c.index[e.To]
			if !ok {
				continue
			}
			offered := &explainer{Explanation: Explanation{To: e.To}}
			offered.checkEntry(c, entry)
			edge, _ := c.describeEdge(entry, e.from)
			if checks == nil || edge != "" {
				checks = offered.Checks
			}
			if edge != "" && offered.holds() {
				break
			}
		}
		e.Checks = append(e.Checks, checks...)
	}
	if to.Prohibited {
		e.check("deprecation", false, "",
			"it has the property "+declcfg.PropertyDeprecated+", with which OLM Classic never installs it")
	} else {
		e.checkDeprecated("OLM Classic ignores it")
	}
	return e.checkPreferred(plan, "is nearest the head")
}

// checkMember checks that one of the channels has an entry for To.
func (e *explainer) checkMember(channels []*Channel) {
	member := slices.ContainsFunc(channels, func(c *Channel) bool { return c.Index(e.To) != none })
	e.check("in channel", member, "the channel has an entry for it", "the channel has no entry for it")
}

// checkEntry checks that OLM Classic offers an entry of a channel.
func (e *explainer) checkEntry(c *Channel, entry int) {
	if c.skipped[entry] {
		var skippers []string
		for _, i := range c.nodes {
			if slices.Contains(c.entries[i].Skips, e.To) {
				skippers = append(skippers, c.entries[i].Name)
			}
		}
		e.check("not skipped", false, "", "it is skipped by "+strings.Join(skippers, ", "))
		return
	}
	e.check("not skipped", true, "no entry skips it", "")
	order, _ := c.order() // there is an order, since Classic returned no error
	e.check("in chain", slices.Contains(order, entry),
		"following replaces from the head leads to it", "following replaces from the head does not lead to it")
}

// checkDeprecated adds the effect of a deprecation, which never prevents an update.
func (e *explainer) checkDeprecated(means string) {
	why := "it is not deprecated"
	if e.to.Deprecated {
		why = "it is deprecated: " + means
	}
	e.check("deprecation", true, why, "")
}

// reason returns the reason why a step updates a bundle.
func (s Step) reason(from *Bundle) string {
	switch s.By {
	case Same:
		return "has the same version"
	case Forced:
		return "needs no edge"
	}
	yes, _ := s.Channel.describeEdge(s.Channel.index[s.To.Name], from)
	return yes
}

// ExplainV1 explains why OLM v1 does or does not update a bundle to another bundle next; see [Package.V1]. Both bundles
// must be of p.
func (p *Package) ExplainV1(o V1Options, from, to *Bundle) *Explanation {
	plan := p.V1(o)
	e := newExplainer(plan, from, to)
	e.Channel = strings.Join(channelNames(o.Channels), ", ")
	e.checkCandidate(p, o)
	e.checkDeprecated("all other candidates are preferred")
	if plan.rejects(to) {
		e.check("dependencies", false, "",
			"OLM v1 refuses bundles with dependencies: it has the property "+to.Dependency)
	}
	return e.checkPreferred(plan, "comes first, by its version and deprecated ones last")
}

// checkCandidate checks that To is one of the [Package.Candidates].
func (e *explainer) checkCandidate(p *Package, o V1Options) {
	e.checkExists()
	if len(o.Channels) > 0 {
		e.checkMember(o.Channels)
	}
	if o.Version != nil {
		e.check("version", e.to.Version != nil && o.Version.Contains(e.to.semver()),
			fmt.Sprintf("its version is in %q", o.Version), fmt.Sprintf("its version is not in %q", o.Version))
	}
	switch {
	case e.from == nil: // a new installation needs no edge
	case o.SelfCertified:
		e.check("edge", true, "edges do not matter", "")
	case o.same(e.to, e.from):
		e.checkEdge(p.channelsOf(o), "it has the same version")
	default:
		e.checkEdge(p.channelsOf(o), "")
	}
}
