package guard

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/pool"
)

// The minimum memory of a response.
const (
	smallAnswer = 4 << 10
	streamBytes = 128 << 10 // the 64 KB that gRPC queues for a stream, and a record of the store
)

// partBytes is the maximum size of a part of a response that counts as sent on its own.
const partBytes = 1 << 20

// A Lease is memory for a response or a part of one. It is reference-counted: its user holds a reference until Done,
// and each message holds one until gRPC has written it to the connection. The last release frees the memory. gRPC loses
// a message, without freeing it, if the call is canceled at the moment when the message is queued: then the garbage
// collector ends the charge.
type Lease struct {
	*charge
	buf  []byte // from Buffer, and not in a message yet; or nil
	refs atomic.Int32
	lost runtime.Cleanup
}

// A charge is the memory of one lease, as an entry of its connection.
type charge struct {
	conn   *connection
	from   *budget      // nil before any memory was taken
	bytes  int64        // guarded by conn.mu
	unsent atomic.Int64 // part of conn.unsent
}

// NewLease returns a lease without memory, for the response to a gRPC call. Its user must call [Lease.Done].
func NewLease(ctx context.Context) *Lease {
	l := &Lease{charge: &charge{conn: connectionOf(ctx)}}
	l.refs.Store(1)
	return l
}

// Take takes memory for the bytes that the store is about to read. It waits for the first memory, but not for more
// memory of the same response. Its error is ctx.Err(), or [context.Canceled] if the connection is closed.
func (l *Lease) Take(ctx context.Context, bytes int64) error {
	if l.from == nil {
		return l.begin(ctx, max(bytes, smallAnswer))
	}
	c := l.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.held[l.charge]; ok {
		l.bytes += bytes
		l.from.add(c.client, bytes)
	}
	return nil
}

// begin waits for the first memory. It does not wait for 0 bytes.
func (l *Lease) begin(ctx context.Context, bytes int64) (err error) {
	c, from := l.conn, l.conn.guard.memory.budgetFor(bytes)
	if bytes > 0 {
		if bytes, err = from.acquire(ctx, c.client, bytes); err != nil {
			return err
		}
	}
	l.from, l.bytes = from, bytes
	l.lost = runtime.AddCleanup(l, (*charge).end, l.charge)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		from.release(c.client, bytes)
		return context.Canceled
	}
	c.held[l.charge] = struct{}{}
	return nil
}

// Buffer takes memory like Take, and returns an empty buffer with this capacity. The lease owns the buffer until the
// next message takes it over.
func (l *Lease) Buffer(ctx context.Context, size int) ([]byte, error) {
	for _, b := range buffers {
		if size <= b.size {
			if err := l.Take(ctx, int64(b.size)); err != nil {
				return nil, err
			}
			l.buf = b.Get()
			return l.buf, nil
		}
	}
	if err := l.Take(ctx, int64(size)); err != nil {
		return nil, err
	}
	return make([]byte, 0, size), nil
}

// Buffers for responses, by size: at least one for each processor. Nearly all bundles fit in the smallest. The pool of
// gRPC has other sizes, in which a bundle of 50 KB would take a megabyte. Bundles of a megabyte, the limit of etcd, fit
// in the largest.
var buffers = []sizedPool{newSizedPool(32, 64<<10), newSizedPool(8, 256<<10), newSizedPool(4, 5<<18)}

// A sizedPool keeps buffers of one size.
type sizedPool struct {
	size int
	*pool.Pool[[]byte]
}

func newSizedPool(n, size int) sizedPool { return sizedPool{size, pool.Bytes(n, size, size)} }

// freeBuffer returns a buffer of a lease to its pool.
func freeBuffer(b []byte) {
	for _, p := range buffers {
		if cap(b) == p.size {
			p.Put(b)
		}
	}
}

// Done releases the reference of the user. Unsent messages keep their memory.
func (l *Lease) Done() {
	freeBuffer(l.buf)
	l.release()
}

// release drops one reference. The last one frees the memory.
func (l *Lease) release() {
	if l.refs.Add(-1) == 0 && l.from != nil {
		l.lost.Stop()
		l.end()
	}
}

