package serve

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
)

// The memory that an answer takes at least.
const (
	smallAnswer = 4 << 10
	streamBytes = 128 << 10 // what gRPC queues of a stream, which is 64 KB, and a record of the store
)

// The pace at which a client has to take answers.
const (
	stallTime  = 2 * time.Minute  // in each of which it takes paceBytes, or all that was unsent when the time began
	paceBytes  = 8 << 20          // so that a slow network has time for a large answer
	partBytes  = 1 << 20          // after each of which a part of an answer counts as sent
	secondLook = 15 * time.Second // until messages that gRPC has lost are found, see [limits.tidy]
)

// An account is the memory for answers that a connection holds, and the pace at which its client takes them.
type account struct {
	limits *limits
	client string
	conn   *guardedConn
	unsent atomic.Int64 // bytes of messages that gRPC has not written to the connection
	taken  atomic.Int64 // bytes that it has written since the stall time began

	mu      sync.Mutex
	held    map[*charge]struct{} // nil when the connection is closed
	timer   *time.Timer          // nil before the first message
	running bool                 // the timer
	due     int64                // value of taken that the client has to reach in the stall time
	late    bool                 // it did not, and is looked at once more
}

// accountOf returns the account of the connection of a call.
func accountOf(ctx context.Context) *account {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	addr, ok := p.Addr.(connAddr)
	if !ok {
		return nil
	}
	return addr.conn.account
}

// lease takes memory for an answer, and waits until there is enough. It does not wait for 0 bytes.
func (a *account) lease(ctx context.Context, bytes int64) (*lease, error) {
	from := a.limits.memory.of(bytes)
	if bytes > 0 {
		var err error
		if bytes, err = from.acquire(ctx, a.client, bytes); err != nil {
			return nil, err
		}
	}
	l := &lease{charge: &charge{account: a, from: from, bytes: bytes}}
	l.refs.Store(1)
	l.lost = runtime.AddCleanup(l, (*charge).end, l.charge)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil {
		from.release(a.client, bytes)
		return nil, context.Canceled
	}
	a.held[l.charge] = struct{}{}
	return l, nil
}

// watch cuts off the client if it does not take the messages that are unsent now.
func (a *account) watch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.running || a.held == nil:
		return
	case a.timer == nil:
		a.timer = time.AfterFunc(stallTime, a.look)
	}
	a.begin()
}

// begin begins a stall time. The account is locked.
func (a *account) begin() {
	a.taken.Store(0)
	a.due = min(a.unsent.Load(), paceBytes)
	a.running, a.late = true, false
	a.timer.Reset(stallTime)
}

// look checks at the end of a stall time how much the client has taken.
func (a *account) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.held == nil || a.unsent.Load() == 0:
		a.running = false
	case a.taken.Load() >= a.due:
		a.begin()
	case !a.late:
		a.late = true
		a.limits.late.Store(true)
		a.timer.Reset(secondLook)
	default:
		go a.conn.Close()
		a.limits.log.Warn("a client that takes no answers is cut off",
			"client", a.conn.RemoteAddr().String(), "after", stallTime)
	}
}

// close gives back all that the connection holds: gRPC drops its queues without freeing what is in them.
func (a *account) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.held {
		c.from.release(a.client, c.bytes)
	}
	a.held = nil
	if a.timer != nil {
		a.timer.Stop()
	}
}

// A charge is the entry of an account for one lease.
type charge struct {
	account *account
	from    *budget
	bytes   int64        // of account.mu
	unsent  atomic.Int64 // bytes of account.unsent
}

// end gives back the memory, once.
func (c *charge) end() {
	a := c.account
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unsent.Add(-c.unsent.Swap(0))
	if _, ok := a.held[c]; ok {
		delete(a.held, c)
		c.from.release(a.client, c.bytes)
	}
}

// sent counts bytes that gRPC has written to the connection, or dropped because the call was canceled.
func (c *charge) sent(bytes int64) {
	c.unsent.Add(-bytes)
	c.account.unsent.Add(-bytes)
	c.account.taken.Add(bytes)
}

// A lease is memory for an answer or a part of one. It has a user, and one more for each message that gRPC has yet to
// write to the connection; the last gives it back. gRPC loses a message, without freeing it, if the call is canceled at
// the moment that the message is queued: then the garbage collector ends the charge.
type lease struct {
	*charge
	refs atomic.Int32
	lost runtime.Cleanup
}

