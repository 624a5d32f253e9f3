package graph

// Find returns the bundle of that name or, if there is none, those of that version, with or without the release:
// 1.0.0-1 or 1.0.0. They are in the order of Bundles.
func (p *Package) Find(nameOrVersion string) []*Bundle {
	if b := p.Bundle(nameOrVersion); b != nil {
		return []*Bundle{b}
	}
	var found []*Bundle
	for _, b := range p.Bundles {
		if b.Version != nil && (b.Version.String() == nameOrVersion || b.semver().String() == nameOrVersion) {
			found = append(found, b)
		}
	}
	return found
}
