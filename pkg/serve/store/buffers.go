package store

import (
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// buffers holds memory for reading that is not in use. Unlike a sync.Pool it keeps what it has when garbage is
// collected, which with so small a heap is often.
var buffers = make(bufferList, 8)

type bufferList chan []byte

// maxKept is the size beyond which a buffer is let go: one bundle of a megabyte must not make all buffers that large.
const maxKept = 512 << 10

// get returns an empty buffer.
func (l bufferList) get() []byte {
	select {
	case b := <-l:
		return b[:0]
	default:
		return make([]byte, 0, 64<<10)
	}
}

// put gives a buffer back, which must not be used any more.
func (l bufferList) put(b []byte) {
	if cap(b) > maxKept {
		return
	}
	select {
	case l <- b:
	default:
	}
}

// decoder decompresses records, several at once.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil { // the options are wrong
		panic(err)
	}
	return d
})