// grow takes more memory, without waiting.
func (l *lease) grow(bytes int64) {
	a := l.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.held[l.charge]; !ok {
		return
	}
	l.bytes += bytes
	l.from.add(a.client, bytes)
}

// done ends the use of the lease by one of its users.
func (l *lease) done() {
	if l.refs.Add(-1) == 0 {
		l.lost.Stop()
		l.end()
	}
}

// A message is an encoded answer on its way to the client.
type message struct {
	lease *lease
	buf   []byte       // of getBuffer, or nil
	parts atomic.Int32 // that are not sent
}

// message returns the parts of a message, which holds the lease until all of them are sent.
func (l *lease) message(r reply) mem.BufferSlice {
	m := &message{lease: l, buf: r.buf}
	parts := make([]part, 0, len(r.parts))
	for _, data := range r.parts {
		for data := range slices.Chunk(data, partBytes) {
			parts = append(parts, part{SliceBuffer: data, message: m})
			l.unsent.Add(int64(len(data)))
		}
	}
	all := make(mem.BufferSlice, len(parts))
	for i := range parts {
		parts[i].refs.Store(1)
		all[i] = &parts[i]
	}
	if len(all) == 0 {
		return nil
	}
	l.refs.Add(1)
	m.parts.Store(int32(len(all)))
	l.account.unsent.Add(int64(all.Len()))
	l.account.watch()
	return all
}

// A part is some bytes of a message.
type part struct {
	mem.SliceBuffer
	message *message
	refs    atomic.Int32
}

// Ref implements [mem.Buffer].
func (p *part) Ref() { p.refs.Add(1) }

// Free implements [mem.Buffer].
func (p *part) Free() {
	if p.refs.Add(-1) > 0 {
		return
	}
	m := p.message
	m.lease.sent(int64(len(p.SliceBuffer)))
	if m.parts.Add(-1) > 0 {
		return
	}
	if m.buf != nil {
		putBuffer(m.buf)
	}
	m.lease.done()
}

// An answering takes the memory for one answer as it turns out how much that is.
type answering struct {
	ctx     context.Context
	account *account
	lease   *lease // nil before something was taken
}

// take takes memory for what the store is about to read. It waits for the first, and not for more of the same answer.
func (a *answering) take(bytes int64) (err error) {
	if a.lease != nil {
		a.lease.grow(bytes)
		return nil
	}
	a.lease, err = a.account.lease(a.ctx, bytes)
	return err
}

// done ends the use of the memory. What is on its way to the client keeps its own.
func (a *answering) done() {
	if a.lease != nil {
		a.lease.done()
	}
}

// A sender is a stream whose messages are leased.
type sender struct {
	grpc.ServerStream
	answering
	sent bool // something, out of the lease
}

func newSender(to grpc.ServerStream) *sender {
	ctx := to.Context()
	return &sender{ServerStream: to, answering: answering{ctx: ctx, account: accountOf(ctx)}}
}

// takeNext takes memory for a record. Messages of the record before it are on their way, and hold what they need.
func (s *sender) takeNext(bytes int) error {
	if s.sent {
		s.lease.done()
		s.lease, s.sent = nil, false
	}
	return s.take(max(int64(bytes), streamBytes))
}

// SendMsg sends an encoded message, or one to encode.
func (s *sender) SendMsg(m any) error {
	if data, ok := m.(encoded); ok {
		if s.lease == nil {
			if err := s.take(streamBytes); err != nil {
				return err
			}
		}
		s.sent = true
		return s.ServerStream.SendMsg(s.lease.message(reply{parts: [][]byte{data}}))
	}
	// Not of the registry: nothing is held between the messages, which may be far apart.
	message, err := s.account.encode(s.ctx, m, streamBytes)
	if err != nil {
		return err
	}
	return s.ServerStream.SendMsg(message)
}

// encode returns an answer that is no answer of the registry as a message that holds so many bytes of memory.
func (a *account) encode(ctx context.Context, answer any, bytes int64) (mem.BufferSlice, error) {
	data, err := proto.Marshal(answer.(proto.Message))
	if err != nil {
		return nil, err
	}
	l, err := a.lease(ctx, bytes)
	if err != nil {
		return nil, err
	}
	defer l.done()
	return l.message(reply{parts: [][]byte{data}}), nil
}
