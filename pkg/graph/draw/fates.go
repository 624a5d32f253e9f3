package draw

import (
	"strings"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// laneFates is the data of the HTML page for a lane: the updates of each bundle. Lanes and bundles are in the order of
// the picture.
type laneFates struct {
	Package string        `json:"package"`
	Channel string        `json:"channel"`         // "" for bundles in no channel
	Loose   bool          `json:"loose,omitempty"` // the bundles are in no channel
	Refused string        `json:"refused,omitempty"`
	Bundles []bundleFacts `json:"bundles"`
	Classic []*nextStep   `json:"classic"` // by bundle; null if it stays, or the channel is refused
	V1      []*nextStep   `json:"v1"`      // as Classic
}

// bundleFacts are the name, version and state of a bundle, as text.
type bundleFacts struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state,omitempty"` // the texts of its badges
	Head    bool   `json:"head,omitempty"`
}

// A nextStep is the update of a bundle to another bundle of the lane, or the error that OLM reports instead.
type nextStep struct {
	To    int        `json:"to"`
	By    graph.Edge `json:"by,omitempty"`
	Error string     `json:"error,omitempty"`
}

// newFates returns the fates of all lanes of a picture, in order.
func newFates(p *picture) []laneFates {
	all := []laneFates{} // an empty list, not null
	for _, b := range p.Blocks {
		for _, l := range b.Lanes {
			all = append(all, l.fates(b.graph))
		}
	}
	return all
}

func (l *lane) fates(g *graph.Package) laneFates {
	f := laneFates{Package: g.Name, Loose: l.Loose, Bundles: make([]bundleFacts, len(l.Boxes))}
	for i, b := range l.Boxes {
		f.Bundles[i] = bundleFacts{b.node.Name, versionOf(b.node), b.state(), b.node.Head}
	}
	if l.channel == nil {
		f.Classic, f.V1 = make([]*nextStep, len(l.Boxes)), make([]*nextStep, len(l.Boxes))
		return f
	}
	f.Channel = l.channel.Name
	classic, v1, err := g.Plans(l.channel)
	if err != nil {
		f.Refused = err.Error()
		f.Classic = make([]*nextStep, len(l.Boxes))
	} else {
		f.Classic = l.steps(classic)
	}
	f.V1 = l.steps(v1)
	return f
}

// steps returns the updates of a plan. They never leave the lane: only bundles in the channel can be installed from it.
func (l *lane) steps(plan *graph.Plan) []*nextStep {
	at := make(map[*graph.Bundle]int, len(l.Boxes))
	for i, b := range l.Boxes {
		at[b.node.Bundle] = i
	}
	steps := make([]*nextStep, len(l.Boxes))
	for i, b := range l.Boxes {
		if s, ok := plan.Next(b.node.Bundle); ok {
			steps[i] = &nextStep{To: at[s.To], By: s.By}
		} else if err := plan.Err(b.node.Bundle); err != nil {
			steps[i] = &nextStep{To: none, Error: err.Error()}
		}
	}
	return steps
}

// state returns the texts of the badges of a box.
func (b *box) state() string {
	words := make([]string, len(b.Badges))
	for i, badge := range b.Badges {
		words[i] = badge.Text
	}
	return strings.Join(words, ", ")
}
