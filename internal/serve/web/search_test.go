package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/search"
	"github.com/opm-toolchain/opm/internal/serve/web"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// searchView is the answer of /ui/v1/search.
type searchView struct {
	Packages []struct {
		Name    string
		Count   int
		Matches []struct {
			Field, Value, Highest string
			Bundles               int
		}
	}
}

// TestSearchIsThatOfOpm checks that the page finds what opm search prints, in the same order.
func TestSearchIsThatOfOpm(t *testing.T) {
	shared.OneGoroutine(t)
	t.Run("examples", func(t *testing.T) { checkSearches(t, "../../../examples/catalog") })
	t.Run("published", func(t *testing.T) { checkSearches(t, publishedCatalogs(t)...) })
}

func checkSearches(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		h := handlerOf(t, catalogOf(t, "c", dirSource(dir)))
		hits := 0
		for _, text := range []string{
			"kiln", "KILN", "pottery", "Kiln.crafts.example", "crafts.example/v1", "registry.example", "operator", "v1.0", "fires",
			"red hat", "rabbitmq topology", "monitoring database", "quay.io", "sha256:0", "e", ".", " ", "no such thing", "<b>&%x=1",
		} {
			want, _, err := search.Search(t.Context(), text, "", dirSource(dir))
			if err != nil {
				t.Fatal(err)
			}
			hits += len(want)
			checkSearch(t, h, text, want)
		}
		if hits == 0 {
			t.Errorf("nothing is found in %s", dir)
		}
	}
}

// checkSearch checks the answers to a search in all packages, which may be cut short, and in each that is found.
func checkSearch(t *testing.T, h http.Handler, text string, want []search.Match) {
	t.Helper()
	const limit = 5
	rows := func(v searchView) (all []string) {
		for _, p := range v.Packages {
			for _, m := range p.Matches {
				all = append(all, fmt.Sprint(p.Name, p.Count, m.Field, m.Value, m.Bundles, m.Highest))
			}
		}
		return all
	}
	byPackage := map[string][]string{}
	for _, m := range want {
		byPackage[m.Package] = append(byPackage[m.Package], "")
	}
	var all, some []string // the rows that are wanted
	done := map[string]int{}
	for _, m := range want {
		highest := ""
		if len(m.Bundles) > 0 {
			highest = m.Bundles[0].Name
		}
		row := fmt.Sprint(m.Package, len(byPackage[m.Package]), m.Field, m.Value, len(m.Bundles), highest)
		all = append(all, row)
		if done[m.Package]++; done[m.Package] <= limit {
			some = append(some, row)
		}
	}
	found := decode[searchView](t, h, address("search", "catalog", "c", "text", text))
	if got := rows(found); !slices.Equal(got, some) {
		t.Errorf("%q: got\n%s\nwant\n%s", text, strings.Join(got, "\n"), strings.Join(some, "\n"))
	}
	var got []string
	for _, p := range found.Packages[:min(5, len(found.Packages))] {
		got = append(got, rows(decode[searchView](t, h, address("search", "catalog", "c", "text", text, "package", p.Name)))...)
	}
	if len(got) > len(all) || !slices.Equal(got, all[:len(got)]) {
		t.Errorf("%q, package by package: got\n%s\nwant\n%s", text, strings.Join(got, "\n"), strings.Join(all, "\n"))
	}
}

// TestSearchAgain checks that a changed catalog is searched, not the previous one.
func TestSearchAgain(t *testing.T) {
	serving := catalogOf(t, "c", textSource("{schema: olm.package, name: pine}"))
	h := web.New(web.Options{Acquire: func() ([]web.Catalog, func()) { return []web.Catalog{serving}, func() {} }})
	names := func() (all []string) {
		for _, p := range decode[searchView](t, h, address("search", "catalog", "c", "text", "p")).Packages {
			all = append(all, p.Name)
		}
		return all
	}
	if got := names(); !slices.Equal(got, []string{"pine"}) {
		t.Errorf("got %q", got)
	}
	serving = catalogOf(t, "c", textSource("{schema: olm.package, name: poplar}"))
	if got := names(); !slices.Equal(got, []string{"poplar"}) {
		t.Errorf("after a change: got %q", got)
	}
}
