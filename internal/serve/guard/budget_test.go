package guard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestBudgetShares takes the maximum share for one client after another.
func TestBudgetShares(t *testing.T) {
	b := newBudget(100)
	for _, tt := range []struct {
		client string
		want   int
	}{{"a", 50}, {"b", 25}, {"c", 13}, {"a", 0}, {"d", 6}} {
		got := 0
		for b.try(tt.client, 1) {
			got++
		}
		if got != tt.want {
			t.Errorf("%s got %d, want %d", tt.client, got, tt.want)
		}
	}
	b.release("a", 50)
	if !b.try("e", 28) {
		t.Error("what was given back is not there")
	}
	if got, err := newBudget(100).acquire(t.Context(), "a", 1000); got != 100 || err != nil {
		t.Errorf("more than everything: got %d, %v", got, err)
	}
}

// TestBudgetWaits checks that a waiting client does not delay another, and that a client that holds nothing is not
// overtaken.
func TestBudgetWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100)
		var mu sync.Mutex
		var order []string
		wait := func(ctx context.Context, client string, amount int64) {
			go func() {
				if _, err := b.acquire(ctx, client, amount); err != nil {
					client = err.Error()
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, client)
			}()
			synctest.Wait()
		}
		wait(t.Context(), "a", 50)
		wait(t.Context(), "a", 1) // over its share
		wait(t.Context(), "b", 20)
		ctx, cancel := context.WithCancel(t.Context())
		wait(ctx, "c", 60) // more than there is
		wait(t.Context(), "d", 1)
		if got, want := fmt.Sprint(order), "[a b]"; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		cancel()
		synctest.Wait()
		b.release("a", 50)
		synctest.Wait()
		if got, want := fmt.Sprint(order), "[a b context canceled d a]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestBudgetReturns has many clients acquire, wait, cancel and release, and checks that the whole budget is free in the
// end.
func TestBudgetReturns(t *testing.T) {
	b := newBudget(1000)
	var over atomic.Bool
	var held atomic.Int64
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 0))
			client := fmt.Sprint(r.IntN(5))
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(500))*time.Microsecond)
				n, err := b.acquire(ctx, client, int64(1+r.IntN(400)))
				cancel()
				if err != nil {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					continue
				}
				if held.Add(n) > b.size {
					over.Store(true)
				}
				held.Add(-n)
				b.release(client, n)
			}
		})
	}
	all.Wait()
	if over.Load() || b.free != b.size || len(b.clients) != 0 || len(b.waiting) != 0 {
		t.Errorf("over: %t; %d of %d are left, %d clients, %d wait",
			over.Load(), b.free, b.size, len(b.clients), len(b.waiting))
	}
}
