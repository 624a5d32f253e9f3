package declcfg

import (
	"testing"

	"github.com/opm-toolchain/opm/internal/document"
)

// SetChunkSize sets the approximate chunk size of files for the rest of the test.
func SetChunkSize(t testing.TB, size int) {
	old := document.ChunkSize
	document.ChunkSize = size
	t.Cleanup(func() { document.ChunkSize = old })
}

// The two decoders of bundles; the fast one may return nil.
var (
	BundleOf        = bundleOf
	UnmarshalBundle = unmarshal[Bundle]
)
