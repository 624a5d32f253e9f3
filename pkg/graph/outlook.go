package graph

import (
	"iter"
	"slices"
)

// An Outlook describes the updates of an installed bundle that follows a channel, in OLM Classic and OLM v1.
type Outlook struct {
	Package   string `json:"package"`
	Channel   string `json:"channel"`
	Installed string `json:"installed"`        // the name of the bundle
	Version   string `json:"version,omitzero"` // "" if unknown
	Classic   Fate   `json:"classic"`
	V1        Fate   `json:"v1"`
	Differs   bool   `json:"differs"` // the next updates or their outcomes differ
}

// An Outcome is the result of OLM resolving the next update of an installed bundle.
type Outcome string

// The outcomes.
const (
	Stay   Outcome = "stay"
	Update Outcome = "update"
	Failed Outcome = "error"
)

// A Fate describes the updates of an installed bundle by one version of OLM.
type Fate struct {
	Next string `json:"next,omitzero"` // "" if there is none
	By   Edge   `json:"by,omitzero"`
	Hops int    `json:"hops"` // number of updates
	End  string `json:"end"`  // the last bundle, or a bundle of the loop
	Loop bool   `json:"loop,omitzero"`

	Outcome  Outcome `json:"outcome"`        // of the next update
	Error    string  `json:"error,omitzero"` // the error that OLM reports at End, or ""
	Stranded bool    `json:"stranded"`       // the updates do not reach the Goal of the Plan

	// Path is the updates in order, up to the first one that closes a loop. It is nil unless requested.
	Path []string `json:"path,omitzero"`
}

// Outlooks yields the outlooks of all bundles that the channel names, that it updates, or that are in always, in the
// order of Bundles. If the channel is nil, it yields the outlooks of all bundles, for a Subscription and a
// ClusterExtension without a channel. The channels of o are ignored. If OLM Classic rejects the channel, Outlooks
// returns the error, and the outlooks contain it, too. If paths is true, the Path of each Fate is set.
func (p *Package) Outlooks(c *Channel, o V1Options, paths bool, always ...*Bundle) (iter.Seq[Outlook], error) {
	classic, err := p.Classic(c)
	o.Channels = nil
	name, members := "", p.Bundles
	if c != nil {
		o.Channels = []*Channel{c}
		name, members = c.Name, c.members
	}
	v1 := p.V1(o)
	listed := byRank(slices.Concat(members, always))
	return func(yield func(Outlook) bool) {
		for _, b := range byRank(slices.Concat(v1.bundles, always)) { // v1 has all bundles that classic has
			s, updates := classic.Next(b)
			s1, updates1 := v1.Next(b)
			if _, ok := slices.BinarySearchFunc(listed, b, (*Bundle).compareRank); !ok && !updates && !updates1 {
				continue
			}
			outlook := Outlook{
				Package: p.Name, Channel: name, Installed: b.Name,
				Classic: classic.fate(b, paths), V1: v1.fate(b, paths),
			}
			if b.Version != nil {
				outlook.Version = b.Version.String()
			}
			outlook.Differs = s.To != s1.To || outlook.Classic.Outcome != outlook.V1.Outcome
			if !yield(outlook) {
				return
			}
		}
	}, err
}

func (p *Plan) fate(b *Bundle, path bool) Fate {
	at, hops, ok := p.End(b)
	f := Fate{Hops: max(hops, 0), End: at.Name, Loop: !ok, Outcome: Stay, Stranded: !p.Reaches(b)}
	if err := p.Err(at); err != nil {
		f.Outcome, f.Error = Failed, err.Error()
	}
	if s, updates := p.Next(b); updates {
		f.Next, f.By, f.Outcome = s.To.Name, s.By, Update
	}
	if path {
		steps, _ := p.Path(b)
		for _, s := range steps {
			f.Path = append(f.Path, s.To.Name)
		}
	}
	return f
}
