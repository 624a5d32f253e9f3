//go:build !linux

package serve

import (
	"bytes"
	"context"
	"math"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/serve/store"
)

// systemMemoryLimit returns the largest number: no limit is known.
func systemMemoryLimit() int64 { return math.MaxInt64 }

// inMemory makes the store in the memory of the program.
func inMemory(
	ctx context.Context, key store.Key, opts store.BuildOptions, sources []declcfg.Source,
) (*store.Store, error) {
	var b bytes.Buffer
	if err := store.Write(ctx, &b, key, opts, sources...); err != nil {
		return nil, err
	}
	return store.New(bytes.NewReader(b.Bytes()), int64(b.Len()), key)
}
