package store

import (
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/opm-toolchain/opm/internal/pool"
)

var buffers = pool.Bytes(8, minBuffer, 512<<10)

// minBuffer is enough for most bundles.
const minBuffer = 64 << 10

// decoder decompresses records. It is safe for concurrent use.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true)))
})

// must returns v. It panics on an error, which constant options and encodable values cannot cause.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
