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
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil { // the options are wrong
		panic(err)
	}
	return d
})
