package serve

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
)

// What an answer takes of the memory for answers, at least.
const (
	smallAnswer = 4 << 10
	streamBytes = 128 << 10 // what gRPC queues of a stream, which is 64 KB, and a record of the store
)

// An account is what the answers on one connection take of the memory for answers.
type account struct {
	memory *budget
	client string
	stall  time.Duration
	log    *slog.Logger
	conn   *guardedConn

	mu     sync.Mutex
	leases map[*lease]struct{} // nil when the connection is closed
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

// lease takes memory for an answer, and waits until there is some.
func (a *account) lease(ctx context.Context, bytes int64) (*lease, error) {
	bytes, err := a.memory.acquire(ctx, a.client, bytes)
	if err != nil {
		return nil, err
	}
	l := &lease{account: a, bytes: bytes}
	l.refs.Store(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leases == nil {
		a.memory.release(a.client, bytes)
		return nil, context.Canceled
	}
	a.leases[l] = struct{}{}
	return l, nil
}

// close gives back all that the connection holds: gRPC drops its queues without freeing what is in them.
func (a *account) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for l := range a.leases {
		l.release()
	}
	a.leases = nil
}

// A lease is memory that is taken for an answer or a part of one. It has a user, and one more for each message that
// gRPC has yet to write to the connection; the last gives it back.
type lease struct {
	account *account
	refs    atomic.Int32

	// Of account.mu:
	bytes int64
	timer *time.Timer // cuts off a client that does not take the messages; nil before the first
}

// grow takes more memory, without waiting.
func (l *lease) grow(bytes int64) {
	a := l.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leases == nil {
		return
	}
	l.bytes += bytes
	a.memory.add(a.client, bytes)
}

// message returns a message that holds the lease until it is written. Its client has the time of a stall to take it.
func (l *lease) message(r reply) mem.BufferSlice {
	l.refs.Add(1)
	a := l.account
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.leases == nil:
	case l.timer == nil:
		l.timer = time.AfterFunc(a.stall, l.stalled)
	default:
		l.timer.Reset(a.stall)
	}
	return newMessage(l, r)
}

// stalled cuts off the client if there is a message that it does not take.
func (l *lease) stalled() {
	a := l.account
	a.mu.Lock()
	_, open := a.leases[l]
	a.mu.Unlock()
	if open && l.refs.Load() > 1 {
		a.conn.Close()
		a.log.Warn("a client that takes no answers is cut off", "client", a.conn.RemoteAddr().String(), "after", a.stall)
	}
}

// done ends the use of the lease by one of its users.
func (l *lease) done() {
	if l.refs.Add(-1) > 0 {
		return
	}
	a := l.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, open := a.leases[l]; open {
		delete(a.leases, l)
		l.release()
	}
}

// release gives back the memory. The account is locked.
func (l *lease) release() {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.account.memory.release(l.account.client, l.bytes)
}

// A message is an encoded answer on its way to the client.
type message struct {
	lease *lease
	buf   []byte // of getBuffer, or nil
	refs  atomic.Int32
}

// newMessage returns the parts of a message, which ends when all of them are freed.
func newMessage(l *lease, r reply) mem.BufferSlice {
	m := &message{lease: l, buf: r.buf}
	m.refs.Store(int32(len(r.parts)))
	parts, all := make([]part, len(r.parts)), make(mem.BufferSlice, len(r.parts))
	for i, data := range r.parts {
		parts[i] = part{data, m}
		all[i] = &parts[i]
	}
	return all
}

// A part is some bytes of a message.
type part struct {
	mem.SliceBuffer
	message *message
}

// Ref implements [mem.Buffer].
func (p *part) Ref() { p.message.refs.Add(1) }

// Free implements [mem.Buffer].
func (p *part) Free() {
	m := p.message
	if m.refs.Add(-1) > 0 {
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
	data, ok := m.(encoded)
	if !ok {
		var err error
		if data, err = proto.Marshal(m.(proto.Message)); err != nil {
			return err
		}
	}
	if s.lease == nil {
		if err := s.take(streamBytes); err != nil {
			return err
		}
	}
	s.sent = true
	return s.ServerStream.SendMsg(s.lease.message(reply{parts: [][]byte{data}}))
}
