package problem

import (
	"fmt"
	"maps"
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
		nth                           int // among equal problems of a catalog
	}
	var all []*Problem
	listed := map[identity]*Problem{}
	for _, r := range reports {
		seen := map[identity]int{}
		for _, p := range r.Problems {
			id := identity{p.Rule, p.Package, withoutIndices(p.Path), p.Message, p.Fix, p.Severity, 0}
			n := seen[id]
			seen[id]++
			id.nth = n
			same := listed[id]
			if same == nil {
				same = p
				same.Catalogs = nil
				listed[id] = same
				all = append(all, same)
			}
			same.Catalogs = append(same.Catalogs, r.Catalog)
		}
	}
	return all
}

// withoutIndices returns a path without the indices of lists, which change with every insertion before them.
func withoutIndices(path string) string {
	if !strings.Contains(path, "[") { // most paths
		return path
	}
	return indices.ReplaceAllString(path, "[]")
}

// maxCatalogs is the number of catalogs that the text of a problem names.
const maxCatalogs = 4

// inCatalogs returns the end of the text of a problem: the names of its catalogs, or "" without any.
func inCatalogs(names []string) string {
	switch n := len(names); {
	case n == 0:
		return ""
	case n > maxCatalogs:
		return fmt.Sprintf(" (in %d catalogs: %s, … %s)", n, strings.Join(names[:maxCatalogs-1], ", "), names[n-1])
	}
	return " (in " + strings.Join(names, ", ") + ")"
}

// unite returns the first problem of a group that is printed on one line, with the catalogs of all.
func unite(first *Problem, others []*Problem) *Problem {
	known := map[string]bool{}
	for _, p := range others {
		for _, name := range p.Catalogs {
			known[name] = true
		}
	}
	maps.DeleteFunc(known, func(name string, _ bool) bool { return slices.Contains(first.Catalogs, name) })
	if len(known) == 0 {
		return first
	}
	all := *first
	all.Catalogs = slices.Concat(first.Catalogs, slices.Sorted(maps.Keys(known)))
	return &all
}
