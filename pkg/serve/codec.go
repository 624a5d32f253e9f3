package serve

import (
	"slices"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/opm-toolchain/opm/internal/pool"
)

// An encoded is an answer in the bytes that go to a client.
type encoded []byte

// A codec sends what is encoded as it is, and all else as protobuf.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if encoded, ok := v.(mem.BufferSlice); ok {
		return encoded, nil
	}
	return c.CodecV2.Marshal(v)
}

// Buffers for answers: as many at one time as there are processors to make them, and more. Nearly all bundles fit in a
// small one. The pool of gRPC has but a few sizes, and a bundle of 50 KB would take a megabyte.
var (
	smallBuffers = pool.Bytes(32, smallBuffer, smallBuffer)
	largeBuffers = pool.Bytes(4, 0, 1<<20)
)

const smallBuffer = 64 << 10

// getBuffer returns an empty buffer with room for size bytes.
func getBuffer(size int) []byte {
	if size <= smallBuffer {
		return smallBuffers.Get()
	}
	return slices.Grow(largeBuffers.Get(), size)
}

// putBuffer gives back a buffer that getBuffer returned.
func putBuffer(b []byte) {
	if cap(b) <= smallBuffer {
		smallBuffers.Put(b)
		return
	}
	largeBuffers.Put(b)
}
