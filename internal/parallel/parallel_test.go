package parallel_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/opm-toolchain/opm/internal/parallel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func numbers(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func TestMapKeepsOrder(t *testing.T) { synctest.Test(t, mapKeepsOrder) }

func mapKeepsOrder(t *testing.T) {
	slowWhenEven := func(i int) int {
		if i%2 == 0 {
			time.Sleep(time.Millisecond)
		}
		return i * i
	}
	got := slices.Collect(parallel.Map(t.Context(), 8, numbers(100), slowWhenEven))
	for i, v := range got {
		if v != i*i {
			t.Fatalf("result %d is %d, want %d", i, v, i*i)
		}
	}
	if len(got) != 100 {
		t.Fatalf("%d results, want 100", len(got))
	}
}

// TestMapPanics checks that a panic of the function or the input reaches the caller, with its stack, after all goroutines
// ended.
func TestMapPanics(t *testing.T) {
	for name, in := range map[string]func(func(int) bool){
		"function": numbers(100),
		"input": func(yield func(int) bool) {
			yield(1)
			panic("broken")
		},
	} {
		err := parallel.Catch(func() error {
			for range parallel.Map(t.Context(), 3, in, func(i int) int {
				if i == 50 {
					panic("broken")
				}
				return i
			}) {
			}
			return nil
		})
		p, ok := errors.AsType[*parallel.PanicError](err)
		if !ok || p.Value != "broken" || !bytes.Contains(p.Stack, []byte("TestMapPanics")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMapReadsAheadOnlyAFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started atomic.Int64
		for range parallel.Map(t.Context(), 2, numbers(1000), func(i int) int { started.Add(1); return i }) {
			synctest.Wait()
			break
		}
		if n := started.Load(); n > 10 {
			t.Errorf("%d items were started although one was taken", n)
		}
	})
}

func TestMapStopsWhenDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for range parallel.Map(ctx, 2, numbers(1000), func(i int) int { return i }) {
		if n++; n == 3 {
			cancel()
		}
	}
	if n == 1000 {
		t.Error("all items were yielded although the context was done")
	}
}

func TestTryYieldsErrorsInOrder(t *testing.T) {
	odd := errors.New("odd")
	half := func(i int) (int, error) {
		if i%2 == 1 {
			return 0, odd
		}
		return i / 2, nil
	}
	i := 0
	for got, err := range parallel.Try(t.Context(), 4, numbers(20), half) {
		if want, wantErr := half(i); got != want || err != wantErr {
			t.Errorf("result %d is %d, %v", i, got, err)
		}
		i++
	}
	if i != 20 {
		t.Errorf("%d results, want 20", i)
	}
}

func TestTryEndsWithTheErrorOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range parallel.Try(ctx, 2, numbers(1000), func(i int) (int, error) { return i, nil }) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("the last error is %v, want %v", last, context.Canceled)
	}
}

func TestEach(t *testing.T) { synctest.Test(t, each) }

// each checks that Each has at most jobs calls at once, none of which waits for an earlier one.
func each(t *testing.T) {
	var running, most, calls atomic.Int64
	start := time.Now()
	parallel.Each(t.Context(), 3, 100, func(_ context.Context, i int) {
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(time.Second)
		if i == 0 {
			time.Sleep(time.Minute)
		}
		running.Add(-1)
		calls.Add(1)
	})
	if calls.Load() != 100 || most.Load() != 3 || time.Since(start) != time.Minute+time.Second {
		t.Errorf("%d calls, %d at once, in %v", calls.Load(), most.Load(), time.Since(start))
	}
}

func TestEachStopsWhenDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	parallel.Each(ctx, 1, 100, func(context.Context, int) {
		if calls++; calls == 3 {
			cancel()
		}
	})
	if calls != 3 {
		t.Errorf("%d calls", calls)
	}
}

// TestEachPanics checks that a panic ends the other calls, and reaches the caller.
func TestEachPanics(t *testing.T) {
	err := parallel.Catch(func() error {
		parallel.Each(t.Context(), 2, 2, func(ctx context.Context, i int) {
			if i == 0 {
				panic("broken")
			}
			<-ctx.Done()
		})
		return nil
	})
	if panicked, ok := errors.AsType[*parallel.PanicError](err); !ok || panicked.Value != "broken" {
		t.Errorf("got %v", err)
	}
}
