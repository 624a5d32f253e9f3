package simulate

import (
	"context"
	"strings"
	"testing"
)

// The metrics of clusters in which nothing happens, without what describes them.
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

// What keeps OpenShift from its next minor version.
func TestOpenShift(t *testing.T) {
	blocks := func(_ context.Context, r *run) error { return r.openShift() }
	runTable(t, "testdata/openshift.txtar", func(r *Result) string {
		return strings.Join(r.OpenShift.lines(), "\n") + "\n"
	}, blocks)
}
