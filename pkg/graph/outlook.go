package graph

import "slices"

// An Outlook is the updates of an installed bundle that follows a channel.
type Outlook struct {
	Package   string `json:"package"`
	Channel   string `json:"channel"`
	Installed string `json:"installed"`        // the name of the bundle
	Version   string `json:"version,omitzero"` // "" if unknown
	Classic   Fate   `json:"classic"`
	V1        Fate   `json:"v1"`
	Differs   bool   `json:"differs"` // the next updates differ
}

// A Fate is the updates of an installed bundle under one of the semantics.
type Fate struct {
	Next string `json:"next,omitzero"` // "" if there is none
	By   Edge   `json:"by,omitzero"`
	Hops int    `json:"hops"` // number of updates
	End  string `json:"end"`  // the last bundle; one of the loop if there is one
	Loop bool   `json:"loop,omitzero"`

	// Path is every update, up to the first that closes a loop. It is nil unless requested.
	Path []string `json:"path,omitzero"`
}

// Outlooks returns the outlook of every bundle that the channel names or has an update for, in the order of Bundles.
// The channels of o are ignored. If OLM Classic rejects the channel, Outlooks returns the error together with outlooks
// without Classic updates. With paths, it sets the Path of each Fate.
func (p *Package) Outlooks(c *Channel, o V1Options, paths bool) ([]Outlook, error) {
	classic, err := p.Classic(c)
	o.Channels = []*Channel{c}
	v1 := p.V1(o)
	all := make([]Outlook, 0, len(c.members))
	for _, b := range v1.bundles { // and those of classic
		s, updates := classic.Next(b)
		s1, updates1 := v1.Next(b)
		if _, member := slices.BinarySearchFunc(c.members, b, (*Bundle).compareRank); !member && !updates && !updates1 {
			continue
		}
		version := ""
		if b.Version != nil {
			version = b.Version.String()
		}
		all = append(all, Outlook{
			Package: p.Name, Channel: c.Name, Installed: b.Name, Version: version,
			Classic: classic.fate(b, paths), V1: v1.fate(b, paths), Differs: s.To != s1.To,
		})
	}
	return all, err
}

func (p *Plan) fate(b *Bundle, path bool) Fate {
	at, hops, ok := p.End(b)
	f := Fate{Hops: max(hops, 0), End: at.Name, Loop: !ok}
	if s, updates := p.Next(b); updates {
		f.Next, f.By = s.To.Name, s.By
	}
	if path {
		steps, _ := p.Path(b)
		for _, s := range steps {
			f.Path = append(f.Path, s.To.Name)
		}
	}
	return f
}
