package store

import (
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/opm-toolchain/opm/internal/pool"
)

// buffers holds memory for reading.
var buffers = pool.Bytes(8, minBuffer, 512<<10)

// minBuffer is enough for most bundles.
const minBuffer = 64 << 10

// decoder decompresses records, several at once.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true)))
})

// must returns v. The error is one of constant options or of a value that can always be encoded.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
