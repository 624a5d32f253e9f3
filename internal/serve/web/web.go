package web

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/semaphore"

	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/search"
	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Catalog is the content served under one name.
type Catalog struct {
	Name    string         // in URLs; clients of catalogd can only request subdomains of RFC 1123
	Objects *store.Catalog // one of [store.Store.Catalogs]

	// Providing returns the names of the packages that have a bundle which provides an API, and maybe others, such as
	// [store.Store.PackagesProviding]. If nil, all packages are read to find them.
	Providing func(api declcfg.GVK) []string

	// Tag changes with the content, such as [store.Key.String]: letters and digits. If it is empty, there is no ETag.
	Tag string

	// Modified is the time of the last change of a file, from [Newest] or SOURCE_DATE_EPOCH. If it is zero, there is no
	// Last-Modified.
	Modified time.Time

	Withheld []Withheld // packages left out of Objects, sorted by name
}

// A Withheld is a package that is not served, since it is not valid.
type Withheld struct {
	Catalog string `json:"-"`
	Package string `json:"package"` // "" for objects without a package

	// Reasons has the first error that concerns it and all errors that are in it, each with its position: at least one,
	// and at most 100.
	Reasons []string `json:"reasons"`
}

// Options configure the handler. Acquire must be set.
type Options struct {
	// Acquire returns the catalogs that are served now, in the order in which they are shown, and a function that is
	// called once when the response is complete: until then, their stores must not be closed. No catalogs means that
	// they are still being loaded. The function is never nil.
	Acquire func() (catalogs []Catalog, release func())

	// Ready reports whether requests can be answered. Nil means that they can as soon as there are catalogs.
	Ready func() bool

	// Notes returns lines for /readyz?verbose, such as why the catalogs may be stale. It may be nil.
	Notes func() []string

	// Memory waits until the response to a request may use this number of bytes, and returns a function that changes
	// this number without waiting, at last to 0. Its error is the error of the request's context. Nil means no limit.
	Memory func(r *http.Request, bytes int) (resize func(bytes int), err error)

	// Stall is the maximum time for a client to read a part of a response. Pace is the minimum number of bytes that it
	// must read in each Stall, on average. 0 means no limit.
	Stall time.Duration
	Pace  int64

	// Failed is called for every failure that is not caused by the client. After an error that wraps
	// [store.ErrDataLoss], the store should be rebuilt. It may be called on several goroutines, and may be nil.
	Failed func(error)

	// Metrics are served at /metrics, and count requests. Nil means new metrics.
	Metrics *Metrics

	// Encoders is the maximum number of responses that are compressed at a time; 0 means four per CPU.
	Encoders int
}

type handler struct {
	Options
	encoders *encoders
	lists    perCatalog[*packageList]
	indexes  perCatalog[*search.Index]
	views    *semaphore.Weighted // has a slot for each view that is being produced
}

// New returns the handler of all routes.
func New(o Options) http.Handler {
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Encoders <= 0 {
		o.Encoders = 4 * runtime.GOMAXPROCS(0)
	}
	if o.Memory == nil {
		o.Memory = func(*http.Request, int) (func(int), error) { return func(int) {}, nil }
	}
	if o.Ready == nil {
		o.Ready = func() bool {
			catalogs, release := o.Acquire()
			defer release()
			return len(catalogs) > 0
		}
	}
	h := &handler{
		Options:  o,
		encoders: newEncoders(o.Encoders),
		views:    semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
	}
	mux := http.NewServeMux()
	for pattern, serve := range h.routes() {
		mux.Handle(pattern, h.measured(pattern, onlyGet(serve)))
	}
	mux.Handle("/", h.measured("other", http.NotFoundHandler()))
	return mux
}

func (h *handler) routes() map[string]http.HandlerFunc {
	routes := map[string]http.HandlerFunc{
		"/catalogs/{catalog}/api/v1/all":   h.all,
		"/catalogs/{catalog}/api/v1/metas": h.metas,
		"/healthz":                         func(w http.ResponseWriter, _ *http.Request) { probe(w, http.StatusOK, "ok\n") },
		"/readyz":                          h.readyz,
		"/metrics":                         promhttp.HandlerFor(h.Metrics.registry, promhttp.HandlerOpts{}).ServeHTTP,
		"/ui/v1/catalogs":                  h.catalogsView,
		"/ui/v1/matrix":                    h.matrixView,
		"/ui/v1/packages":                  h.packagesView,
		"/ui/v1/search":                    h.search,
		"/ui/v1/package":                   view(h, packageMemory, packageOf, "package"),
		"/ui/v1/icon":                      view(h, iconMemory, iconOf, "package"),
		"/ui/v1/bundle":                    view(h, bundleMemory, bundleOf, "package", "name"),
		"/ui/v1/graph":                     h.graphView,
	}
	for _, a := range []struct {
		pattern, contentType string
		data                 []byte
	}{
		{"/{$}", "text/html; charset=utf-8", pageHTML},
		{"/ui/page.css", "text/css; charset=utf-8", pageCSS},
		{"/ui/page.js", "text/javascript; charset=utf-8", pageJS},
	} {
		routes[a.pattern] = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", pagePolicy)
			w.Header().Set("Referrer-Policy", "no-referrer")
			h.respond(w, r, contentOf(a.contentType, a.data))
		}
	}
	return routes
}

