package schemas

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestGuard checks the limits of time and memory, and that a guard that reports one ends all other evaluations.
func TestGuard(t *testing.T) {
	for _, tt := range []struct {
		name string
		heap uint64 // growth after a minute
		left time.Duration
		want string // in the error
	}{
		{"time", 0, 20 * time.Second, "x.cue: the definitions take too much time or memory: they may take 20s, and 100ms for each"},
		{"memory", userMemory + 1, time.Hour, "the definitions take too much time or memory: they may take 1024 MB"},
		{"neither", userMemory, time.Hour, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heap atomic.Uint64
				heap.Store(1 << 40)
				g := newGuard()
				g.heap = heap.Load
				end := make(chan struct{})
				defer close(end)
				defer time.AfterFunc(time.Minute, func() { heap.Add(tt.heap) }).Stop()
				other := make(chan error, 1)
				go func() {
					_, _, err := guarded(g, "other", time.Hour+time.Minute, func() int { <-end; return 0 })
					other <- err
				}()
				result, left, err := guarded(g, "x.cue", tt.left, func() int {
					select {
					case <-end:
					case <-time.After(30 * time.Minute):
					}
					return 7
				})
				if tt.want == "" {
					if err != nil || result != 7 || left != 30*time.Minute || g.Err() != nil {
						t.Errorf("got %d, %v left, %v", result, left, err)
					}
					g.fail(errors.New("the end"))
					<-other
					return
				}
				if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), tt.want) || g.Err() == nil {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				if err := <-other; err == nil {
					t.Error("the other evaluation has no error")
				}
			})
		})
	}
}

// TestGuardPanic checks that a panic of an evaluation is a panic of its caller.
func TestGuardPanic(t *testing.T) {
	defer func() {
		if got := recover(); got != "oops" {
			t.Errorf("recovered %v", got)
		}
	}()
	_, _, _ = guarded(newGuard(), "x.cue", time.Hour, func() int { panic("oops") })
}

// TestLimit checks that no checker of the same definitions has findings after a limit is exceeded.
func TestLimit(t *testing.T) {
	x := NewExtra(File{Name: "x.cue", Data: []byte(`#X: {schema!: "x", a: int, ...}`)})
	const raw = `{"schema": "x", "name": "n"}`
	checker := func() *Checker {
		t.Helper()
		c, err := x.NewChecker()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := checker(), checker()
	if got := check(t, a, raw); len(got) != 1 || x.Err() != nil {
		t.Fatalf("got %q, %v", got, x.Err())
	}
	x.guard.fail(ErrLimit)
	for _, c := range []*Checker{a, b, a} {
		if got := check(t, c, raw); got != nil {
			t.Errorf("after the limit: %q", got)
		}
	}
	if _, err := x.NewChecker(); !errors.Is(err, ErrLimit) || !errors.Is(x.Err(), ErrLimit) {
		t.Errorf("a new checker has the error %v, the definitions %v", err, x.Err())
	}
}

// TestSecret checks that an error about a file whose text is secret has only its position.
func TestSecret(t *testing.T) {
	for _, text := range []string{"hunter2", "machine hunter2 login hunter2", "[hunter2]", "a: hunter2\n", `#A: {schema: "hunter2" & "hunter3"}`} {
		_, err := NewChecker(File{Name: "x.cue", Data: []byte(text), Secret: true})
		if err == nil || !strings.HasPrefix(err.Error(), "x.cue:1:") || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
