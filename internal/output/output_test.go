package output_test

import (
	"errors"
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

// TestBytes checks that data are written in all formats, without a change, and that an error has no result.
func TestBytes(t *testing.T) {
	for _, data := range []string{"a\x1b[1m\xff", ""} {
		r, err := output.Bytes([]byte(data), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []output.Format{output.Text, output.JSON, "helm"} {
			var out strings.Builder
			if err := r.Write(&out, f); err != nil || out.String() != data {
				t.Errorf("%s: got %q, %v", f, out.String(), err)
			}
		}
	}
	cause := errors.New("cannot be encoded")
	if r, err := output.Bytes([]byte("half"), cause); r != nil || !errors.Is(err, cause) {
		t.Errorf("got %v, %v", r, err)
	}
}
