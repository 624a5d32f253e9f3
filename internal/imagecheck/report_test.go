package imagecheck_test

import (
	"testing"

	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func TestSummary(t *testing.T) {
	of := func(rules ...string) []*problem.Problem {
		var all []*problem.Problem
		for i, rule := range rules {
			p := &problem.Problem{Rule: rule, Names: []string{string(rune('a' + i))}}
			all = append(all, p, p) // two bundles use the image
		}
		return all
	}
	for _, tt := range []struct {
		images   int
		problems []*problem.Problem
		want     string
	}{
		{0, nil, "0 images, all there"},
		{1, nil, "1 image, all there"},
		{2, of("missing"), "of 2 images 1 is missing"},
		{9, of("invalid", "missing", "unknown", "missing"),
			"of 9 images 2 are missing, 1 cannot be checked, 1 has no valid reference"},
		{3, of("unknown", "unknown"), "of 3 images 2 cannot be checked"},
	} {
		report := imagecheck.Report{Images: tt.images, Problems: tt.problems}
		if got := report.Summary(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
