package declcfg

import (
	"testing"

	"github.com/opm-toolchain/opm/internal/document"
)

// SetChunkSize makes files be read in chunks of about that many bytes for the rest of the test.
func SetChunkSize(t testing.TB, size int) {
	old := document.ChunkSize
	document.ChunkSize = size
	t.Cleanup(func() { document.ChunkSize = old })
}

// The two ways to decode a bundle, nil where there is none.
var (
	BundleOf        = bundleOf
	UnmarshalBundle = unmarshal[Bundle]
)
