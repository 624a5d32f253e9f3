package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// several reports sources that look like the parent directory of several catalogs, such as catalogs/ with the catalogs
// v4.12 and v4.13: each directory in it defines packages, only once, and shares one with another directory. All other
// relations are left unchecked then, since each duplicate would be an error of its own.
func (c *Checker) several() bool {
	const rule = "duplicate-package"
	if len(c.sources) != 1 || c.sources[0].File != "" || c.v.off[rule] {
		return false
	}
	root := strings.TrimSuffix(c.sources[0].Name, "/") + "/"
	shares := map[string]bool{}                        // by directory
	var first, again *declcfg.Indexed[declcfg.Package] // the first package that is defined twice
	for _, p := range c.relations.index.Packages() {
		seen := map[string]bool{}
		for i, o := range p.Packages {
			dir, _, inDir := strings.Cut(strings.TrimPrefix(o.Meta.Pos.File, root), "/")
			if !inDir || seen[dir] {
				return false
			}
			seen[dir] = true
			shares[dir] = shares[dir] || len(p.Packages) > 1
			if i == 1 && first == nil {
				first, again = &p.Packages[0], &p.Packages[1]
			}
		}
	}
	dirs := slices.Sorted(maps.Keys(shares))
	if len(dirs) < 2 || slices.ContainsFunc(dirs, func(dir string) bool { return !shares[dir] }) {
		return false
	}
	names := strings.Join(dirs, ", ")
	if len(dirs) > 3 {
		names = dirs[0] + " to " + dirs[len(dirs)-1]
	}
	message := fmt.Sprintf("duplicate package %q: it is already defined at %s; %s looks like %s (%s)",
		again.Meta.Name, first.Meta.Pos, root, plural.Of(len(dirs), "catalog"), names)
	p := c.v.problem(Rules().Of(rule), again.Meta.Place("/name"), again.Meta, "/name", message)
	p.Fix = "check them one by one with --each " + root + ", or remove one of the definitions"
	c.keep(p)
	return true
}