// onlyGet rejects methods other than GET and HEAD with the text of catalogd.
func onlyGet(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		serve(w, r)
	}
}

// measured returns a handler that counts the responses of next, and sets the headers that all responses have.
func (h *handler) measured(route string, next http.Handler) http.Handler {
	route = strings.TrimSuffix(route, "{$}")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		out := &response{ResponseWriter: w, began: began, stall: h.Stall, pace: h.Pace}
		defer func() { h.Metrics.request(r.Method, route, out.outcome(), time.Since(began)) }()
		out.Header().Set("Vary", "Accept-Encoding")
		out.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(out, r)
		if errors.Is(out.lost, errSlow) {
			panic(http.ErrAbortHandler) // so that the client does not mistake the part for the whole
		}
	})
}

// errSlow is the error for a response that was cut off because of a slow client.
var errSlow = errors.New("the client reads too slowly")

// response is a ResponseWriter that records the status and the size of the response, and enforces the pace of its
// client.
type response struct {
	http.ResponseWriter
	status  int
	written int64
	began   time.Time // of the request
	stall   time.Duration
	pace    int64
	due     time.Time // deadline for reading the next part
	lost    error     // of the connection
	aborted bool
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	n, err := 0, w.extend()
	if err == nil {
		n, err = w.ResponseWriter.Write(p)
	}
	w.written += int64(n)
	if err != nil {
		w.lost = err
	}
	return n, err
}

// extend extends the deadline of a client that keeps the pace. Over HTTP/2, the limits of the connection do not detect
// a single stream that the client does not read.
func (w *response) extend() error {
	now := time.Now()
	if w.stall == 0 || w.due.Sub(now) > w.stall/2 {
		return nil
	}
	if w.written == 0 {
		w.began = now // the response may have waited for memory
	}
	if w.pace > 0 && now.Sub(w.began) > w.stall*time.Duration(w.written/w.pace+1) {
		return errSlow
	}
	w.due = now.Add(w.stall)
	if err := http.NewResponseController(w.ResponseWriter).SetWriteDeadline(w.due); err != nil {
		w.stall = 0 // the writer does not support deadlines
	}
	return nil
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// outcome returns the status for the metrics, even if it could no longer be sent.
func (w *response) outcome() int {
	switch {
	case w.aborted:
		return http.StatusInternalServerError
	case w.status == 0:
		return http.StatusOK
	}
	return w.status
}

// fail sends status 500 and reports err. If a part of the response was sent already, it breaks the connection, so that
// the client does not mistake that part for the whole.
func (h *handler) fail(w http.ResponseWriter, err error) {
	if h.Failed != nil {
		h.Failed(err)
	}
	if out, ok := w.(*response); ok && out.status != 0 {
		out.aborted = true
		panic(http.ErrAbortHandler)
	}
	httpError(w, http.StatusInternalServerError)
}

// httpError sends an error with the text of catalogd.
func httpError(w http.ResponseWriter, status int) {
	http.Error(w, fmt.Sprintf("%d %s", status, http.StatusText(status)), status)
}

// withCatalog calls serve with the named catalog. If there is none, it sends the error itself.
func (h *handler) withCatalog(w http.ResponseWriter, name string, serve func(*Catalog)) {
	catalogs, release := h.Acquire()
	defer release()
	for i := range catalogs {
		if catalogs[i].Name == name {
			serve(&catalogs[i])
			return
		}
	}
	err := k8sname.Subdomain(name)
	switch {
	case len(catalogs) == 0:
		w.Header().Set("Retry-After", "1")
		httpError(w, http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, "invalid catalog name: "+err.Error(), http.StatusBadRequest)
	default:
		httpError(w, http.StatusNotFound)
	}
}

// readyz reports whether catalogs are served and, with the parameter verbose, the state of each.
func (h *handler) readyz(w http.ResponseWriter, r *http.Request) {
	code, text := http.StatusOK, "ok\n"
	if !h.Ready() {
		code, text = http.StatusServiceUnavailable, "not ready\n"
	}
	if r.URL.Query().Has("verbose") && h.Notes != nil {
		for _, note := range h.Notes() {
			text += note + "\n"
		}
	}
	probe(w, code, text)
}

func probe(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.WriteString(w, text) //nolint:errcheck // an error means that the client is gone
}

// Newest returns the time of the last change of a file in the sources, for [Catalog].Modified. It is zero without
// files.
func Newest(sources ...declcfg.Source) (time.Time, error) {
	var newest time.Time
	for _, s := range sources {
		root := cmp.Or(s.File, ".")
		err := fs.WalkDir(s.FS, root, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := fs.Stat(s.FS, name) // follows links, because a mounted ConfigMap consists of links
			if errors.Is(err, fs.ErrNotExist) && name != root {
				return nil // a dangling link; reading the catalog reports it if it matters
			}
			if err == nil && info.Mode().IsRegular() && info.ModTime().After(newest) {
				newest = info.ModTime()
			}
			return err
		})
		if err != nil {
			return time.Time{}, err
		}
	}
	return newest, nil
}
