package filter

import (
	"slices"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Selects reports whether a selection names a package, or all packages. The name is as in a problem: [legible.Value].
func (s Selection) Selects(pkg string) bool {
	return len(s.Packages) == 0 ||
		slices.ContainsFunc(s.Packages, func(p Package) bool { return legible.Value(p.Name) == pkg })
}

// Preventing returns the problems that prevent every selection: the check stopped early, objects belong to no
// package, or a document that may have a part of a selected package cannot be read.
func (s Selection) Preventing(r *validate.Report) []*problem.Problem {
	return slices.DeleteFunc(slices.Clone(r.Problems), func(p *problem.Problem) bool {
		switch {
		case p.Rule != validate.Unreadable:
			return p.Rule != "" && (p.Package != "" || p.Bundle != "")
		case len(s.Packages) == 0:
			return false
		}
		return !slices.ContainsFunc(s.Packages, func(w Package) bool { return r.Concerns(p, w.Name) })
	})
}

// Problems returns the problems of the selected packages.
func (s Selection) Problems(r *validate.Report) []*problem.Problem {
	return slices.DeleteFunc(slices.Clone(r.Problems), func(p *problem.Problem) bool {
		return len(s.Packages) > 0 &&
			!slices.ContainsFunc(s.Packages, func(w Package) bool { return r.Concerns(p, w.Name) })
	})
}

// Problems returns the problems of the kept objects, and the problems of other objects of the same packages.
func (r *Result) Problems(report *validate.Report) (found, others []*problem.Problem) {
	for _, p := range report.Problems {
		i := slices.IndexFunc(r.Packages, func(s PackageSummary) bool { return report.Concerns(p, s.Name) })
		switch {
		case i < 0:
		case p.Rule == validate.Unreadable || isKept(p, r.Packages[i]):
			found = append(found, p)
		default:
			others = append(others, p)
		}
	}
	return found, others
}

// isKept reports whether a problem of a package is about a kept object.
func isKept(p *problem.Problem, pkg PackageSummary) bool {
	if p.Bundle == "" && p.Channel == "" {
		return true
	}
	return slices.ContainsFunc(pkg.Channels, func(c ChannelSummary) bool {
		is := func(name string) bool { return legible.Value(name) == p.Bundle }
		return (p.Channel == "" || legible.Value(c.Name) == p.Channel) &&
			(p.Bundle == "" || slices.ContainsFunc(c.Bundles, is))
	})
}
