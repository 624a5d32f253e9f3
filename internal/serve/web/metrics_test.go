package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/serve/web"
)

func TestMetrics(t *testing.T) {
	c := catalogOf(t, "c", textSource(small))
	m := web.NewMetrics()
	h := web.New(web.Options{Acquire: served(c), Metrics: m})
	has := func(lines ...string) {
		t.Helper()
		text := get(t, h, "/metrics")
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("no line %q", line)
			}
		}
	}
	has(`opm_store_state{state="loading"} 1`, `opm_store_state{state="ready"} 0`, `opm_store_loads_total{result="built"} 0`)
	has("# TYPE go_goroutines gauge", "# TYPE go_memstats_heap_inuse_bytes gauge", "# TYPE process_start_time_seconds gauge")
	m.LoadFailed()
	m.Loaded(web.Load{
		Stats: store.Stats{Packages: 1, Channels: 2, Bundles: 3, Entries: 4, Bytes: 5},
		Built: true, Took: 1500 * time.Millisecond, Catalogs: []web.Catalog{c},
	})
	m.Call("ListBundles", "OK", 2*time.Millisecond)
	ask(h, http.MethodGet, base+"metas?name=kiln")
	ask(h, http.MethodGet, base+"metas?unknown=")
	ask(h, http.MethodHead, base+"all")
	ask(h, "BREW", base+"all")
	ask(h, "BREW2", base+"all")
	ask(h, http.MethodGet, "/no/such/page/1")
	ask(h, http.MethodGet, "/no/such/page/2")
	const requests = `opm_http_request_duration_seconds_count{code=`
	has(`opm_store_state{state="loading"} 0`, `opm_store_state{state="ready"} 1`, `opm_store_state{state="damaged"} 0`,
		`opm_store_loads_total{result="built"} 1`, `opm_store_loads_total{result="failed"} 1`,
		`opm_store_load_duration_seconds 1.5`, `opm_store_bytes 5`,
		`opm_catalog_packages 1`, `opm_catalog_channels 2`, `opm_catalog_bundles 3`, `opm_catalog_entries 4`,
		`opm_catalog_bytes{catalog="c"} 820`, `opm_catalog_modified_timestamp_seconds{catalog="c"} 1.709210096e+09`,
		`opm_grpc_request_duration_seconds_bucket{code="OK",method="ListBundles",le="0.001"} 0`,
		`opm_grpc_request_duration_seconds_bucket{code="OK",method="ListBundles",le="0.005"} 1`,
		requests+`"200",method="GET",route="/catalogs/{catalog}/api/v1/metas"} 1`,
		requests+`"400",method="GET",route="/catalogs/{catalog}/api/v1/metas"} 1`,
		requests+`"200",method="HEAD",route="/catalogs/{catalog}/api/v1/all"} 1`,
		requests+`"405",method="other",route="/catalogs/{catalog}/api/v1/all"} 2`,
		requests+`"404",method="GET",route="other"} 2`,
	)
	m.Now(web.Damaged)
	has(`opm_store_state{state="ready"} 0`, `opm_store_state{state="damaged"} 1`)
}
