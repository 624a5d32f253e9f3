package declcfg

import "testing"

// SetChunkSize makes files be read in chunks of about that many bytes for the rest of the test.
func SetChunkSize(t testing.TB, size int) {
	old := chunkSize
	chunkSize = size
	t.Cleanup(func() { chunkSize = old })
}

// The two ways to decode a bundle, nil where there is none.
var (
	BundleOf        = bundleOf
	UnmarshalBundle = unmarshal[Bundle]
)
