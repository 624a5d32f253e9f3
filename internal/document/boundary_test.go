package document

import (
	"bytes"
	"testing"
)

// TestBoundaryAtWindow has the line break between two objects on both sides of the boundary between two searches in a
// chunk.
func TestBoundaryAtWindow(t *testing.T) {
	for size := boundaryWindow - 3; size <= boundaryWindow+3; size++ {
		first := []byte("{}\n")
		last := append([]byte("{"), bytes.Repeat([]byte(" "), size)...)
		s := splitter{limit: DefaultLimit}
		if got := s.jsonBoundary(append(first, last...)); got != len(first) {
			t.Errorf("the last object of %d bytes starts at %d, want %d", len(last), got, len(first))
		}
	}
}
