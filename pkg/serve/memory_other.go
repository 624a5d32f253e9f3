//go:build !linux

package serve

import (
	"bytes"
	"context"

	"github.com/opm-toolchain/opm/internal/serve/store"
)

// inMemory builds the store in the memory of the program.
func inMemory(ctx context.Context, c content) (*store.Store, error) {
	var b bytes.Buffer
	if err := store.Write(ctx, &b, c.key, c.opts, c.sources...); err != nil {
		return nil, err
	}
	return store.New(bytes.NewReader(b.Bytes()), int64(b.Len()), c.key)
}
