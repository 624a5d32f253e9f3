package graph

// Find returns the bundle with the given name or, if there is none, all bundles with the given version, in the order of
// Bundles. The version may include the release or omit it: 1.0.0-1 or 1.0.0.
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
