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
