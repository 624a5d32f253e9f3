package output_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/output"
)

// TestResult checks that the keys of a map are printed in one order.
func TestResult(t *testing.T) {
	counts := map[string]int{}
	var want []string
	for i := range 100 {
		key := fmt.Sprintf("key%03d", i)
		counts[key] = i
		want = append(want, fmt.Sprintf("  %q: %d", key, i))
	}
	var out strings.Builder
	if err := (&output.Result{Value: counts}).Write(&out, output.JSON); err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.Trim(out.String(), "{\n}"), ",\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), strings.Join(want, "\n"))
	}
}
