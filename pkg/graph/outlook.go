package graph

import (
	"iter"
	"slices"
)

// An Outlook is the updates of an installed bundle that follows a channel.
type Outlook struct {
	Package   string `json:"package"`
	Channel   string `json:"channel"`
	Installed string `json:"installed"`        // the name of the bundle
	Version   string `json:"version,omitzero"` // "" if unknown
	Classic   Fate   `json:"classic"`
	V1        Fate   `json:"v1"`
	Differs   bool   `json:"differs"` // the next updates differ, or their outcomes do
}

// An Outcome is the answer of OLM about an installed bundle.
type Outcome string

// The outcomes.
const (
	Stay   Outcome = "stay"
	Update Outcome = "update"
	Failed Outcome = "error"
)

// A Fate is the updates of an installed bundle under one of the semantics.
type Fate struct {
	Next string `json:"next,omitzero"` // "" if there is none
	By   Edge   `json:"by,omitzero"`
	Hops int    `json:"hops"` // number of updates
	End  string `json:"end"`  // the last bundle; one of the loop if there is one
	Loop bool   `json:"loop,omitzero"`

	Outcome  Outcome `json:"outcome"`        // of the next update
	Error    string  `json:"error,omitzero"` // the answer of OLM at End, if that is an error
	Stranded bool    `json:"stranded"`       // the updates do not reach the Goal of the Plan

	// Path is every update, up to the first that closes a loop. It is nil unless requested.
	Path []string `json:"path,omitzero"`
}

// Outlooks yields the outlook of every bundle that the channel names or has an update for, in the order of Bundles, and
// of those in always. Without a channel, it is that of all bundles, for a Subscription and a ClusterExtension without
// one. The channels of o are ignored. If OLM Classic rejects the channel, Outlooks returns the error together with
// outlooks that have it too. With paths, it sets the Path of each Fate.
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
		for _, b := range byRank(slices.Concat(v1.bundles, always)) { // v1 has all bundles of classic
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
