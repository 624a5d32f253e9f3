package graph

import (
	"regexp"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// NewPackages builds the graphs of a package in a catalog and in the catalog that replaces it, for users of the first
// one. before and after may be nil, but not both.
//
// Users may have installed all bundles of the graph before, so the graph after has them too, as virtual bundles if
// necessary. A bundle that the catalog before only names, since it was pruned, has the version that it has in the
// catalog after, or else the version in its name, so that skipRanges apply to it.
func NewPackages(before, after *declcfg.PackageIndex) (was, is *Package) {
	if before == nil {
		before = &declcfg.PackageIndex{Name: after.Name}
	}
	if after == nil {
		after = &declcfg.PackageIndex{Name: before.Name}
	}
	was = NewPackage(before)
	if pruned := prunedOf(was, after); pruned != nil {
		was = NewPackage(before, pruned...)
	}
	var installed []declcfg.BundleSummary
	for _, b := range was.Bundles {
		installed = append(installed, declcfg.BundleSummary{Name: b.Name, Version: b.Version, Deprecated: b.Prohibited})
	}
	return was, NewPackage(after, installed...)
}

// prunedOf returns the virtual bundles of a package with their versions.
func prunedOf(p *Package, after *declcfg.PackageIndex) (pruned []declcfg.BundleSummary) {
	versions := map[string]*declcfg.Version{}
	for _, b := range p.Bundles {
		if b.Virtual {
			versions[b.Name] = versionInName(b.Name)
		}
	}
	seen := map[string]bool{}
	for _, b := range after.Bundles {
		if b.Value == nil || seen[b.Value.Name] {
			continue
		}
		seen[b.Value.Name] = true
		if _, ok := versions[b.Value.Name]; ok {
			versions[b.Value.Name] = b.Value.Version
		}
	}
	for name, version := range versions {
		pruned = append(pruned, declcfg.BundleSummary{Name: name, Version: version})
	}
	return pruned
}

// endsInVersion matches a bundle name that ends in a version, such as kiln.v1.0.0.
var endsInVersion = regexp.MustCompile(`[.-]v?(\d+\.\d+\.\d+.*)$`)

// versionInName returns the version at the end of a bundle name, or nil.
func versionInName(bundle string) *declcfg.Version {
	found := endsInVersion.FindStringSubmatch(bundle)
	if found == nil {
		return nil
	}
	v, err := declcfg.ParseVersion(found[1], "")
	if err != nil {
		return nil
	}
	return &v
}
