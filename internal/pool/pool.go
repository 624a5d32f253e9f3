// Package pool keeps values that are expensive to make, such as buffers and compressors, for their next users.
package pool

import (
	"slices"
	"sync"
	"time"
	"weak"
)

// keepTime is the minimum time for which an unused value is kept; the maximum is twice as long.
const keepTime = 2 * time.Second

// A Pool keeps up to a fixed number of unused values. Get returns the value that was used last. Unlike a sync.Pool, a
// Pool keeps values during garbage collections, which are frequent in a process with a small heap: creating the values
// again would cost more than using them. A value that is not used for some seconds is dropped. A Pool is safe for
// concurrent use.
type Pool[T any] struct {
	mu      sync.Mutex
	free    []T
	unused  int         // number of values at the start of free that were not used since the timer started
	timer   *time.Timer // drops these values; nil while free is empty
	create  func() T
	recycle func(T) (T, bool)
}

// New returns a pool that keeps up to n values. Recycle prepares a value for its next user. It returns false for a
// value that is not worth keeping.
func New[T any](n int, create func() T, recycle func(T) (T, bool)) *Pool[T] {
	return &Pool[T]{free: make([]T, 0, n), create: create, recycle: recycle}
}

// Bytes returns a pool of up to n empty buffers, each with a capacity of at least size bytes. Buffers that have grown
// beyond largest are dropped, so that one large message does not make all buffers that large.
func Bytes(n, size, largest int) *Pool[[]byte] {
	return New(n,
		func() []byte { return make([]byte, 0, size) },
		func(b []byte) ([]byte, bool) { return b[:0], size <= cap(b) && cap(b) <= largest })
}

// Get returns a value that is not in use, or a new one.
func (p *Pool[T]) Get() T {
	p.mu.Lock()
	last := len(p.free) - 1
	if last < 0 {
		p.mu.Unlock()
		return p.create()
	}
	v := p.free[last]
	clear(p.free[last:]) // so that the pool has no reference to a value in use
	p.free = p.free[:last]
	p.unused = min(p.unused, last)
	p.mu.Unlock()
	return v
}

// Put returns a value to the pool. The caller must no longer use it.
func (p *Pool[T]) Put(v T) {
	v, ok := p.recycle(v)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == cap(p.free) {
		return
	}
	p.free = append(p.free, v)
	if p.timer == nil {
		weakPool := weak.Make(p) // so that the timer does not keep an unused pool
		p.timer = time.AfterFunc(keepTime, func() {
			if p := weakPool.Value(); p != nil {
				p.drop()
			}
		})
	}
}

// drop drops the values that were not used since the timer started.
func (p *Pool[T]) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = slices.Delete(p.free, 0, p.unused)
	p.unused = len(p.free)
	if p.unused == 0 {
		p.timer = nil
		return
	}
	p.timer.Reset(keepTime)
}
