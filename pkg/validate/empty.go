package validate

import (
	"io/fs"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// NoObjects is the name of the rule about catalogs without objects.
const NoObjects = "no-objects"

// noObjects reports sources that have no objects. If other problems may be the reason, it reports only a source that is
// a bundle.
func (v *validator) noObjects(sources []declcfg.Source, others bool) []*problem.Problem {
	if v.off[NoObjects] {
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
		problems = append(problems, v.problem(Rules().Of(NoObjects), declcfg.Pos{File: s.Name}, nil, "", what))
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