// end releases the memory, once.
func (c *charge) end() {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	c.conn.unsent.Add(-c.unsent.Swap(0))
	if _, ok := c.conn.held[c]; ok {
		delete(c.conn.held, c)
		c.from.release(c.conn.client, c.bytes)
	}
}

// sent counts bytes that gRPC has written to the connection, or dropped because the call was canceled.
func (c *charge) sent(bytes int64) {
	c.unsent.Add(-bytes)
	c.conn.unsent.Add(-bytes)
	c.conn.taken.Add(bytes)
}

// A message is an encoded response on its way to the client.
type message struct {
	lease *Lease
	buf   []byte       // of the lease, or nil
	parts atomic.Int32 // number of unsent parts
}

// Message returns a message for gRPC, which keeps the lease until all of its parts are sent.
func (l *Lease) Message(parts ...[]byte) mem.BufferSlice {
	m := &message{lease: l}
	chunks := make([]chunk, 0, len(parts))
	for _, data := range parts {
		for data := range slices.Chunk(data, partBytes) {
			chunks = append(chunks, chunk{SliceBuffer: data, message: m})
			l.unsent.Add(int64(len(data)))
		}
	}
	all := make(mem.BufferSlice, len(chunks))
	for i := range chunks {
		chunks[i].refs.Store(1)
		all[i] = &chunks[i]
	}
	if len(all) == 0 {
		return nil
	}
	m.buf, l.buf = l.buf, nil
	l.refs.Add(1)
	m.parts.Store(int32(len(all)))
	l.conn.unsent.Add(int64(all.Len()))
	l.conn.watch()
	return all
}

// A chunk is a part of a message that counts as sent on its own.
type chunk struct {
	mem.SliceBuffer
	message *message
	refs    atomic.Int32
}

// Ref implements [mem.Buffer].
func (c *chunk) Ref() { c.refs.Add(1) }

// Free implements [mem.Buffer].
func (c *chunk) Free() {
	if c.refs.Add(-1) > 0 {
		return
	}
	m := c.message
	m.lease.sent(int64(len(c.SliceBuffer)))
	if m.parts.Add(-1) == 0 {
		freeBuffer(m.buf)
		m.lease.release()
	}
}

// Encode returns an encoded response as a message, with a lease of this number of bytes, which may be 0.
func Encode(ctx context.Context, answer any, bytes int64) (mem.BufferSlice, error) {
	data, err := proto.Marshal(answer.(proto.Message))
	if err != nil {
		return nil, err
	}
	l := NewLease(ctx)
	defer l.Done()
	if err := l.begin(ctx, bytes); err != nil {
		return nil, err
	}
	return l.Message(data), nil
}

// A Stream is a server stream whose messages hold leases.
type Stream struct {
	grpc.ServerStream
	lease *Lease // for the record that is being sent
	sent  bool   // a message of the lease was sent
}

// NewStream returns a stream that sends its messages to another stream. Its user must call [Stream.Done].
func NewStream(to grpc.ServerStream) *Stream {
	return &Stream{ServerStream: to, lease: NewLease(to.Context())}
}

// Done releases the lease of the stream. Unsent messages keep their memory.
func (s *Stream) Done() { s.lease.Done() }

// TakeNext takes memory for the next record of the store. The messages of the previous record keep the memory that they
// need.
func (s *Stream) TakeNext(bytes int) error {
	if s.sent {
		s.lease.Done()
		s.lease, s.sent = NewLease(s.Context()), false
	}
	return s.lease.Take(s.Context(), max(int64(bytes), streamBytes))
}

// Send sends an encoded response.
func (s *Stream) Send(data []byte) error {
	if s.lease.from == nil {
		if err := s.TakeNext(streamBytes); err != nil {
			return err
		}
	}
	s.sent = true
	return s.ServerStream.SendMsg(s.lease.Message(data))
}

// SendMsg implements [grpc.ServerStream] for services other than the registry. No memory is held between messages,
// because the time between them may be long.
func (s *Stream) SendMsg(m any) error {
	message, err := Encode(s.Context(), m, streamBytes)
	if err != nil {
		return err
	}
	return s.ServerStream.SendMsg(message)
}
