package store

import (
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/opm-toolchain/opm/internal/pool"
)

// buffers holds memory for reading.
var buffers = newBuffers(8)

func newBuffers(n int) *pool.Pool[[]byte] { return pool.Bytes(n, 64<<10, 512<<10) }

// decoder decompresses records, several at once.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil { // the options are wrong
		panic(err)
	}
	return d
})
