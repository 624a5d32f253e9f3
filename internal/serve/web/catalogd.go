package web

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/serve/store"
)

const jsonLines = "application/jsonl"

// connBytes is the approximate memory of a connection while it sends a response.
const connBytes = 32 << 10

func (h *handler) all(w http.ResponseWriter, r *http.Request) {
	h.withCatalog(w, r.PathValue("catalog"), func(c *Catalog) { h.respond(w, r, c.all()) })
}

func (h *handler) metas(w http.ResponseWriter, r *http.Request) {
	params := r.URL.Query() // as in catalogd, parameters that cannot be parsed count as absent
	if err := onlyNamed(params, "schema", "package", "name"); err != nil {
		http.Error(w, "400 Bad Request: "+err.Error(), http.StatusBadRequest)
		return
	}
	h.withCatalog(w, r.PathValue("catalog"), func(c *Catalog) {
		h.respond(w, r, c.metas(store.Query{
			Schema: params.Get("schema"), Package: params.Get("package"), Name: params.Get("name"),
		}))
	})
}

// onlyNamed returns an error if there are parameters with other names.
func onlyNamed(params url.Values, names ...string) error {
	known := "there are none"
	if len(names) > 0 {
		known = "want " + strings.Join(names, ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unknown parameter %q: %s", name, known)
		}
	}
	return nil
}

func (c *Catalog) all() body {
	plain := c.Objects.Plain()
	return body{
		contentType: jsonLines,
		tag:         c.Tag,
		modified:    c.Modified,
		size:        plain.Size(),
		write:       copyOf(plain),
		memory:      connBytes + plain.FrameSize(),
		seeker:      func() io.ReadSeeker { return plain },
		stored:      map[coding]*store.Reader{zstdCoding: c.Objects.Zstd(), gzipCoding: c.Objects.Gzip()},
	}
}

// copyOf returns a function that writes the whole content of r.
func copyOf(r *store.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := r.WriteTo(w)
		return err
	}
}

func (c *Catalog) metas(q store.Query) body {
	if q == (store.Query{}) {
		b := c.all()
		b.seeker = nil
		return b
	}
	found := c.Objects.Query(q)
	return body{
		contentType: jsonLines,
		tag:         c.Tag,
		modified:    c.Modified,
		size:        found.Size(),
		memory:      connBytes + found.FrameSize(),
		write: func(w io.Writer) error {
			for line, err := range found.Lines() {
				if err != nil {
					return err
				}
				if _, err := w.Write(line); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
