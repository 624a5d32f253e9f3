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

// A sendMemory is the memory for answers: a budget for each class of sizes, so that an answer waits only for others of
// about its size, whoever asked for them.
type sendMemory [3]*budget

// The size of the largest answers of the first classes.
const (
	smallClass  = 8 << 10   // a package, what is asked about health
	mediumClass = 256 << 10 // streams, nearly all bundles
)

func newSendMemory(size int64) sendMemory {
	return sendMemory{newBudget(size / 8), newBudget(size / 8 * 3), newBudget(size / 2)}
}

// of returns the budget for an answer.
func (m sendMemory) of(bytes int64) *budget {
	switch {
	case bytes <= smallClass:
		return m[0]
	case bytes <= mediumClass:
		return m[1]
	}
	return m[2]
}

func (m sendMemory) size() (all int64) {
	for _, b := range m {
		all += b.size
	}
	return all
}

// usage returns the sums of what the budgets return.
func (m sendMemory) usage() (now, most, grants int64) {
	for _, b := range m {
		n, mo, g := b.usage()
		now, most, grants = now+n, most+mo, grants+g
	}
	return now, most, grants
}

// A budget shares something that there is a limited amount of among clients, such as bytes of memory. A client may hold
// as much as is left for others: alone it gets half of everything, and however much clients hold, there is something
// left for another one. What cannot be granted waits, each client in a queue of its own, and the queues take turns.
type budget struct {
	mu      sync.Mutex
	size    int64
	free    int64 // less than 0 where add took more than there was
	least   int64 // of free, since it was last asked for
	grants  int64 // since the same
	clients map[string]*holder
	waiting []*holder // with a queue, in the order of their turns
}

// A holder is a client of a budget that holds or waits for a part of it.
type holder struct {
	client string
	held   int64
	queue  []*waiter
}

// A waiter is one call that waits.
type waiter struct {
	amount  int64
	granted chan struct{}
}

func newBudget(size int64) *budget {
	return &budget{size: size, free: size, least: size, clients: map[string]*holder{}}
}

// acquire takes an amount for a client, and waits until it may. Its error is that of ctx. More than the whole budget
// counts as the whole. It returns what has to be released.
func (b *budget) acquire(ctx context.Context, client string, amount int64) (int64, error) {
	amount = min(amount, b.size)
	b.mu.Lock()
	h := b.holder(client)
	if len(b.waiting) == 0 && b.mayHold(h, amount) {
		b.take(h, amount)
		b.mu.Unlock()
		return amount, nil
	}
	w := &waiter{amount: amount, granted: make(chan struct{})}
	if len(h.queue) == 0 {
		b.waiting = append(b.waiting, h)
	}
	h.queue = append(h.queue, w)
	b.grant()
	b.mu.Unlock()
	select {
	case <-w.granted:
		return amount, nil
	default:
	}
	select {
	case <-w.granted:
		return amount, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.granted: // at the last moment
		b.put(h, amount)
	default:
		b.leave(h, w)
	}
	b.grant()
	return 0, ctx.Err()
}

// try takes an amount for a client, if it can do so without waiting, and reports whether it did.
func (b *budget) try(client string, amount int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.holder(client)
	ok := b.mayHold(h, amount)
	if ok {
		b.take(h, amount)
	}
	b.forget(h)
	return ok
}

// add takes more for a client that holds something already, even where there is not enough left. Whoever waited while
// holding something could wait for ever.
func (b *budget) add(client string, amount int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(b.holder(client), amount)
}

// release gives back what a client holds.
func (b *budget) release(client string, amount int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(b.holder(client), amount)
	b.grant()
}

// usage returns how much is held, and since the last call how much was held at most and how often something was taken.
func (b *budget) usage() (now, most, grants int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, most, grants = b.size-b.free, b.size-b.least, b.grants
	b.least, b.grants = b.free, 0
	return now, most, grants
}

// mayHold reports whether a client may take an amount now.
func (b *budget) mayHold(h *holder, amount int64) bool { return h.held+amount <= b.free }

// grant gives to those who wait what there is. A client that holds nothing is not overtaken.
func (b *budget) grant() {
	for i := 0; i < len(b.waiting); {
		h := b.waiting[i]
		w := h.queue[0]
		if !b.mayHold(h, w.amount) {
			if h.held == 0 {
				return
			}
			i++
			continue
		}
		b.take(h, w.amount)
		close(w.granted)
		b.waiting = slices.Delete(b.waiting, i, i+1)
		if h.queue = h.queue[1:]; len(h.queue) > 0 {
			b.waiting = append(b.waiting, h)
		}
	}
}

// leave takes a waiter out of the queue of its client.
func (b *budget) leave(h *holder, w *waiter) {
	i := slices.Index(h.queue, w)
	if h.queue = slices.Delete(h.queue, i, i+1); len(h.queue) == 0 {
		i := slices.Index(b.waiting, h)
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	b.forget(h)
}

func (b *budget) take(h *holder, amount int64) {
	h.held += amount
	b.free -= amount
	b.least = min(b.least, b.free)
	b.grants++
}

func (b *budget) put(h *holder, amount int64) {
	h.held -= amount
	b.free += amount
	b.forget(h)
}

func (b *budget) holder(client string) *holder {
	h, ok := b.clients[client]
	if !ok {
		h = &holder{client: client}
		b.clients[client] = h
	}
	return h
}

// forget drops a client that holds nothing and waits for nothing.
func (b *budget) forget(h *holder) {
	if h.held == 0 && len(h.queue) == 0 {
		delete(b.clients, h.client)
	}
}
