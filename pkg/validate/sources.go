package validate

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// several reports sources that look like several catalogs. The other relations are not checked then, because each
// duplicate would be an error of its own.
func (c *Checker) several() bool {
	if len(c.sources) != 1 || c.sources[0].File != "" || c.v.isOff(ruleDuplicatePackage) {
		return false
	}
	looks := Several(c.sources[0].Name, &c.relations.index)
	if looks == "" {
		return false
	}
	var twice []declcfg.Indexed[declcfg.Package]
	for _, defined := range c.relations.index.Definitions() {
		if twice == nil && len(defined) > 1 {
			twice = defined
		}
	}
	first, again := twice[0].Meta, twice[1].Meta
	message := fmt.Sprintf("duplicate package %q: it is already defined at %s; %s", again.Name, first.Pos, looks)
	p := c.v.problem(ruleDuplicatePackage, again.Place("/name"), again, "/name", message)
	p.Fix = "check them one by one with --each " + root(c.sources[0].Name) + ", or remove one of the definitions"
	c.keep(p)
	return true
}

// Several returns a sentence about a directory, given its objects, if it looks like the parent directory of several
// catalogs, such as catalogs/ with the catalogs v4.12 and v4.13: each directory in it defines packages, only once, and
// shares one with another directory. It returns "" for other directories.
func Several(dir string, index *declcfg.Index) string {
	shares := map[string]bool{} // by directory
	for _, defined := range index.Definitions() {
		seen := map[string]bool{}
		for _, o := range defined {
			name, _, inDir := strings.Cut(strings.TrimPrefix(o.Meta.Pos.File, root(dir)), "/")
			if !inDir || seen[name] {
				return ""
			}
			seen[name] = true
			shares[name] = shares[name] || len(defined) > 1
		}
	}
	dirs := slices.SortedFunc(maps.Keys(shares), graph.CompareChannels)
	if len(dirs) < 2 || slices.ContainsFunc(dirs, func(name string) bool { return !shares[name] }) {
		return ""
	}
	names := strings.Join(dirs, ", ")
	if len(dirs) > 3 {
		names = dirs[0] + " to " + dirs[len(dirs)-1]
	}
	return fmt.Sprintf("%s looks like %s (%s)", root(dir), plural.Of(len(dirs), "catalog"), names)
}

// root returns the name of a directory with a slash at the end.
func root(dir string) string { return strings.TrimSuffix(dir, "/") + "/" }

// NoObjects is the name of the rule about catalogs without objects.
const NoObjects = "no-objects"

// noObjects reports sources that have no objects. If other problems may be the reason, it reports only a source that is
// a bundle.
func (v *validator) noObjects(sources []declcfg.Source, others bool) []*problem.Problem {
	if v.isOff(ruleNoObjects) {
		return nil
	}
	var problems []*problem.Problem
	for _, s := range sources {
		what := "the catalog has no objects"
		switch {
		case isBundle(s):
			what = "this is a bundle, not a catalog; run: opm bundle validate " + s.Name
		case others:
			continue
		}
		problems = append(problems, v.problem(ruleNoObjects, declcfg.Pos{File: s.Name}, nil, "", what))
	}
	return problems
}

// isBundle reports whether a source has the manifests and metadata directories of a bundle.
func isBundle(s declcfg.Source) bool {
	for _, dir := range []string{"manifests", "metadata"} {
		if info, err := fs.Stat(s.FS, dir); s.File != "" || err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// portable returns copies of the sources that call keep for each input that opm reads but upstream rejects.
func (v *validator) portable(sources []declcfg.Source, keep func(...*problem.Problem)) []declcfg.Source {
	sources = slices.Clone(sources)
	if v.isOff(rulePortable) {
		return sources
	}
	for i := range sources {
		sources[i].Note = func(e *declcfg.Error) {
			keep(v.problem(rulePortable, e.Pos, nil, "", e.Err.Error()))
		}
	}
	return sources
}

// isServed reports whether upstream's registry serves the objects of a custom schema with this schema or package: the
// name begins with a letter or digit and has no other characters than letters, digits, '.', '-' and '_'.
func isServed(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '-' || c == '_'):
		default:
			return false
		}
	}
	return true
}
