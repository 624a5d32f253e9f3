package simulate

import (
	"context"
	"strings"
	"testing"
)

// TestMetrics compares the metrics of idle clusters, without comments.
func TestMetrics(t *testing.T) {
	runTable(t, "testdata/metrics.txtar", func(r *Result) string {
		var text, samples strings.Builder
		if err := r.WriteMetrics(&text); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(text.String()) {
			if !strings.HasPrefix(line, "#") {
				samples.WriteString(line)
			}
		}
		return samples.String()
	})
}

// TestOpenShift covers the reasons that prevent an update of OpenShift to its next minor version.
func TestOpenShift(t *testing.T) {
	blocks := func(_ context.Context, r *run) error { return r.openShift() }
	runTable(t, "testdata/openshift.txtar", func(r *Result) string {
		return strings.Join(r.OpenShift.lines(), "\n") + "\n"
	}, blocks)
}
