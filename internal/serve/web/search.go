package web

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/opm-toolchain/opm/internal/search"
	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// searchView is the response to /ui/v1/search: the results of `opm search`, in its order.
type searchView struct {
	Packages []foundPackage `json:"packages"`
}

type foundPackage struct {
	Name    string       `json:"name"`
	Count   int          `json:"count"`   // number of all matches
	Matches []foundValue `json:"matches"` // the first matches, or all if the request names the package
}

type foundValue struct {
	Field   search.Field `json:"field"`
	Value   string       `json:"value"`
	Bundles int          `json:"bundles"` // number of bundles with the value
	Highest string       `json:"highest"` // the bundle with the highest version; "" if there are no bundles
}

const (
	shownMatches   = 5        // of each package
	maxSearchIndex = 64 << 20 // bytes
)

func (h *handler) search(w http.ResponseWriter, r *http.Request) {
	params, ok := query(w, r, "catalog", "text", "package")
	if !ok {
		return
	}
	text, pkg := params.Get("text"), params.Get("package")
	if text == "" {
		http.Error(w, "text is empty", http.StatusBadRequest)
		return
	}
	h.withCatalog(w, params.Get("catalog"), func(c *Catalog) {
		index, err := h.indexes.of(r.Context(), c, func() (*search.Index, error) {
			index, resize, err := limitViews(h, r, c.readMemory(), c.searchIndex)
			resize(0)
			return index, err
		})
		memory := 0
		switch {
		case err == nil && index == nil:
			http.Error(w, search.ErrTooLarge.Error()+"; run: opm search", http.StatusNotImplemented)
			return
		case err == nil:
			memory = objectFactor * index.PackageSize(pkg)
		}
		h.show(w, r, jsonView, memory, func() ([]byte, error) {
			if err != nil {
				return nil, err
			}
			return encode(find(r.Context(), index, text, pkg))
		})
	})
}

// searchIndex builds the search index of a catalog. It returns nil if the index is too large.
func (c *Catalog) searchIndex() (*search.Index, error) {
	index, err := search.NewIndex(c.searchedObjects(), maxSearchIndex)
	if errors.Is(err, search.ErrTooLarge) {
		return nil, nil
	}
	return index, err
}

// searchedObjects yields the packages and bundles of a catalog for its search index. Each is valid until the next one.
// An error is the last.
func (c *Catalog) searchedObjects() iter.Seq2[*declcfg.Object, error] {
	return func(yield func(*declcfg.Object, error) bool) {
		for _, schema := range []string{declcfg.SchemaPackage, declcfg.SchemaBundle} {
			for line, err := range c.Objects.Query(store.Query{Schema: schema}).Lines() {
				var o *declcfg.Object
				if err == nil {
					o, err = declcfg.NewObject(declcfg.Pos{}, line)
				}
				if !yield(o, err) || err != nil {
					return
				}
			}
		}
	}
}

func find(ctx context.Context, index *search.Index, text, pkg string) (*searchView, error) {
	limit := shownMatches
	if pkg != "" {
		limit = 0
	}
	found, err := index.Search(ctx, text, pkg, limit)
	if err != nil {
		return nil, err
	}
	v := &searchView{Packages: []foundPackage{}}
	for _, p := range found {
		one := foundPackage{Name: p.Package, Count: p.Count}
		for _, m := range p.Matches {
			value := foundValue{Field: m.Field, Value: m.Value, Bundles: len(m.Bundles)}
			if len(m.Bundles) > 0 {
				value.Highest = m.Bundles[0].Name
			}
			one.Matches = append(one.Matches, value)
		}
		v.Packages = append(v.Packages, one)
	}
	return v, nil
}
