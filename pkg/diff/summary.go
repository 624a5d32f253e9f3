package diff

import "reflect"

// summarize sets the summary.
func (r *Report) summarize() {
	s := Summary{}
	for _, p := range r.Packages {
		if !p.onlyForm() {
			s.Packages.add(p.Change)
		}
		s.Stranded += countInstalls(p.Stranded)
		for _, c := range p.Channels {
			s.Channels.add(c.Change)
		}
		for _, b := range p.Bundles {
			if b.Form == nil {
				s.Bundles.add(b.Change)
			}
		}
		if p.Change == Changed {
			s.addPackage(p)
		}
	}
	r.Summary = s
}

// summary returns the summary of one package.
func (p *Package) summary() Summary {
	r := Report{Packages: []Package{*p}}
	r.summarize()
	return r.Summary
}

// count counts the changes of a kind in a package.
func (p *Package) count(k Kind) int {
	r := Report{Summary: p.summary()}
	return r.Count(k)
}

// onlyForm reports whether only the form of the metadata of bundles changed.
func (p *Package) onlyForm() bool {
	onlyBundles := Package{Name: p.Name, Change: Changed, Bundles: p.Bundles}
	return reflect.DeepEqual(*p, onlyBundles) && len(p.reformed()) == len(p.Bundles)
}

// reformed returns the bundles with metadata in another form.
func (p *Package) reformed() []Bundle { return p.bundles(func(b Bundle) bool { return b.Form != nil }) }

// bundles returns the bundles for which is returns true.
func (p *Package) bundles(is func(Bundle) bool) []Bundle {
	var all []Bundle
	for _, b := range p.Bundles {
		if is(b) {
			all = append(all, b)
		}
	}
	return all
}

func (c *Counts) add(change Change) {
	switch change {
	case Added:
		c.Added++
	case Removed:
		c.Removed++
	case Changed:
		c.Changed++
	}
}

// addPackage counts the changes inside a package of both catalogs.
func (s *Summary) addPackage(p Package) {
	if p.DefaultChannel != nil {
		s.DefaultChannels++
	}
	for _, c := range p.Channels {
		s.Edges += len(c.Edges)
		if c.Change == Changed && c.Heads != nil {
			s.Heads++
		}
	}
	for _, b := range p.Bundles {
		if b.Form != nil {
			s.Reformed++
		}
	}
	s.Deprecations += len(p.Deprecations)
	s.Rerouted += countInstalls(p.Reroutes)
}

// countInstalls counts the pairs of a channel and a bundle, in either semantics.
func countInstalls[T interface {
	each(func(channel, bundle string))
}](all []T) int {
	seen := map[[2]string]bool{}
	for _, installs := range all {
		installs.each(func(channel, bundle string) { seen[[2]string{channel, bundle}] = true })
	}
	return len(seen)
}
