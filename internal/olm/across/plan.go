package across

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Plan is the plan for some installed bundles of a package.
type Plan struct {
	Package   string            `json:"package"`
	OLM       []graph.Semantics `json:"olm"`       // the versions of OLM in which the plan is the same
	Installed []Installed       `json:"installed"` // on the first version of the platform; by version
	Steps     []Step            `json:"steps"`     // in order; up to the obstacle, if there is one
	Obstacle  *Obstacle         `json:"obstacle,omitzero"`

	toEnds bool // the plan is merged from plans to the ends of several channels
}

// An Installed is a bundle that may be installed.
type Installed struct {
	Bundle   string   `json:"bundle"`
	Channels []string `json:"channels"` // the channels that the operator may follow; "" for no channel
}

// An Action is the kind of a [Step].
type Action string

// The actions.
const (
	Update  Action = "update"  // wait until OLM has updated the operator to Bundle
	Switch  Action = "switch"  // follow Channel from now on
	Upgrade Action = "upgrade" // upgrade the platform to Platform
)

// A Step is a step of a plan.
type Step struct {
	Action   Action `json:"action"`
	Platform string `json:"platform"` // the version of the platform after the step
	Bundle   string `json:"bundle,omitzero"`
	Channel  string `json:"channel,omitzero"`
	Manual   bool   `json:"manual,omitzero"` // the channel has more updates, which must not be approved yet
}

// An Obstacle is the reason why there is no plan to the last version of the platform.
type Obstacle struct {
	Rule     string   `json:"rule"`     // name of the rule of [Rules] that is broken
	Platform string   `json:"platform"` // the last version of the platform that can be reached
	Bundles  []string `json:"bundles"`  // the bundles that are installed there
	Message  string   `json:"message"`
}

// Possible reports whether the plan leads to the last version of the platform.
func (p *Plan) Possible() bool { return p.Obstacle == nil }

// Direct reports whether the plan consists of upgrades of the platform only.
func (p *Plan) Direct() bool {
	return p.Possible() && !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Action != Upgrade })
}

// Text returns the steps in words, such as: update to kiln.v2 on 4.18, upgrade to 4.20, switch to channel "stable".
func (p *Plan) Text() string {
	var words []string
	upgraded, switched := false, false
	for i, s := range p.Steps {
		var text string
		switch s.Action {
		case Update:
			text = "update to " + s.Bundle
			if s.Manual {
				text += " and no further"
			} else if p.toEnds && !switched {
				text = "update to the end of the channel"
			}
		case Switch:
			switched = true
			text = fmt.Sprintf("switch to channel %q", s.Channel)
		case Upgrade:
			upgraded = true
			if i+1 < len(p.Steps) && p.Steps[i+1].Action == Upgrade {
				continue
			}
			text = "upgrade to " + s.Platform
		}
		if len(words) == 0 && !upgraded {
			text += " on " + s.Platform
		}
		words = append(words, text)
	}
	text := strings.Join(words, ", ")
	if p.Obstacle == nil {
		return text
	}
	if text != "" {
		text += "; "
	}
	return text + "stuck: " + p.Obstacle.Message
}

// Bundles returns the installed bundles in words: at most three, or two and the number of the others.
func (p *Plan) Bundles() string {
	return abbreviate(p.bundles())
}

func (p *Plan) bundles() []string {
	names := make([]string, len(p.Installed))
	for i, in := range p.Installed {
		names[i] = in.Bundle
	}
	return unique(names)
}

// unique returns each name once, in the order of their first occurrences.
func unique(names []string) []string {
	known := make(map[string]bool, len(names))
	return slices.DeleteFunc(names, func(name string) bool {
		repeated := known[name]
		known[name] = true
		return repeated
	})
}

// Channels returns the channels of the installed bundles in words, as Bundles does.
func (p *Plan) Channels() string {
	var names []string
	for _, in := range p.Installed {
		names = append(names, in.Channels...)
	}
	names = unique(names)
	slices.SortFunc(names, graph.CompareChannels)
	if i := slices.Index(names, ""); i >= 0 {
		names[i] = "(none)"
	}
	return abbreviate(names)
}

// abbreviate returns at most three names, or two names and the number of the others.
func abbreviate(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %s more", strings.Join(names[:2], ", "), plural.Number(len(names)-2))
}

// A journey is the plan for one installed bundle that follows a channel, in one version of OLM.
type journey struct {
	bundle, channel string
	steps           []Step
	obstacle        *obstacle
	dropped         []drop

	leaving string // the channel that the operator follows before the switch that is being added
}

// An obstacle is the reason why a journey does not reach the last version of the platform.
type obstacle struct {
	rule   *problem.Rule
	layer  int
	bundle string // the bundle that is installed on that version
	limit  *limit // the limit of the bundle that blocks the upgrade
}

// A drop is a channel that the next catalog does not have, or that does not have the installed bundle there.
type drop struct {
	layer           int // of the catalog
	channel, bundle string
	instead         string // the channel to switch to
	gone            bool   // whether the catalog does not have the channel
}

// journey returns the plan that begins at a node.
func (s *search) journey(start *node) *journey {
	j := &journey{bundle: start.bundle, channel: start.channel}
	path := start.path()
	for i, n := range path {
		if i > 0 {
			// Add the step from one node to the next one.
			from := path[i-1]
			step := Step{Platform: s.layers[n.layer].version().String()}
			last := len(j.steps) - 1
			switch {
			case from.layer < n.layer:
				step.Action = Upgrade
			case n.kind == updating && from.kind == updating:
				j.steps[last].Bundle = n.bundle
				continue
			case n.kind == updating:
				step.Action, step.Bundle = Update, n.bundle
			case from.kind == updating:
				j.steps[last].Manual = s.layers[from.layer].next(from.bundle, from.channel) != nil
				continue
			case n.kind == switching:
				j.leaving = from.channel
				continue
			default:
				step.Action, step.Channel = Switch, n.channel
				l := s.layers[n.layer]
				if j.leaving != "" && !l.accepts(n.bundle, j.leaving) {
					isGone := l.channel(j.leaving) == nil
					j.dropped = append(j.dropped, drop{n.layer, j.leaving, n.bundle, n.channel, isGone})
				}
			}
			j.steps = append(j.steps, step)
		}
	}
	if last := path[len(path)-1]; last.least.shortfall > 0 {
		j.obstacle = s.obstacle(last)
	}
	return j
}

// obstacle returns the reason why a plan ends at a node.
func (s *search) obstacle(n *node) *obstacle {
	o := &obstacle{layer: n.layer, bundle: n.bundle}
	switch {
	case !s.layers[n.layer].has(n.bundle, n.channel):
		o.rule, o.layer = ruleOrphaned, n.layer-1
	case s.isBlocked(n):
		o.rule, o.limit = ruleBlocked, s.limitOf(n)
	case s.layers[n.layer+1].index == nil:
		o.rule = rulePackage
	default:
		o.rule = ruleOrphaned
	}
	return o
}

// limitOf returns the limit of the installed bundle of a blocked node, in the catalog that it was installed from.
func (s *search) limitOf(n *node) *limit {
	for i := n.layer; ; i-- {
		if l := s.layers[i].limit(n.bundle); l != nil && s.last(i, n.bundle) == n.last {
			return l
		}
	}
}
