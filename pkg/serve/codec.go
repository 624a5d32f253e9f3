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

// A codec sends messages that are encoded as they are, and all others as protobuf.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*message); ok {
		return mem.BufferSlice{m}, nil
	}
	return c.CodecV2.Marshal(v)
}

// buffers hold answers: as many at one time as there are processors to make them, and more. Nine of ten bundles fit in
// a new one. The pool of gRPC has but a few sizes, and a bundle of 50 KB would take a megabyte.
var buffers = bufferPool{pool.Bytes(16, 64<<10, 1<<20)}

// A bufferPool is a [mem.BufferPool].
type bufferPool struct{ *pool.Pool[[]byte] }

// Get implements mem.BufferPool.
func (p bufferPool) Get(length int) *[]byte {
	b := slices.Grow(p.Pool.Get(), length)[:length]
	return &b
}

// Put implements mem.BufferPool.
func (p bufferPool) Put(b *[]byte) { p.Pool.Put(*b) }
