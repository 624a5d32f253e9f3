package list

import (
	"io"
	"slices"
	"strconv"

	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/search"
)

// MatchesResult returns the answer with these matches. Text has a column for the catalog if any match has one.
func MatchesResult(all []search.Match) *output.Result {
	matches := mapped(slices.Values(all), func(m search.Match) match { return match{m} })
	r := Result(matches)
	if !slices.ContainsFunc(all, func(m search.Match) bool { return m.Catalog != "" }) {
		return r
	}
	r.Other[output.Text] = func(w io.Writer) error {
		return writeTable(w, mapped(matches, func(m match) catalogMatch { return catalogMatch{m} }), false)
	}
	return r
}

// A match is a row with a match of a search.
type match struct{ search.Match }

// A catalogMatch is a text row with a column for the catalog.
type catalogMatch struct{ match }

func (m catalogMatch) layout() layout {
	return layout{columns: append([]string{"CATALOG"}, m.match.layout().columns...)}
}

func (m catalogMatch) cells(wide bool) []string {
	return append([]string{m.Catalog}, m.match.cells(wide)...)
}

func (m match) title() string {
	if m.Field == search.FieldBundle {
		return m.Value
	}
	return m.Package
}

func (match) layout() layout {
	return layout{columns: []string{"PACKAGE", "MATCH", "VALUE", "BUNDLES", "HIGHEST"}}
}

func (m match) cells(bool) []string {
	bundles, highest := "", ""
	if len(m.Bundles) > 0 {
		bundles, highest = strconv.Itoa(len(m.Bundles)), m.Bundles[0].Name
	}
	return []string{m.Package, string(m.Field), m.Value, bundles, highest}
}
