package guard

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestPending checks which calls are dropped if too many wait for their request, and when a call is dropped because its
// time is over.
func TestPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pending{limit: 8}
		calls := map[string]*Call{}
		add := func(client string, limit time.Duration, names ...string) {
			for _, name := range names {
				c := &Call{conn: &connection{client: client}}
				c.Context, c.cancel = context.WithCancel(t.Context())
				calls[name] = c
				p.add(c, limit)
				time.Sleep(time.Millisecond)
			}
		}
		check := func(want ...string) {
			t.Helper()
			var dropped []string
			for name, c := range calls {
				if c.Err() == context.DeadlineExceeded {
					dropped = append(dropped, name)
				}
			}
			slices.Sort(dropped)
			if !slices.Equal(dropped, want) {
				t.Errorf("dropped %v, want %v", dropped, want)
			}
		}
		add("a", time.Second, "a1", "a2", "a3", "a4", "a5")
		add("b", time.Minute, "b1", "b2")
		add("c", time.Second, "c1")
		check()
		calls["a1"].cancel() // by the client
		add("b", time.Second, "b3")
		check()
		add("b", time.Second, "b4") // one too many: the older half of the calls of the client with the most
		check("a2", "a3")
		if !p.remove(calls["c1"]) || p.remove(calls["c1"]) || p.remove(calls["a2"]) || p.remove(calls["a1"]) {
			t.Error("a call can be removed unless it was removed before")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		check("a2", "a3", "a4", "a5", "b3", "b4")
		add("c", time.Second, "c2")
		time.Sleep(time.Minute)
		synctest.Wait()
		check("a2", "a3", "a4", "a5", "b1", "b2", "b3", "b4", "c2")
		if p.calls.Len() != 0 || p.armed || p.ended.Load() != 9 {
			t.Errorf("%d calls are left, and %d were dropped; the timer is running: %t", p.calls.Len(), p.ended.Load(), p.armed)
		}
		if calls["a1"].Err() != context.Canceled || calls["c1"].Err() != nil {
			t.Errorf("got %v and %v", calls["a1"].Err(), calls["c1"].Err())
		}
	})
}
