package serve

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsReturnedOnceAfterLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := &limits{memory: newSendMemory(1000)}
		go l.tidy(ctx)
		answer := func() {
			held, err := l.memory[0].acquire(ctx, "a", 1)
			if err != nil {
				t.Fatal(err)
			}
			l.memory[0].release("a", held)
		}
		for _, tt := range []struct {
			name string
			work func()
			wait time.Duration
			want uint32
		}{
			{"nothing", func() {}, time.Minute, 0},
			{"a call, at first", answer, tidyEvery + time.Second, 0},
			{"the same call, later", func() {}, tidyEvery, 1},
			{"nothing since", func() {}, time.Minute, 0},
			{"a catalog, at first", func() { l.loaded.Store(true) }, tidyEvery, 0},
			{"the same catalog, later", func() {}, tidyEvery, 1},
		} {
			before := forcedCollections()
			tt.work()
			time.Sleep(tt.wait)
			synctest.Wait()
			if got := forcedCollections() - before; got != tt.want {
				t.Errorf("after %s: memory was returned %d times, want %d", tt.name, got, tt.want)
			}
		}
	})
}

// forcedCollections returns the number of forced garbage collections; returning memory to the system forces one.
func forcedCollections() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumForcedGC
}
