package guard

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"
)

// A Call is a gRPC call. It is pending until its request has arrived, and then open: only an open call takes a slot,
// and keeps its connection from being closed for another one. A call whose client may send several requests is pending
// again while it waits for the next one.
//
// It is the context of the call, which ends if the call is dropped while it is pending.
type Call struct {
	context.Context
	cancel  context.CancelFunc
	conn    *connection
	counted bool // takes a slot
	open    bool
	dropped atomic.Bool

	// Guarded by pending.mu:
	entry *list.Element // nil unless pending
	since time.Time
	limit time.Duration
}

// callKey is the key of a Call in its context.
type callKey struct{}

// Value implements [context.Context].
func (c *Call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Err implements [context.Context]. gRPC sends its code to the client.
func (c *Call) Err() error {
	err := c.Context.Err()
	if err != nil && c.dropped.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// newCall returns a pending call as the context of a gRPC call whose headers have arrived.
func (g *Guard) newCall(ctx context.Context, info *tap.Info) (context.Context, error) {
	conn := connectionOf(ctx)
	if conn == nil {
		return ctx, nil
	}
	c := &Call{conn: conn, counted: !IsHealth(info.FullMethodName)}
	c.Context, c.cancel = context.WithCancel(ctx)
	g.pending.add(c, g.opts.Request)
	return c, nil
}

// Open opens the call of a context, whose request has arrived. The caller must close it. The error is for the client:
// there are too many calls, which is never the case for health checks, or the call was dropped. The call is nil if no
// listener of a Guard accepted its connection.
func Open(ctx context.Context) (*Call, error) {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c, c.begin()
}

func (c *Call) begin() error {
	if c == nil {
		return nil
	}
	g := c.conn.guard
	if !g.pending.remove(c) {
		return status.FromContextError(c.Err()).Err()
	}
	if c.counted && !g.calls.try(c.conn.client, 1) {
		g.refusedCalls.Add(1)
		return status.Error(codes.Unavailable, "too many calls are open; try again")
	}
	c.open = true
	c.conn.addCalls(1)
	return nil
}

// Close ends an open call. Its response may still be on its way to the client. Otherwise Close does nothing.
func (c *Call) Close() {
	if c == nil || !c.open {
		return
	}
	c.open = false
	c.conn.addCalls(-1)
	if c.counted {
		c.conn.guard.calls.release(c.conn.client, 1)
	}
}

// wait makes an open call pending while it waits for its next request.
func (c *Call) wait() {
	if c != nil && c.open {
		c.Close()
		c.conn.guard.pending.add(c, c.conn.guard.opts.Idle)
	}
}

// pending are the calls that wait for a request. Their number is limited, and so is the time of each.
type pending struct {
	limit int64        // number of calls
	ended atomic.Int64 // dropped calls since the last log message

	mu    sync.Mutex
	calls list.List   // of *Call, the longest pending first. May have calls that have ended since
	timer *time.Timer // calls expire; nil before the first call
	armed bool        // the timer is running
}

// add adds a call that may be pending for a limited time. If there are too many, it drops calls of the client with the
// most.
func (p *pending) add(c *Call, limit time.Duration) {
	p.mu.Lock()
	var drop []*Call
	if int64(p.calls.Len()) >= p.limit {
		p.removeIf((*Call).hasEnded)
		if int64(p.calls.Len()) >= p.limit {
			drop = p.surplus()
		}
	}
	c.since, c.limit = time.Now(), limit
	c.entry = p.calls.PushBack(c)
	if !p.armed {
		p.arm(limit)
	}
	p.mu.Unlock()
	p.drop(drop)
}

// remove removes a call, and reports whether it was pending.
func (p *pending) remove(c *Call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.entry == nil {
		return false
	}
	p.calls.Remove(c.entry)
	c.entry = nil
	return true
}

// surplus removes and returns the older half of the calls of the client with the most: it makes room for many calls,
// and other clients keep theirs.
func (p *pending) surplus() []*Call {
	counts := map[string]int{}
	heaviest := ""
	for e := p.calls.Front(); e != nil; e = e.Next() {
		client := e.Value.(*Call).conn.client
		counts[client]++
		if counts[client] > counts[heaviest] {
			heaviest = client
		}
	}
	left := (counts[heaviest] + 1) / 2
	return p.removeIf(func(c *Call) bool {
		remove := c.conn.client == heaviest && left > 0
		if remove {
			left--
		}
		return remove
	})
}

// expire drops the calls whose time is over.
func (p *pending) expire() {
	p.mu.Lock()
	now := time.Now()
	p.removeIf((*Call).hasEnded)
	late := p.removeIf(func(c *Call) bool { return now.Sub(c.since) >= c.limit })
	p.armed = false
	var next time.Duration
	for e := p.calls.Front(); e != nil; e = e.Next() {
		c := e.Value.(*Call)
		if left := c.limit - now.Sub(c.since); next == 0 || left < next {
			next = left
		}
	}
	if next > 0 {
		p.arm(next)
	}
	p.mu.Unlock()
	p.drop(late)
}

// arm starts the timer.
func (p *pending) arm(after time.Duration) {
	p.armed = true
	if p.timer == nil {
		p.timer = time.AfterFunc(after, p.expire)
		return
	}
	p.timer.Reset(after)
}

func (c *Call) hasEnded() bool { return c.Context.Err() != nil }

// removeIf removes and returns the calls for which a function returns true. The lock is held.
func (p *pending) removeIf(fn func(*Call) bool) (removed []*Call) {
	for e := p.calls.Front(); e != nil; {
		c, next := e.Value.(*Call), e.Next()
		if fn(c) {
			p.calls.Remove(e)
			c.entry = nil
			removed = append(removed, c)
		}
		e = next
	}
	return removed
}

// drop ends calls that were removed.
func (p *pending) drop(calls []*Call) {
	for _, c := range calls {
		c.dropped.Store(true)
		c.cancel()
	}
	p.ended.Add(int64(len(calls)))
}

// Requests is a server stream whose call is open while a request is handled. Its user must close it.
type Requests struct {
	grpc.ServerStream
	call *Call
	only request // unless the client may send several
	read bool    // the handler has received it
}

// A request is an encoded request.
type request []byte

// Receive waits for the request of a streaming call and opens the call. If the client may send several requests,
// RecvMsg does so for each. For the error see [Open].
func Receive(from grpc.ServerStream, several bool) (*Requests, error) {
	c, _ := from.Context().Value(callKey{}).(*Call)
	r := &Requests{ServerStream: from, call: c, read: several}
	if several {
		return r, nil
	}
	if err := from.RecvMsg(&r.only); err != nil {
		return nil, err
	}
	return r, c.begin()
}

// RecvMsg implements [grpc.ServerStream].
func (r *Requests) RecvMsg(m any) error {
	if !r.read {
		r.read = true
		if err := proto.Unmarshal(r.only, m.(proto.Message)); err != nil {
			return status.Error(codes.Internal, "the request is invalid: "+err.Error())
		}
		return nil
	}
	r.call.wait()
	if err := r.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return r.call.begin()
}

// Close closes the call.
func (r *Requests) Close() { r.call.Close() }

// A codec sends messages of a [Lease] unchanged, and receives a [Requests.only] encoded. Everything else is proto.
type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if encoded, ok := v.(mem.BufferSlice); ok {
		return encoded, nil
	}
	return c.CodecV2.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*request); ok {
		*r = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}
