package validate

import (
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// portable returns copies of the sources that call keep for each input that opm reads but upstream rejects.
func (v *validator) portable(sources []declcfg.Source, keep func(...*problem.Problem)) []declcfg.Source {
	const rule = "portable"
	if v.off[rule] {
		return sources
	}
	sources = slices.Clone(sources)
	for i := range sources {
		sources[i].Note = func(e *declcfg.Error) {
			keep(v.problem(Rules().Of(rule), e.Pos, nil, "", e.Err.Error()))
		}
	}
	return sources
}

// servedNames checks the schema and package of an object of a custom schema. Upstream's registry serves the object only
// if both names begin with a letter or digit and have no other characters than letters, digits, '.', '-' and '_'.
func (s *scope) servedNames() {
	const rule, why = "portable", "which upstream refuses to serve: want letters, digits, dots, hyphens and underscores"
	if !isServed(s.meta.Schema) {
		s.add(rule, "/schema", "custom schema %q, "+why, s.meta.Schema)
	}
	if pkg := s.meta.Package; pkg != "" && !isServed(pkg) {
		s.add(rule, "/package", "object of a custom schema in package %q, "+why, pkg)
	}
}

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
