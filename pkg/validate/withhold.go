package validate

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// Withheld has the packages that must be left out of a catalog to make it valid, each with its first error. The key ""
// is for objects without a package. A package is also withheld if an unreadable file may contain a part of it.
type Withheld map[string]*problem.Problem

// Withheld returns the packages to withhold, or nil for a valid catalog.
func (r *Report) Withheld() Withheld {
	var all Withheld
	hold := func(name string, p *problem.Problem) {
		if all == nil {
			all = Withheld{}
		}
		if all[name] == nil {
			all[name] = p
		}
	}
	for _, p := range r.Problems {
		switch {
		case p.Severity != problem.Error:
		case p.Rule != Unreadable && p.Rule != "" && !r.several:
			hold(p.Package, p)
		default:
			known := false
			for _, name := range r.Index.Names() {
				if r.Concerns(p, name) {
					hold(name, p)
					known = true
				}
			}
			if !known {
				hold("", p)
			}
		}
	}
	return all
}

// Concerns reports whether an error is about a package, or about text that may have a part of it.
func (r *Report) Concerns(p *problem.Problem, pkg string) bool {
	switch {
	case p.Rule == "" || r.several: // without a rule, the check stopped early
		return true
	case p.Rule == Unreadable:
		return r.unreadable.mayHave(pkg)
	}
	return p.Package == legible.Value(pkg)
}

// Unusable returns the bundles that have errors of their own, or that are missing, by package and name, each with its
// first error, and the packages with other errors. Without these, and without the entries of the bundles, a catalog
// whose channels are repaired is valid.
func (r *Report) Unusable() (Withheld, map[string]map[string]*problem.Problem) {
	bundles := map[string]map[string]*problem.Problem{}
	others := *r
	others.Problems = nil
	for _, p := range r.Problems {
		if p.Severity != problem.Error || p.Package == "" || p.Bundle == "" || p.Rule == Unreadable || r.several {
			others.Problems = append(others.Problems, p)
			continue
		}
		if bundles[p.Package] == nil {
			bundles[p.Package] = map[string]*problem.Problem{}
		}
		if bundles[p.Package][p.Bundle] == nil {
			bundles[p.Package][p.Bundle] = p
		}
	}
	return others.Withheld(), bundles
}

// HasAll reports whether all packages of the catalog are withheld.
func (w Withheld) HasAll(index *declcfg.Index) bool {
	for name, defined := range index.Definitions() {
		if len(defined) > 0 && w[name] == nil {
			return false
		}
	}
	return true
}

// WithheldText returns the beginning of the message about a withheld package; "" stands for objects without a package.
func WithheldText(name string) string {
	if name == "" {
		return "what belongs to no package is withheld"
	}
	return fmt.Sprintf("package %q is withheld", legible.Value(name))
}

// Names returns the names of the packages, sorted.
func (w Withheld) Names() []string { return slices.Sorted(maps.Keys(w)) }

// Without returns the sources without the withheld packages and without unreadable documents.
func (w Withheld) Without(sources ...declcfg.Source) []declcfg.Source {
	sources = slices.Clone(sources)
	for i := range sources {
		sources[i].Withheld = set(w.Names())
	}
	return sources
}

// unreadableParts are the unreadable files and documents of a catalog. Objects that may be in them are not reported as
// missing.
type unreadableParts struct {
	everything bool            // objects may be missing from any package
	packages   map[string]bool // packages that unreadable documents mention
	dirs       map[string]bool // directories of files whose packages are unknown
}

func (u *unreadableParts) add(err error) {
	e, ok := errors.AsType[*declcfg.Error](err)
	switch {
	case !ok:
		u.everything = true
	case e.Lost == nil:
		u.dirs = with(u.dirs, path.Dir(e.Pos.File))
	default:
		for _, name := range e.Lost {
			u.packages = with(u.packages, name)
		}
	}
}

// assignDirs assigns each unreadable file to the packages that it may belong to, once everything else is read: the
// packages with objects in its directory or, if the directory has no objects, all packages.
func (u *unreadableParts) assignDirs(x *declcfg.Index) {
	if len(u.dirs) == 0 {
		return
	}
	known := map[string]bool{}
	for p := range x.Each() {
		for _, m := range p.Metas() {
			dir := path.Dir(m.Pos.File)
			known[dir] = true
			if u.dirs[dir] {
				u.packages = with(u.packages, p.Name)
			}
		}
	}
	for dir := range u.dirs {
		if !known[dir] {
			u.everything = true
		}
	}
}

// mayHave reports whether objects of the package may be in unreadable files or documents.
func (u *unreadableParts) mayHave(pkg string) bool { return u.everything || u.packages[pkg] }

func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}
