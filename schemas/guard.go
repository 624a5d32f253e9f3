package schemas

import (
	"errors"
	"fmt"
	"runtime/metrics"
	"sync"
	"time"
)

// The limits of the evaluation of the user's definitions by one checker. A published bundle takes a few milliseconds.
const (
	userTime          = 20 * time.Second
	userTimePerObject = 100 * time.Millisecond // added to userTime for each checked object
	userMemory        = 1 << 30                // maximum growth of the heap during one evaluation, in bytes
)

// ErrLimit is wrapped by the error about definitions that exceed a limit; see [Extra.Err].
var ErrLimit = errors.New("the definitions take too much time or memory")

// guardInterval is the time between two measurements of the heap.
const guardInterval = 20 * time.Millisecond

// A guard limits the evaluation of the user's definitions, whose files may be part of an untrusted change. CUE cannot
// be stopped, so an evaluation that exceeds a limit continues in the background until the process ends, and the guard
// reports an error for it and for every later evaluation. The checkers of a catalog share a guard.
type guard struct {
	heap func() uint64 // returns the size of the heap in bytes

	once   sync.Once
	failed chan struct{} // closed after err is set
	err    error
}

func newGuard() *guard { return &guard{heap: heapSize, failed: make(chan struct{})} }

// heapSize returns the bytes of objects in the heap, including the ones that the garbage collector has not freed yet.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// fail makes every evaluation return an error, unless another one was before.
func (g *guard) fail(err error) {
	g.once.Do(func() {
		g.err = err
		close(g.failed)
	})
}

// Err returns the error of the first evaluation that exceeded a limit, or nil.
func (g *guard) Err() error {
	select {
	case <-g.failed:
		return g.err
	default:
		return nil
	}
}

// guarded returns the result of evaluate, and the rest of the time. If that takes longer than left or too much memory,
// or if another evaluation did, it returns an error about the definitions called name, and evaluate must not change
// anything that the caller uses.
func guarded[T any](
	g *guard, name string, left time.Duration, evaluate func() T,
) (result T, rest time.Duration, err error) {
	if err := g.Err(); err != nil {
		return result, 0, err
	}
	type outcome struct {
		result   T
		panicked any
	}
	start, before := time.Now(), g.heap()
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.result = evaluate()
	}()
	deadline := time.NewTimer(left)
	defer deadline.Stop()
	measure := time.NewTicker(guardInterval)
	defer measure.Stop()
	for {
		select {
		case o := <-done:
			if o.panicked != nil {
				panic(o.panicked)
			}
			if err := g.Err(); err != nil { // meanwhile
				return result, 0, err
			}
			return o.result, left - time.Since(start), nil
		case <-g.failed:
			return result, 0, g.err
		case <-deadline.C:
			g.fail(fmt.Errorf("%s: %w: they may take %v, and %v for each object of the catalog",
				name, ErrLimit, userTime, userTimePerObject))
		case <-measure.C:
			if now := g.heap(); now > before+userMemory {
				g.fail(fmt.Errorf("%s: %w: they may take %d MB", name, ErrLimit, userMemory>>20))
			}
		}
	}
}
