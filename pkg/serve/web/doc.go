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
// For programs, as catalogd has them:
//
//	/catalogs/{catalog}/api/v1/all                           all objects of a catalog, one a line
//	/catalogs/{catalog}/api/v1/metas?schema=&package=&name=  the objects with these texts; no text asks for all
//
// Answers have an ETag, and a Last-Modified if [Catalog].Modified is set; conditional requests work on both.
// They are compressed with zstd or gzip if the client accepts it and there are 1024 bytes or more. For all
// objects, both are passed through as they are stored, and ranges of the plain text can be asked for. As in catalogd,
// parameters that cannot be parsed (such as ?name=%zz) and empty conditions count as absent, and the first of repeated
// parameters counts. Beyond catalogd: 405 comes with an Allow, and a date that cannot be parsed is ignored.
//
// For Kubernetes and Prometheus:
//
//	/healthz  200 as long as the process answers
//	/readyz   200 when catalogs are served, else 503; with ?verbose, also the reasons that they may be stale
//	/metrics  see [Metrics]
//
// For people there is a page at /, which uses only these routes; they may change with it:
//
//	/ui/page.css, /ui/page.js
//	/ui/v1/catalogs                                       the names of the catalogs: see catalogList
//	/ui/v1/matrix                                         the packages of all catalogs compared: see [list.Matrix]
//	/ui/v1/packages?catalog=                              the packages of one: see packageList
//	/ui/v1/search?catalog=&text=&package=                 the results of opm search: see searchView
//	/ui/v1/package?catalog=&package=                      a package, its channels and updates: see packageView
//	/ui/v1/icon?catalog=&package=                         its icon as a data: URL: see iconView
//	/ui/v1/bundle?catalog=&package=&name=                 a bundle: see bundleView
//	/ui/v1/graph?catalog=&package=&channel=&format=       the drawing of [draw.HTML], or, with format=svg, of [draw.SVG]
//
// The fragment of the URL selects the view, #catalog=&search= or #catalog=&package=&channel=&bundle=, so that views can
// be linked to, with any names. The first search of a catalog makes an index of about a hundredth of its size, which is
// kept as long as the catalog does not change.
//
// # Clients that do not read
//
// The handler holds a catalog for as long as it writes an answer, which [Options].Stall and Pace end if the client does
// not read: a WriteTimeout of the server (catalogd: 5 min) would also end large answers over slow networks. The server
// needs a ReadHeaderTimeout (catalogd: 5 s), an IdleTimeout and a limit on headers. The body of a request is never
// read. [Options].Memory limits the memory of answers, and at most [Options].Encoders are compressed at a time: further
// answers are sent uncompressed.
package web
