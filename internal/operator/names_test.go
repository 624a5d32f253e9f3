package operator

import (
	"strings"
	"testing"
)

func TestLongNames(t *testing.T) {
	for _, tt := range []struct{ base, hash, want string }{
		{"short", "hash", "short-hash"},
		{strings.Repeat("b", 63), "hash", strings.Repeat("b", 58) + "-hash"},
		{strings.Repeat("b", 60), "hash", strings.Repeat("b", 58) + "-hash"},
		{strings.Repeat("b", 59), "hash", strings.Repeat("b", 59) + "-hash"}, // 64, as OLM counts
	} {
		if got := WithSuffix(tt.base, tt.hash); got != tt.want {
			t.Errorf("%s: got %s", tt.base, got)
		}
	}
}
