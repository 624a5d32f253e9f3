package web

import (
	"strings"
	"testing"
	"time"
)

// The text format of Prometheus: series in order, labels escaped, buckets that add up.
func TestExposition(t *testing.T) {
	calls := newFamily(histogramKind, "calls_seconds", "Calls.", "code", "method")
	calls.observe(2*time.Millisecond, "OK", "Get")
	calls.observe(100*time.Microsecond, "OK", "Get")
	calls.observe(time.Hour, "OK", "Get")
	sizes := newFamily(gaugeKind, "size_bytes", "Size.", "catalog")
	sizes.set(1.5, "b")
	sizes.set(2, "a\"\\\nb")
	loads := newFamily(counterKind, "loads_total", "Loads.")
	loads.add(1)
	loads.add(2)
	gone := newFamily(gaugeKind, "gone", "Gone.", "x")
	gone.set(1, "y")
	gone.reset()
	var text strings.Builder
	for _, f := range []*family{calls, sizes, loads, gone} {
		f.write(&text)
	}
	const want = `# HELP calls_seconds Calls.
# TYPE calls_seconds histogram
calls_seconds_bucket{code="OK",method="Get",le="0.0001"} 1
calls_seconds_bucket{code="OK",method="Get",le="0.0005"} 1
calls_seconds_bucket{code="OK",method="Get",le="0.001"} 1
calls_seconds_bucket{code="OK",method="Get",le="0.005"} 2
calls_seconds_bucket{code="OK",method="Get",le="0.01"} 2
calls_seconds_bucket{code="OK",method="Get",le="0.05"} 2
calls_seconds_bucket{code="OK",method="Get",le="0.1"} 2
calls_seconds_bucket{code="OK",method="Get",le="0.5"} 2
calls_seconds_bucket{code="OK",method="Get",le="1"} 2
calls_seconds_bucket{code="OK",method="Get",le="5"} 2
calls_seconds_bucket{code="OK",method="Get",le="30"} 2
calls_seconds_bucket{code="OK",method="Get",le="+Inf"} 3
calls_seconds_sum{code="OK",method="Get"} 3600.0021
calls_seconds_count{code="OK",method="Get"} 3
# HELP size_bytes Size.
# TYPE size_bytes gauge
size_bytes{catalog="a\"\\\nb"} 2
size_bytes{catalog="b"} 1.5
# HELP loads_total Loads.
# TYPE loads_total counter
loads_total 3
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &text, want)
	}
}
