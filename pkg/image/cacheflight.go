package image

import (
	"context"
	"sync"
)

// A flight lets one goroutine do what several want done, and gives the result to all of them. The zero value is ready.
type flight[T any] struct {
	mu    sync.Mutex
	calls map[string]*call[T]
}

// A call is under way until done is closed.
type call[T any] struct {
	done   chan struct{}
	result T
	err    error
	gaveUp bool // because the context of its caller ended
}

// do returns what fn returns, or what the fn of another caller with the same key did that was under way. Where that one
// gave up because its own context ended, fn is called after all.
func (f *flight[T]) do(ctx context.Context, key string, fn func() (T, error)) (T, error) {
	for {
		c, mine := f.join(key)
		if mine {
			defer f.leave(key, c)
			c.result, c.err = fn()
			c.gaveUp = ctx.Err() != nil
			return c.result, c.err
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
		if c.err == nil || !c.gaveUp {
			return c.result, c.err
		}
	}
}

// join returns the call for key, and whether it is the caller's to make.
func (f *flight[T]) join(key string) (c *call[T], mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.calls[key]; c != nil {
		return c, false
	}
	if f.calls == nil {
		f.calls = map[string]*call[T]{}
	}
	c = &call[T]{done: make(chan struct{})}
	f.calls[key] = c
	return c, true
}

func (f *flight[T]) leave(key string, c *call[T]) {
	f.mu.Lock()
	delete(f.calls, key)
	f.mu.Unlock()
	close(c.done)
}

// A memo remembers what went well. The zero value is ready.
type memo[T any] struct {
	flight flight[T]
	mu     sync.Mutex
	known  map[string]T
}

// get returns what is known for key, or what fn returns.
func (m *memo[T]) get(ctx context.Context, key string, fn func() (T, error)) (T, error) {
	return m.flight.do(ctx, key, func() (T, error) {
		m.mu.Lock()
		result, ok := m.known[key]
		m.mu.Unlock()
		if ok {
			return result, nil
		}
		result, err := fn()
		if err != nil {
			return result, err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.known == nil {
			m.known = map[string]T{}
		}
		m.known[key] = result
		return result, nil
	})
}
