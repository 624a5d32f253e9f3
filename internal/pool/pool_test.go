package pool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/opm-toolchain/opm/internal/pool"
)

func TestPool(t *testing.T) {
	made := 0
	p := pool.New(1, func() int { made++; return made }, func(v int) (int, bool) { return 10 * v, v != 2 })
	first, second := p.Get(), p.Get()
	p.Put(second) // is dropped
	p.Put(first)
	p.Put(7) // there is no room
	if got := p.Get(); got != 10 || made != 2 {
		t.Errorf("got %d of %d, want the recycled one of 2", got, made)
	}
	if got := p.Get(); got != 3 {
		t.Errorf("got %d, want a new one", got)
	}
}

func TestLastInFirstOut(t *testing.T) {
	p := pool.New(3, func() int { return 0 }, func(v int) (int, bool) { return v, true })
	for _, v := range []int{1, 2, 3, 4} {
		p.Put(v)
	}
	if a, b, c, d := p.Get(), p.Get(), p.Get(), p.Get(); a != 3 || b != 2 || c != 1 || d != 0 {
		t.Errorf("got %d, %d, %d, %d, want 3, 2, 1 and a new one", a, b, c, d)
	}
}

func TestBytes(t *testing.T) {
	p := pool.Bytes(1, 10, 20)
	for _, tt := range []struct{ put, want int }{{9, 10}, {21, 10}, {20, 20}} {
		p.Put(make([]byte, tt.put))
		if b := p.Get(); len(b) != 0 || cap(b) != tt.want {
			t.Errorf("after %d bytes: length %d, capacity %d, want 0 and %d", tt.put, len(b), cap(b), tt.want)
		}
	}
}

func TestDropsWhatIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		p := pool.New(3, func() int { made++; return made }, func(v int) (int, bool) { return v, true })
		for _, v := range []int{p.Get(), p.Get(), p.Get()} {
			p.Put(v)
		}
		for range 10 {
			time.Sleep(time.Second)
			p.Put(p.Get())
		}
		if v := p.Get(); v != 3 {
			t.Errorf("got %d, want 3, which was in use", v)
		}
		if v := p.Get(); v != 4 {
			t.Errorf("got %d, want a new one: 1 and 2 were not in use", v)
		}
		p.Put(5)
		time.Sleep(10 * time.Second)
		if v := p.Get(); v != 5 {
			t.Errorf("got %d, want a new one", v)
		}
	})
}
