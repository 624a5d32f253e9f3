// Package web serves catalogs over HTTP: to programs as catalogd does, and to people as a page.
//
//	metrics := web.NewMetrics()
//	handler := web.New(web.Options{
//		Acquire: func() ([]web.Catalog, func()) { … }, // the current catalogs
//		Failed:  func(err error) { … },                 // log it; rebuild a damaged store
//		Metrics: metrics,
//	})
//	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, …}
//
// # Routes
//
// For programs, as in catalogd:
//
//	/catalogs/{catalog}/api/v1/all                           all objects of a catalog, one a line
//	/catalogs/{catalog}/api/v1/metas?schema=&package=&name=  the objects with these values; an empty value matches any
//
// Responses have an ETag, and a Last-Modified if [Catalog].Modified is set; conditional requests work with both. They
// are compressed with zstd or gzip if the client accepts it and they have at least 1024 bytes. The response with all
// objects is sent in zstd and gzip as it is stored, and ranges of its uncompressed form can be requested. As in
// catalogd, parameters that cannot be parsed (such as ?name=%zz) and empty conditions count as absent, and the first of
// repeated parameters counts. Unlike in catalogd, 405 comes with an Allow header, and a date that cannot be parsed is
// ignored.
//
// For Kubernetes and Prometheus:
//
//	/healthz  200 as long as the process responds
//	/readyz   200 when catalogs are served, else 503; with ?verbose, also the reasons why they may be stale
//	/metrics  see [Metrics]
//
// For people there is a page at /, which uses only these routes; they may change with the page:
//
//	/ui/page.css, /ui/page.js
//	/ui/v1/catalogs                                       the names of the catalogs: see catalogList
//	/ui/v1/matrix                                         the packages of all catalogs compared: see [list.Matrix]
//	/ui/v1/packages?catalog=                              the packages of a catalog: see packageList
//	/ui/v1/search?catalog=&text=&package=                 the results of opm search: see searchView
//	/ui/v1/package?catalog=&package=                      a package, its channels and updates: see packageView
//	/ui/v1/icon?catalog=&package=                         the icon of a package as a data: URL: see iconView
//	/ui/v1/bundle?catalog=&package=&name=                 a bundle: see bundleView
//	/ui/v1/graph?catalog=&package=&channel=&format=       the drawing of [draw.HTML], or, with format=svg, of [draw.SVG]
//
// The fragment of the URL selects the view, #catalog=&search= or #catalog=&package=&channel=&bundle=, so that every
// view has a link, whatever the names. The first search of a catalog builds an index of about a hundredth of its size,
// which is kept as long as the catalog does not change.
//
// # Slow clients
//
// The handler holds a catalog while it writes a response. [Options].Stall and Pace end the response if the client does
// not read it: a WriteTimeout of the server (catalogd: 5 min) would also end large responses over slow networks. The
// server needs a ReadHeaderTimeout (catalogd: 5 s), an IdleTimeout and a limit on headers. The body of a request is
// never read. [Options].Memory limits the memory of responses. A view of the page takes a multiple of the size of the
// objects that it reads, and keeps the size of the response while that is sent. At most [Options].Encoders responses
// are compressed at a time; further responses are sent uncompressed.
package web
