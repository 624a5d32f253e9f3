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

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
	"github.com/opm-toolchain/opm/pkg/serve/store"
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

// limitViews calls produce and returns its result. A view needs a whole package, so at most one view per CPU is
// produced at a time. The error may be the error of the context of r.
func limitViews[T any](h *handler, r *http.Request, produce func() (T, error)) (T, error) {
	if err := h.views.Acquire(r.Context(), 1); err != nil {
		var none T
		return none, err
	}
	defer h.views.Release(1)
	return produce()
}

// view returns a handler that sends the result of produce as JSON, or status 404 if it is nil. The arguments of produce
// are the catalog that a request names, and the parameters of the request.
func view[T any](
	h *handler, produce func(ctx context.Context, c *Catalog, params url.Values) (*T, error), names ...string,
) http.HandlerFunc {
	names = append([]string{"catalog"}, names...)
	return h.limited(func(w http.ResponseWriter, r *http.Request) {
		params, ok := query(w, r, names...)
		if !ok {
			return
		}
		h.withCatalog(w, params.Get("catalog"), func(c *Catalog) {
			v, err := limitViews(h, r, func() (*T, error) { return produce(r.Context(), c, params) })
			h.show(w, r, v, v != nil, err)
		})
	})
}

// show sends v as JSON, or status 404 if found is false.
func (h *handler) show(w http.ResponseWriter, r *http.Request, v any, found bool, err error) {
	var data []byte
	if err == nil && found {
		data, err = json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	}
	switch {
	case err != nil && r.Context().Err() != nil: // the client is gone
	case err != nil:
		h.fail(w, err)
	case !found:
		httpError(w, http.StatusNotFound)
	default:
		h.respond(w, r, contentOf("application/json", data))
	}
}

func (h *handler) catalogsView(w http.ResponseWriter, r *http.Request) {
	if _, ok := query(w, r); !ok {
		return
	}
	catalogs, release := h.Acquire()
	defer release()
	list := catalogList{Catalogs: []catalogItem{}}
	for _, c := range catalogs {
		list.Catalogs = append(list.Catalogs, catalogItem{c.Name, c.Objects.Size(), c.Withheld})
	}
	h.show(w, r, list, true, nil)
}

func (h *handler) packagesView(ctx context.Context, c *Catalog, _ url.Values) (*packageList, error) {
	return h.lists.of(ctx, c, c.list)
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
	write, contentType, policy := draw.HTML, "text/html; charset=utf-8", drawingPolicy
	switch params.Get("format") {
	case "", "html":
	case "svg":
		write, contentType, policy = draw.SVG, "image/svg+xml", picturePolicy
	default:
		http.Error(w, "format must be html or svg", http.StatusBadRequest)
		return
	}
	h.withCatalog(w, params.Get("catalog"), func(c *Catalog) {
		drawing, err := limitViews(h, r, func() ([]byte, error) {
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
		if err != nil || drawing == nil {
			h.show(w, r, nil, false, err)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		h.respond(w, r, contentOf(contentType, drawing))
	})
}
