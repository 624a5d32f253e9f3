package guard

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
		g := &Guard{memory: newMemory(1000)}
		go g.Run(ctx)
		answer := func() {
			held, err := g.memory[0].acquire(ctx, "a", 1)
			if err != nil {
				t.Fatal(err)
			}
			g.memory[0].release("a", held)
		}
		for _, tt := range []struct {
			name string
			work func()
			wait time.Duration
			want uint32
		}{
			{"nothing", func() {}, time.Minute, 0},
			{"a call, at first", answer, returnEvery + time.Second, 0},
			{"the same call, later", func() {}, returnEvery, 1},
			{"nothing since", func() {}, time.Minute, 0},
			{"a catalog, at first", func() { g.Loaded() }, returnEvery, 0},
			{"the same catalog, later", func() {}, returnEvery, 1},
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
