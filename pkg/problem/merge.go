package problem

import (
	"fmt"
	"slices"
	"strings"
)

// A CatalogReport has the problems of one of several catalogs.
type CatalogReport struct {
	Catalog  string // name
	Problems []*Problem
}

// Merge returns the problems of several catalogs in one list, in the order of the reports. A problem that several
// catalogs have is listed once, at its position in the first of them. [Problem.Catalogs] is set in all.
//
// Two problems are the same if only their positions and the indices in their paths differ. If a catalog has the same
// problem n times, it is listed n times.
func Merge(reports []CatalogReport) []*Problem {
	type identity struct {
		rule, pkg, path, message, fix string
		severity                      Severity
	}
	type equal struct {
		listed []*Problem
		report int // index of the last report with such a problem
		n      int // number of such problems in it
	}
	var all []*Problem
	known := map[identity]*equal{}
	for i, r := range reports {
		for _, p := range r.Problems {
			id := identity{p.Rule, p.Package, withoutIndices(p.Path), p.Message, p.Fix, p.Severity}
			e := known[id]
			if e == nil {
				e = &equal{report: i}
				known[id] = e
			}
			if e.report != i {
				e.report, e.n = i, 0
			}
			if e.n == len(e.listed) {
				p.Catalogs = nil
				e.listed = append(e.listed, p)
				all = append(all, p)
			}
			same := e.listed[e.n]
			same.Catalogs = append(same.Catalogs, r.Catalog)
			e.n++
		}
	}
	return all
}

// withoutIndices returns a path without the indices of lists, which change with every insertion before them.
func withoutIndices(path string) string {
	var text strings.Builder
	for {
		before, rest, found := strings.Cut(path, "[")
		if !found && text.Len() == 0 {
			return path
		}
		text.WriteString(before)
		if !found {
			return text.String()
		}
		text.WriteByte('[')
		if digits := strings.TrimLeft(rest, "0123456789"); digits != rest && strings.HasPrefix(digits, "]") {
			rest = digits
		}
		path = rest
	}
}

// maxCatalogs is the number of catalogs that the text of a problem names.
const maxCatalogs = 4

// inCatalogs names the catalogs of a problem.
func inCatalogs(names []string) string {
	if n := len(names); n > maxCatalogs {
		return fmt.Sprintf("in %d catalogs: %s, … %s", n, strings.Join(names[:maxCatalogs-1], ", "), names[n-1])
	}
	return "in " + strings.Join(names, ", ")
}

// otherCatalogs returns the names of the catalogs that problems have and the first problem does not, each once.
func otherCatalogs(first *Problem, problems []*Problem) (names []string) {
	for _, p := range problems {
		for _, name := range p.Catalogs {
			if !slices.Contains(first.Catalogs, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
