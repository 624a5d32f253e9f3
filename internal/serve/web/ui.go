package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
)

var (
	//go:embed page/page.html
	pageHTML []byte
	//go:embed page/page.css
	pageCSS []byte
	//go:embed page/page.js
	pageJS []byte
)

// pagePolicy lets the page load only from its own server, and show icons and drawings.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// drawingPolicy lets the page show a drawing in a frame. The drawing is a page with a policy of its own.
const drawingPolicy = "frame-ancestors 'self'"

// picturePolicy keeps a picture that is opened on its own from running or loading anything.
const picturePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// contentOf returns a body whose tag is computed from its bytes.
func contentOf(contentType string, data []byte) body {
	sum := sha256.Sum256(data)
	return body{
		contentType: contentType,
		tag:         hex.EncodeToString(sum[:12]),
		size:        int64(len(data)),
		write:       func(w io.Writer) error { _, err := w.Write(data); return err },
	}
}

// query returns the parameters of a request of the page. If they are invalid, it sends an error and returns false.
func query(w http.ResponseWriter, r *http.Request, names ...string) (url.Values, bool) {
	params, err := url.ParseQuery(r.URL.RawQuery)
	if err == nil {
		err = onlyNamed(params, names...)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, false
	}
	return params, true
}

// view returns a handler that sends the result of produce as JSON, or status 404 if it is nil. The arguments of produce
// are the catalog that a request names, and the parameters of the request. memory returns the bytes that it uses.
func view[T any](
	h *handler, memory func(c *Catalog, params url.Values) int,
	produce func(ctx context.Context, c *Catalog, params url.Values) (*T, error), names ...string,
) http.HandlerFunc {
	names = append([]string{"catalog"}, names...)
	return func(w http.ResponseWriter, r *http.Request) {
		params, ok := query(w, r, names...)
		if !ok {
			return
		}
		h.withCatalog(w, params.Get("catalog"), func(c *Catalog) {
			h.show(w, r, jsonView, memory(c, params), func() ([]byte, error) {
				return encode(produce(r.Context(), c, params))
			})
		})
	}
}

// A viewType is the type of a view, and its Content-Security-Policy; "" means none.
type viewType struct{ contentType, policy string }

var jsonView = viewType{contentType: "application/json"}

// encode returns a view as JSON, or nil if there is none.
func encode[T any](v *T, err error) ([]byte, error) {
	if err != nil || v == nil {
		return nil, err
	}
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true))
}

// show produces a view and sends it, or status 404 if it is nil. For memory see limitViews.
func (h *handler) show(
	w http.ResponseWriter, r *http.Request, t viewType, memory int, produce func() ([]byte, error),
) {
	data, resize, err := limitViews(h, r, memory, produce)
	defer resize(0)
	switch {
	case err != nil && r.Context().Err() != nil: // the client is gone
	case err != nil:
		h.fail(w, err)
	case data == nil:
		httpError(w, http.StatusNotFound)
	default:
		resize(len(data))
		if t.policy != "" {
			w.Header().Set("Content-Security-Policy", t.policy)
		}
		h.respond(w, r, contentOf(t.contentType, data))
	}
}

// limitViews calls produce, which uses this number of bytes of memory, and returns its result. It waits for the memory,
// which the caller releases with resize, and then for a processor: at most one view per CPU is produced at a time. No
// memory may be held when it is called, or the requests of a client could wait for each other. The error may be the
// error of the context of r.
func limitViews[T any](
	h *handler, r *http.Request, memory int, produce func() (T, error),
) (v T, resize func(bytes int), err error) {
	resize, err = h.Memory(r, viewBytes+memory)
	if err != nil {
		return v, func(int) {}, err
	}
	panicked := true
	defer func() {
		if panicked {
			resize(0)
		}
	}()
	if err = h.views.Acquire(r.Context(), 1); err == nil {
		defer h.views.Release(1)
		v, err = produce()
	}
	panicked = false
	return v, resize, err
}

func (h *handler) catalogsView(w http.ResponseWriter, r *http.Request) {
	if _, ok := query(w, r); !ok {
		return
	}
	catalogs, release := h.Acquire()
	defer release()
	h.show(w, r, jsonView, 0, func() ([]byte, error) {
		list := catalogList{Catalogs: []catalogItem{}}
		for _, c := range catalogs {
			list.Catalogs = append(list.Catalogs, catalogItem{c.Name, c.Objects.Size(), c.Withheld})
		}
		return encode(&list, nil)
	})
}

// packageOf returns the view of a package, or nil if the catalog does not have it.
func packageOf(_ context.Context, c *Catalog, params url.Values) (*packageView, error) {
	name := params.Get("package")
	op, err := c.operator(name)
	if err != nil || op == nil {
		return nil, err
	}
	v := op.view(c.Name)
	if v.Head == "" {
		return v, nil
	}
	b, err := c.bundle(name, v.Head)
	if err != nil || b == nil {
		return v, err
	}
	csv := b.CSVMetadata()
	v.DisplayName, v.Provider = csv.DisplayName, csv.Provider.Name
	v.Description = cmp.Or(v.Description, csv.Description)
	return v, nil
}

// iconView is the response to /ui/v1/icon.
type iconView struct {
	Icon string `json:"icon"` // a data: URL, "" if there is none that can be shown
}

func iconOf(_ context.Context, c *Catalog, params url.Values) (*iconView, error) {
	name := params.Get("package")
	if name == "" { // which would match any package
		return nil, nil
	}
	for o, err := range c.decoded(store.Query{Schema: declcfg.SchemaPackage, Name: name}) {
		p, _ := o.value.(*declcfg.Package)
		if err != nil || p == nil {
			return nil, err
		}
		return &iconView{dataURL(p.Icon)}, nil
	}
	return nil, nil
}

// graphView sends the drawing of a package, or only of the named channels.
func (h *handler) graphView(w http.ResponseWriter, r *http.Request) {
	params, ok := query(w, r, "catalog", "package", "channel", "format")
	if !ok {
		return
	}
	write, as := draw.HTML, viewType{"text/html; charset=utf-8", drawingPolicy}
	switch params.Get("format") {
	case "", "html":
	case "svg":
		write, as = draw.SVG, viewType{"image/svg+xml", picturePolicy}
	default:
		http.Error(w, "format must be html or svg", http.StatusBadRequest)
		return
	}
	h.withCatalog(w, params.Get("catalog"), func(c *Catalog) {
		h.show(w, r, as, packageMemory(c, params), func() ([]byte, error) {
			channels := params["channel"]
			op, err := c.operator(params.Get("package"))
			isMissing := func(channel string) bool { return op.graph.Channel(channel) == nil }
			if err != nil || op == nil || slices.ContainsFunc(channels, isMissing) {
				return nil, err
			}
			var page bytes.Buffer
			err = write(&page, []*graph.Package{op.graph}, draw.Options{Channels: channels})
			return page.Bytes(), err
		})
	})
}
