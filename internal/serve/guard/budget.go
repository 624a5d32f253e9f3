package guard

import (
	"context"
	"slices"
	"sync"
)

// A memory is the memory for responses: one budget for each class of sizes, so that a response waits only for others of
// about its size, whoever requested them.
type memory [3]*budget

// The maximum sizes of responses of the first two classes.
const (
	smallClass  = 8 << 10   // packages, health
	mediumClass = 256 << 10 // streams, nearly all bundles
)

func newMemory(size int64) memory {
	return memory{newBudget(size / 8), newBudget(size / 8 * 3), newBudget(size / 2)}
}

func (m memory) budgetFor(bytes int64) *budget {
	switch {
	case bytes <= smallClass:
		return m[0]
	case bytes <= mediumClass:
		return m[1]
	}
	return m[2]
}

func (m memory) size() (all int64) {
	for _, b := range m {
		all += b.size
	}
	return all
}

// usage returns the sums of the usage of the budgets.
func (m memory) usage() (now, most, grants int64) {
	for _, b := range m {
		n, mo, g := b.usage()
		now, most, grants = now+n, most+mo, grants+g
	}
	return now, most, grants
}

// A budget shares a limited amount, such as bytes of memory, among clients. A client may hold at most as much as
// remains free after that: a single client gets half of everything, and however much clients hold, something remains
// for another one. Requests that cannot be granted wait, in one queue for each client, and the queues take turns.
type budget struct {
	mu      sync.Mutex
	size    int64
	free    int64 // negative if add took more than was free
	minFree int64 // lowest value of free since the last call of usage
	grants  int64 // since the last call of usage
	clients map[string]*holder
	waiting []*holder // clients with a queue, in the order of their turns
}

// A holder is a client of a budget that holds or waits for a part of it.
type holder struct {
	client string
	held   int64
	queue  []*waiter
}

type waiter struct {
	amount  int64
	granted chan struct{}
}

func newBudget(size int64) *budget {
	return &budget{size: size, free: size, minFree: size, clients: map[string]*holder{}}
}

// acquire takes an amount for a client, waiting until it is free. Its error is ctx.Err(). An amount larger than the
// whole budget counts as the whole. It returns the amount to release.
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
	case <-w.granted: // just before ctx was done
		b.put(h, amount)
	default:
		b.removeWaiter(h, w)
	}
	b.grant()
	return 0, ctx.Err()
}

// try takes an amount for a client if that is possible without waiting, and reports whether it did.
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

// add takes more for a client that already holds something, even if there is not enough left: a client that waited
// while holding something could wait forever.
func (b *budget) add(client string, amount int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(b.holder(client), amount)
}

func (b *budget) release(client string, amount int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(b.holder(client), amount)
	b.grant()
}

// usage returns the held amount and, since the last call, the largest held amount and the number of grants.
func (b *budget) usage() (now, most, grants int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, most, grants = b.size-b.free, b.size-b.minFree, b.grants
	b.minFree, b.grants = b.free, 0
	return now, most, grants
}

// mayHold reports whether a client may take an amount now.
func (b *budget) mayHold(h *holder, amount int64) bool { return h.held+amount <= b.free }

// grant gives the free amount to waiting clients. A client that holds nothing is not overtaken.
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

func (b *budget) removeWaiter(h *holder, w *waiter) {
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
	b.minFree = min(b.minFree, b.free)
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

// forget drops a client that holds nothing and has no waiter.
func (b *budget) forget(h *holder) {
	if h.held == 0 && len(h.queue) == 0 {
		delete(b.clients, h.client)
	}
}
