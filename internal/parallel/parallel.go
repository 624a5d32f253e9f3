// Package parallel does work on several goroutines and keeps the order of its input:
//
//	for text := range parallel.Map(ctx, 0, files, read) {
package parallel

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// Map calls fn for every item of in on up to jobs goroutines, 0 meaning GOMAXPROCS, and yields the results in the order
// of in. It reads ahead by a few items a goroutine, so memory does not grow with the length of in.
//
// When ctx is done, Map stops early; the caller asks ctx.Err. All goroutines have ended when the iteration returns.
func Map[A, B any](ctx context.Context, jobs int, in iter.Seq[A], fn func(A) B) iter.Seq[B] {
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	return func(yield func(B) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var group sync.WaitGroup
		defer group.Wait()
		defer cancel()

		type task struct {
			in  A
			out chan B // of capacity 1, so that no worker ever waits
		}
		tasks := make(chan task)
		order := make(chan chan B, 2*jobs)
		group.Go(func() {
			defer close(order)
			defer close(tasks)
			for a := range in {
				t := task{a, make(chan B, 1)}
				select {
				case order <- t.out:
				case <-ctx.Done():
					return
				}
				select {
				case tasks <- t:
				case <-ctx.Done():
					return
				}
			}
		})
		for range jobs {
			group.Go(func() {
				for t := range tasks {
					t.out <- fn(t.in)
				}
			})
		}
		for out := range order {
			select {
			case b := <-out:
				if !yield(b) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
