package serve

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
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

// buffers hold replies of any size. The pool of gRPC has but a few sizes, and a bundle of 50 KB would take a megabyte.
var buffers = make(bufferPool, keptBuffers)

const (
	keptBuffers = 16       // for as many replies at one time as there are processors to make them, and more
	smallBuffer = 64 << 10 // bytes, which hold nine of ten bundles
	largeBuffer = 1 << 20  // bytes, and up are not kept
)

// A bufferPool keeps buffers that grow with what was in them. Unlike a sync.Pool it keeps them through collections of
// garbage, which are frequent in a process with little memory.
type bufferPool chan *[]byte

// take returns a buffer of length 0.
func (p bufferPool) take() []byte { return (*p.Get(0))[:0] }

// Get implements mem.BufferPool.
func (p bufferPool) Get(length int) *[]byte {
	select {
	case b := <-p:
		if cap(*b) >= length {
			*b = (*b)[:length]
			return b
		}
	default:
	}
	b := make([]byte, length, max(length, smallBuffer))
	return &b
}

// Put implements mem.BufferPool.
func (p bufferPool) Put(b *[]byte) {
	if cap(*b) >= largeBuffer {
		return
	}
	select {
	case p <- b:
	default:
	}
}
