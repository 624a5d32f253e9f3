package serve

import (
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

// Buffers for answers, by their size: as many at one time as there are processors to make them, and more. Nearly all
// bundles fit in the smallest. The pool of gRPC has other sizes, and a bundle of 50 KB would take a megabyte.
var buffers = []sizedPool{
	{64 << 10, pool.Bytes(32, 64<<10, 64<<10)},
	{256 << 10, pool.Bytes(8, 256<<10, 256<<10)},
	{maxBuffer, pool.Bytes(4, maxBuffer, maxBuffer)},
}

// maxBuffer is the size of the largest buffers that are kept. Bundles of a megabyte, the most that etcd stores, fit.
const maxBuffer = 5 << 18

// A sizedPool keeps buffers of one size.
type sizedPool struct {
	size int
	*pool.Pool[[]byte]
}

// bufferSize returns the size of the buffer for an answer of size bytes.
func bufferSize(size int) int {
	for _, p := range buffers {
		if size <= p.size {
			return p.size
		}
	}
	return size
}

// getBuffer returns an empty buffer of a size that bufferSize returned.
func getBuffer(size int) []byte {
	for _, p := range buffers {
		if size == p.size {
			return p.Get()
		}
	}
	return make([]byte, 0, size)
}

// putBuffer gives back a buffer that getBuffer returned.
func putBuffer(b []byte) {
	for _, p := range buffers {
		if cap(b) == p.size {
			p.Put(b)
		}
	}
}
