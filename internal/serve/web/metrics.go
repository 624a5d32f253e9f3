package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/opm-toolchain/opm/internal/serve/store"
)

// Metrics are the Prometheus metrics of a server:
//
//	opm_http_request_duration_seconds{method,route,code}  a histogram of requests over HTTP
//	opm_grpc_request_duration_seconds{method,code}        a histogram of calls of the registry, streams as a whole
//	opm_store_state{state}                                1 for the [State] of the store, 0 for the others
//	opm_store_bytes                                       the size of the file
//	opm_store_loads_total{result}                         the number of catalogs that were "opened" from an existing
//	                                                      store, were "built", or have "failed"
//	opm_store_load_duration_seconds                       the duration of the last load that did not fail
//	opm_store_load_timestamp_seconds                      the time of that load
//	opm_catalog_stale_since_timestamp_seconds             the time since when a change of a catalog is not served; 0 if
//	                                                      the catalogs are up to date
//	opm_catalog_packages, _channels, _bundles, _entries   the numbers of served objects; an entry is a bundle in a
//	                                                      channel
//	opm_catalog_withheld_packages                         the number of packages that are not served because they are
//	                                                      invalid
//	opm_catalog_bytes{catalog}                            the size of all objects of a catalog that HTTP serves
//	opm_catalog_modified_timestamp_seconds{catalog}       see [Catalog].Modified
//
// and the metrics of the Go runtime and the process. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	http, grpc                           *prometheus.HistogramVec
	loads                                *prometheus.CounterVec
	state, size, modified                *prometheus.GaugeVec
	bytes, took, at, stale, withheld     prometheus.Gauge
	packages, channels, bundles, entries prometheus.Gauge
}

// A State is the state of a store.
type State string

// The states of a store.
const (
	Loading State = "loading" // nothing is served yet
	Ready   State = "ready"
	Damaged State = "damaged" // it is being rebuilt, and its readable parts are served
)

// buckets are the upper limits of the histogram buckets in seconds: from a response from the index to a whole catalog
// over a slow connection.
var buckets = []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 30}

// NewMetrics returns metrics of a server that is loading.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	register := promauto.With(m.registry)
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		opts := prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
		return register.NewHistogramVec(opts, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return register.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	m.http = histogram("opm_http_request_duration_seconds", "Time to answer a request over HTTP.",
		"code", "method", "route")
	m.grpc = histogram("opm_grpc_request_duration_seconds", "Time to answer a call of the registry.", "code", "method")
	m.state = gauge("opm_store_state", "The state of the store: 1 for the one it is in.", "state")
	m.bytes = gauge("opm_store_bytes", "Size of the store.").WithLabelValues()
	m.loads = register.NewCounterVec(
		prometheus.CounterOpts{Name: "opm_store_loads_total", Help: "Catalogs loaded, by result."}, []string{"result"})
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.took = gauge("opm_store_load_duration_seconds", "Duration of the last successful load.").WithLabelValues()
	m.at = gauge("opm_store_load_timestamp_seconds", "Time of the last successful load.").WithLabelValues()
	m.stale = gauge("opm_catalog_stale_since_timestamp_seconds",
		"Time since when a change of a catalog could not be served, 0 for none.").WithLabelValues()
	m.withheld = gauge("opm_catalog_withheld_packages", "Packages that are not served since they are not valid.").
		WithLabelValues()
	m.packages = gauge("opm_catalog_packages", "Packages served.").WithLabelValues()
	m.channels = gauge("opm_catalog_channels", "Channels served.").WithLabelValues()
	m.bundles = gauge("opm_catalog_bundles", "Bundles served, each once.").WithLabelValues()
	m.entries = gauge("opm_catalog_entries", "Bundles served, once for each of their channels.").WithLabelValues()
	m.size = gauge("opm_catalog_bytes", "Size of all objects of a catalog as JSON lines.", "catalog")
	m.modified = gauge("opm_catalog_modified_timestamp_seconds", "Time of the last change of a catalog.", "catalog")
	for _, result := range []string{"opened", "built", "failed"} {
		m.loads.WithLabelValues(result)
	}
	m.Now(Loading)
	return m
}

// Call counts a call over gRPC, by the name of its method, such as ListBundles, and its code, such as OK. The number of
// names must be limited, so methods that do not exist share one name.
func (m *Metrics) Call(method, code string, took time.Duration) {
	m.grpc.WithLabelValues(code, method).Observe(took.Seconds())
}

func (m *Metrics) request(method, route string, status int, took time.Duration) {
	if method != http.MethodGet && method != http.MethodHead {
		method = "other" // otherwise clients could create any number of labels
	}
	m.http.WithLabelValues(strconv.Itoa(status), method, route).Observe(took.Seconds())
}

// Now records the state of the store.
func (m *Metrics) Now(s State) {
	for _, state := range []State{Loading, Ready, Damaged} {
		m.state.WithLabelValues(string(state)).Set(0)
	}
	m.state.WithLabelValues(string(s)).Set(1)
}

// A Load is the result of opening or building a store that is served from then on.
type Load struct {
	Stats    store.Stats
	Built    bool // built, not opened from an existing file
	Took     time.Duration
	Catalogs []Catalog // catalogs served over HTTP
	Withheld int       // packages that are not served
}

// Loaded records the loaded catalogs, and sets the state to [Ready].
func (m *Metrics) Loaded(l Load) {
	result := "opened"
	if l.Built {
		result = "built"
	}
	m.loads.WithLabelValues(result).Inc()
	m.took.Set(l.Took.Seconds())
	m.at.SetToCurrentTime()
	m.bytes.Set(float64(l.Stats.Bytes))
	m.withheld.Set(float64(l.Withheld))
	m.packages.Set(float64(l.Stats.Packages))
	m.channels.Set(float64(l.Stats.Channels))
	m.bundles.Set(float64(l.Stats.Bundles))
	m.entries.Set(float64(l.Stats.Entries))
	m.size.Reset()
	m.modified.Reset()
	for _, c := range l.Catalogs {
		m.size.WithLabelValues(c.Name).Set(float64(c.Objects.Size()))
		if !c.Modified.IsZero() {
			m.modified.WithLabelValues(c.Name).Set(float64(c.Modified.Unix()))
		}
	}
	m.Now(Ready)
}

// LoadFailed counts a failed load. The previous catalog, if there is one, is still served.
func (m *Metrics) LoadFailed() { m.loads.WithLabelValues("failed").Inc() }

// Stale records the time since when a change of a catalog could not be served; the zero time for none.
func (m *Metrics) Stale(since time.Time) {
	m.stale.Set(0)
	if !since.IsZero() {
		m.stale.Set(float64(since.Unix()))
	}
}
