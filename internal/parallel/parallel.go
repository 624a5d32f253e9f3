// Package parallel works on several goroutines and keeps the order of its input:
//
//	for text, err := range parallel.Try(ctx, 0, files, read) {
//
// A panic is passed on to the goroutine that waits for the work, so that its deferred functions remove temporary files.
package parallel

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/errgroup"
)

// A PanicError is a panic as an error.
type PanicError struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine
}

func (p *PanicError) Error() string { return fmt.Sprintf("internal error: %v", p.Value) }

// Catch returns the error of fn, or a *[PanicError] if it panics.
func Catch(fn func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *PanicError: // of another goroutine
			err = v
		default:
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return fn()
}

// Map calls fn for every item of in, on up to jobs goroutines (0 means GOMAXPROCS), and yields the results in the order
// of in. It reads only a few items per goroutine ahead, so memory does not grow with the length of in.
//
// When ctx is done, Map stops early; the caller must check ctx.Err. All goroutines have ended when the iteration
// returns. A panic of fn or in becomes a panic of the iteration, with a *[PanicError].
func Map[A, B any](ctx context.Context, jobs int, in iter.Seq[A], fn func(A) B) iter.Seq[B] {
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	return func(yield func(B) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var group sync.WaitGroup
		defer group.Wait()
		defer cancel()

		type result struct {
			value    B
			panicked error
		}
		type task struct {
			in  A
			out chan result // of capacity 1, so that no worker ever waits
		}
		tasks := make(chan task)
		order := make(chan chan result, 2*jobs)
		var panicked error // of in; set before order is closed
		group.Go(func() {
			defer close(order)
			defer close(tasks)
			panicked = Catch(func() error {
				for a := range in {
					t := task{a, make(chan result, 1)}
					select {
					case order <- t.out:
					case <-ctx.Done():
						return nil
					}
					select {
					case tasks <- t:
					case <-ctx.Done():
						return nil
					}
				}
				return nil
			})
		})
		for range jobs {
			group.Go(func() {
				for t := range tasks {
					var r result
					r.panicked = Catch(func() error {
						r.value = fn(t.in)
						return nil
					})
					t.out <- r
				}
			})
		}
		for out := range order {
			select {
			case r := <-out:
				if r.panicked != nil {
					panic(r.panicked)
				}
				if !yield(r.value) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
		if panicked != nil {
			panic(panicked)
		}
	}
}

// Each calls fn for 0 to n-1, in any order, on up to jobs goroutines, which must be one at least. When ctx is done, it
// starts no more calls; the caller must check ctx.Err. All goroutines have ended when it returns. A panic of fn ends
// the context of the other calls, and becomes a panic of Each, with a *[PanicError].
func Each(ctx context.Context, jobs, n int, fn func(ctx context.Context, i int)) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs)
	for i := range n {
		group.Go(func() error {
			return Catch(func() error {
				if ctx.Err() == nil {
					fn(ctx, i)
				}
				return nil
			})
		})
	}
	if panicked := group.Wait(); panicked != nil {
		panic(panicked)
	}
}

// Try is [Map] for a function that may fail. If ctx is done, it ends with ctx.Err().
func Try[A, B any](ctx context.Context, jobs int, in iter.Seq[A], fn func(A) (B, error)) iter.Seq2[B, error] {
	type result struct {
		value B
		err   error
	}
	return func(yield func(B, error) bool) {
		for r := range Map(ctx, jobs, in, func(a A) (r result) {
			r.value, r.err = fn(a)
			return r
		}) {
			if !yield(r.value, r.err) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			var none B
			yield(none, err)
		}
	}
}
