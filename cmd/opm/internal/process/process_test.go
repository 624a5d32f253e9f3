package process

import "testing"

// TestPercentWhileLoading limits garbage by bytes, and for large catalogs by percent.
func TestPercentWhileLoading(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{
		{0, 100}, {loadingGarbage, 100}, {2 * loadingGarbage, 50}, {1 << 30, loadingGCPercent},
	} {
		if got := percentWhileLoading(tt.live); got != tt.want {
			t.Errorf("%d bytes in use: got %d percent, want %d", tt.live, got, tt.want)
		}
	}
}
