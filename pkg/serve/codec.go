package serve

import (
	"slices"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/opm-toolchain/opm/internal/pool"
)

// A reply is an encoded message on its way to a client.
type reply struct{ mem.Buffer }

// kept returns a reply of bytes that live on.
func kept(message []byte) reply { return reply{mem.SliceBuffer(message)} }

// pooled returns a reply of bytes from buffers, which get them back once they are sent.
func pooled(message []byte) reply { return reply{mem.NewBuffer(&message, buffers)} }

// A codec sends replies as they are, and all other messages as protobuf.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if r, ok := v.(reply); ok {
		return mem.BufferSlice{r.Buffer}, nil
	}
	return c.CodecV2.Marshal(v)
}

// buffers hold replies: as many at one time as there are processors to make them, and more. Nine of ten bundles fit in
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
