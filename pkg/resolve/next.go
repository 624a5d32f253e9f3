package resolve

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Operator returns the operator that a bundle of the catalog is once it is installed: with its version, and with the
// properties that OLM writes into the annotation of its ClusterServiceVersion. It returns false if the catalog does not
// have the bundle.
func (c *Catalog) Operator(pkg, name string) (Installed, bool) {
	b := c.bundle(pkg, name)
	if b == nil {
		return Installed{}, false
	}
	in := Installed{Name: name, Properties: append([]Property{}, c.Properties(b.Meta)...)}
	if b.Value.Version != nil {
		in.Version = b.Value.Version.Semver
	}
	return in, true
}

// InstalledBundle returns a bundle of the catalog as a ClusterExtension has it once it is installed; nil if the catalog
// does not have it.
func (c *Catalog) InstalledBundle(pkg, name string) *InstalledBundle {
	b := c.bundle(pkg, name)
	if b == nil {
		return nil
	}
	return newInstalledBundle(name, b.Value.Image, b.Value.Version)
}

func newInstalledBundle(name, image string, v *declcfg.Version) *InstalledBundle {
	in := &InstalledBundle{Name: name, Image: image}
	if v != nil {
		in.Version, in.Release = v.Semver.String(), v.Release.String()
	}
	return in
}

func (c *Catalog) bundle(pkg, name string) *declcfg.Indexed[declcfg.BundleSummary] {
	p := c.Index.Package(pkg)
	if p == nil {
		return nil
	}
	for i := range p.Bundles {
		if b := &p.Bundles[i]; b.Value != nil && b.Value.Name == name {
			return b
		}
	}
	return nil
}

// Next returns the namespace once everything that the answer installs is running.
func (ns *Namespace) Next(answer *Classic) *Namespace {
	next := *ns
	installed := map[string]Installed{}
	for _, in := range ns.Installed {
		installed[in.Name] = in
	}
	for _, c := range answer.Install {
		delete(installed, c.Replaces)
	}
	for _, c := range answer.Install {
		for _, catalog := range ns.Catalogs {
			if catalog.Name == c.Catalog && catalog.Namespace == c.CatalogNamespace {
				installed[c.Bundle], _ = catalog.Operator(c.Package, c.Bundle)
			}
		}
	}
	next.Installed = nil
	for _, name := range slices.Sorted(maps.Keys(installed)) {
		next.Installed = append(next.Installed, installed[name])
	}
	next.Subscriptions = append(slices.Clone(ns.Subscriptions), answer.Generated...)
	for i := range next.Subscriptions {
		s := &next.Subscriptions[i]
		for _, c := range answer.Install {
			if s.follows(c) {
				s.InstalledCSV, s.CurrentCSV = c.Bundle, c.Bundle
			}
		}
	}
	return &next
}

// Path returns the answers one after the other, each about the namespace after the one before, up to the first that
// installs nothing, which is not returned unless it is the only one or an error. With loop, the last answer leads back
// to a namespace that was there before, as skipRanges can.
func (ns *Namespace) Path(ctx context.Context, opts Options) (answers []*Classic, loop bool, err error) {
	seen := map[string]bool{ns.state(): true}
	for {
		answer, err := ns.Classic(ctx, opts)
		if err != nil {
			return nil, false, err
		}
		if len(answers) > 0 && answer.Outcome == Resolved && len(answer.Install) == 0 {
			return answers, false, nil
		}
		answers = append(answers, answer)
		if len(answer.Install) == 0 {
			return answers, false, nil
		}
		ns = ns.Next(answer)
		if seen[ns.state()] {
			return answers, true, nil
		}
		seen[ns.state()] = true
	}
}

// state returns the names of what is installed.
func (ns *Namespace) state() string {
	var names []string
	for _, in := range ns.Installed {
		names = append(names, in.Name)
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// Changes reports whether OLM v1 installs another bundle than the one that is installed.
func (e *Extension) Changes(answer *V1) bool {
	return answer.Choice != nil && (e.Installed == nil || e.Installed.Name != answer.Choice.Bundle)
}

// Next returns the ClusterExtension once the choice of the answer is installed.
func (e *Extension) Next(answer *V1) *Extension {
	next := *e
	c := answer.Choice
	next.Installed = newInstalledBundle(c.Bundle, c.Image, c.version)
	return &next
}

// Path is [Namespace.Path] for OLM v1.
func (e *Extension) Path(catalogs []*Catalog) (answers []*V1, loop bool) {
	seen := map[string]bool{}
	for {
		if e.Installed != nil {
			if seen[e.Installed.Name] {
				return answers, true
			}
			seen[e.Installed.Name] = true
		}
		answer := e.V1(catalogs)
		changes := e.Changes(answer)
		if len(answers) > 0 && !changes && answer.Outcome != Failed {
			return answers, false
		}
		answers = append(answers, answer)
		if !changes {
			return answers, false
		}
		e = e.Next(answer)
	}
}
