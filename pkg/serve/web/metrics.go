package web

import (
	"bytes"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/opm-toolchain/opm/pkg/serve/store"
)

// Metrics are the numbers that a server shows to Prometheus:
//
//	opm_http_request_duration_seconds{method,route,code}  a histogram of requests over HTTP
//	opm_grpc_request_duration_seconds{method,code}        a histogram of calls of the registry, streams as a whole
//	opm_store_state{state}                                1 for the [State] of the store, 0 for the others
//	opm_store_bytes                                       the size of the file
//	opm_store_loads_total{result}                         how often a catalog was "opened" from a store that was there,
//	                                                      "built" anew, or "failed"
//	opm_store_load_duration_seconds                       how long the last one that did not fail took
//	opm_store_load_timestamp_seconds                      when that was
//	opm_catalog_packages, _channels, _bundles, _entries   what is served; an entry is a bundle in a channel
//	opm_catalog_bytes{catalog}                            the size of all objects, for what is served over HTTP
//	opm_catalog_modified_timestamp_seconds{catalog}       see [Catalog].Modified
//
// and go_goroutines, go_memstats_heap_inuse_bytes and process_start_time_seconds, as other Go programs have them. Any
// number of goroutines may use them.
type Metrics struct {
	families []*family // in the order in which they are shown

	http, grpc                           *family
	state, bytes, loads, took, at        *family
	packages, channels, bundles, entries *family
	size, modified                       *family
	goroutines, heap                     *family
}

// A State is what a store is in.
type State string

// The states of a store.
const (
	Loading State = "loading" // nothing is served yet
	Ready   State = "ready"
	Damaged State = "damaged" // it is built anew, and what of it can be read is served
)

// buckets are upper limits of durations in seconds, from an answer out of the index to a whole catalog over a slow
// line.
var buckets = []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 30}

// NewMetrics returns metrics of a server that is loading.
func NewMetrics() *Metrics {
	m := &Metrics{}
	family := func(kind kind, name, help string, labels ...string) *family {
		f := newFamily(kind, name, help, labels...)
		m.families = append(m.families, f)
		return f
	}
	m.http = family(histogramKind, "opm_http_request_duration_seconds", "Time to answer a request over HTTP.",
		"code", "method", "route")
	m.grpc = family(histogramKind, "opm_grpc_request_duration_seconds", "Time to answer a call of the registry.",
		"code", "method")
	m.state = family(gaugeKind, "opm_store_state", "The state of the store: 1 for the one it is in.", "state")
	m.bytes = family(gaugeKind, "opm_store_bytes", "Size of the store.")
	m.loads = family(counterKind, "opm_store_loads_total", "Catalogs loaded, by what came of it.", "result")
	m.took = family(gaugeKind, "opm_store_load_duration_seconds", "Time that the last load took which did not fail.")
	m.at = family(gaugeKind, "opm_store_load_timestamp_seconds", "When that was.")
	m.packages = family(gaugeKind, "opm_catalog_packages", "Packages served.")
	m.channels = family(gaugeKind, "opm_catalog_channels", "Channels served.")
	m.bundles = family(gaugeKind, "opm_catalog_bundles", "Bundles served, each once.")
	m.entries = family(gaugeKind, "opm_catalog_entries", "Bundles served, once for each channel that they are in.")
	m.size = family(gaugeKind, "opm_catalog_bytes", "Size of all objects of a catalog as JSON lines.", "catalog")
	m.modified = family(gaugeKind, "opm_catalog_modified_timestamp_seconds", "When a catalog was changed.", "catalog")
	m.goroutines = family(gaugeKind, "go_goroutines", "Goroutines that there are.")
	m.heap = family(gaugeKind, "go_memstats_heap_inuse_bytes", "Heap in use.")
	family(gaugeKind, "process_start_time_seconds", "When the program was started.").set(seconds(time.Now()))
	for _, result := range []string{"opened", "built", "failed"} {
		m.loads.add(0, result)
	}
	m.Now(Loading)
	return m
}

// seconds returns a time as Prometheus has it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// Handler returns what answers with the metrics as text.
func (m *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(heap)
		m.heap.set(float64(heap[0].Value.Uint64()))
		m.goroutines.set(float64(runtime.NumGoroutine()))
		var text bytes.Buffer
		for _, f := range m.families {
			f.write(&text)
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
		_, _ = w.Write(text.Bytes()) // a client that is gone needs no answer
	})
}

// Call counts a call over gRPC: the name of its method, such as ListBundles, and that of its code, such as OK. Both
// must be of a limited number, so methods that do not exist need one name together.
func (m *Metrics) Call(method, code string, took time.Duration) {
	m.grpc.observe(took, code, method)
}

// request counts a request over HTTP.
func (m *Metrics) request(method, route string, status int, took time.Duration) {
	if method != http.MethodGet && method != http.MethodHead {
		method = "other" // clients may make up any number
	}
	m.http.observe(took, strconv.Itoa(status), method, route)
}

// Now says what state the store is in.
func (m *Metrics) Now(s State) {
	for _, state := range []State{Loading, Ready, Damaged} {
		value := 0.0
		if state == s {
			value = 1
		}
		m.state.set(value, string(state))
	}
}

// A Load is a store that was opened or built, and is served from now on.
type Load struct {
	Stats    store.Stats
	Built    bool // it was not there
	Took     time.Duration
	Catalogs []Catalog // those that are served over HTTP
}

// Loaded says what is served, and that it is [Ready].
func (m *Metrics) Loaded(l Load) {
	result := "opened"
	if l.Built {
		result = "built"
	}
	m.loads.add(1, result)
	m.took.set(l.Took.Seconds())
	m.at.set(seconds(time.Now()))
	m.bytes.set(float64(l.Stats.Bytes))
	m.packages.set(float64(l.Stats.Packages))
	m.channels.set(float64(l.Stats.Channels))
	m.bundles.set(float64(l.Stats.Bundles))
	m.entries.set(float64(l.Stats.Entries))
	m.size.reset()
	m.modified.reset()
	for _, c := range l.Catalogs {
		m.size.set(float64(c.Objects.Size()), c.Name)
		if !c.Modified.IsZero() {
			m.modified.set(float64(c.Modified.Unix()), c.Name)
		}
	}
	m.Now(Ready)
}

// LoadFailed counts a catalog that could not be loaded. What was served before is served on.
func (m *Metrics) LoadFailed() { m.loads.add(1, "failed") }
