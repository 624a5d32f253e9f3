package serve

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/test/bufconn"

	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

// moreTrees is trees with one more object.
const moreTrees = trees + "---\nschema: example.Leaf/v1\nsize: 5\n"

// loadDir returns the snapshot of a directory.
func loadDir(t *testing.T, dir string) *snapshot {
	t.Helper()
	s, err := load(t.Context(), LoadOptions{Open: open(dir)})
	must(t, err)
	return s
}

// reloading runs a server of a directory until the test ends, in a bubble of fake time.
func reloading(t *testing.T, dir string, opts Options) (*liveSnapshot, *bufconn.Listener) {
	t.Helper()
	l, live := bufconn.Listen(window), loaded(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- newServer(live, opts).serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-ended)
	})
	return live, l
}

// TestReloadReconnects follows the connection of a client while the catalog changes: it is IDLE within the time of
// grace, and READY with the next call, as OLM expects it.
func TestReloadReconnects(t *testing.T) {
	before, after := catalogDir(t, trees), catalogDir(t, moreTrees)
	for _, tt := range []struct {
		name  string
		to    string // the directory that is served next
		grace time.Duration
		want  connectivity.State
	}{
		{"default", after, 0, connectivity.Idle},
		{"a minute", after, time.Minute, connectivity.Idle},
		{"never", after, -1, connectivity.Ready},
		{"the same catalog", before, 0, connectivity.Ready},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live, l := reloading(t, before, Options{ReloadGrace: tt.grace})
				c := dial(t, l)
				_, err := c.Package(t.Context(), "oak")
				must(t, err)
				live.swap(loadDir(t, tt.to))
				synctest.Wait()
				if got := c.Conn().GetState(); got != connectivity.Ready {
					t.Errorf("at the swap: %v", got)
				}
				time.Sleep(max(tt.grace, DefaultReloadGrace))
				synctest.Wait()
				if got := c.Conn().GetState(); got != tt.want {
					t.Errorf("after the time of grace: %v, want %v", got, tt.want)
				}
				for _, err := range c.Packages(t.Context()) {
					must(t, err)
				}
				synctest.Wait() // a connection takes calls before its state says so
				if got := c.Conn().GetState(); got != connectivity.Ready {
					t.Errorf("after the next call: %v", got)
				}
			})
		})
	}
}

// TestReloadSpread checks that clients are not all asked to reconnect at the same time.
func TestReloadSpread(t *testing.T) {
	before, after := catalogDir(t, trees), catalogDir(t, moreTrees)
	synctest.Test(t, func(t *testing.T) {
		live, l := reloading(t, before, Options{})
		start := time.Now()
		var all sync.WaitGroup
		var mu sync.Mutex
		at := map[time.Duration]int{}
		for range 40 {
			c := dial(t, l)
			must(t, c.WaitReady(t.Context()))
			all.Go(func() {
				c.Conn().WaitForStateChange(t.Context(), connectivity.Ready)
				mu.Lock()
				defer mu.Unlock()
				at[time.Since(start).Round(time.Millisecond)]++
			})
		}
		live.swap(loadDir(t, after))
		all.Wait()
		if len(at) < 8 || time.Since(start) > DefaultReloadGrace {
			t.Errorf("clients were asked at %v", at)
		}
		for when, n := range at {
			if n > 5 {
				t.Errorf("%d of 40 clients were asked at %v", n, when)
			}
		}
	})
}

// TestReloadKeepsCalls checks that a client that reads a list slowly gets all of it while the catalog changes several
// times.
func TestReloadKeepsCalls(t *testing.T) {
	dirs := []string{catalogDir(t, trees), catalogDir(t, moreTrees)}
	list := catalogDir(t, large())
	synctest.Test(t, func(t *testing.T) {
		live, l := reloading(t, list, Options{})
		c := dial(t, l)
		stream, err := api.NewRegistryClient(c.Conn()).ListBundles(t.Context(), &api.ListBundlesRequest{})
		must(t, err)
		n := 0
		for ; ; n++ {
			if _, err = stream.Recv(); err != nil {
				break
			}
			if n%12 > 0 { // the first bundle comes before the first change: the server has the call then
				continue
			}
			live.swap(loadDir(t, dirs[n/12%2]))
			time.Sleep(6 * time.Second)
			for _, err := range c.Packages(t.Context()) { // on a connection of its own
				must(t, err)
			}
		}
		if err != io.EOF || n != 100 {
			t.Errorf("%d bundles, then %v", n, err)
		}
	})
}

// TestReloadUnderLoad checks that all of many calls get a response while the catalog changes.
func TestReloadUnderLoad(t *testing.T) {
	dirs := []string{catalogDir(t, trees), catalogDir(t, moreTrees)}
	live := loaded(t, dirs[0])
	addr := overTCP(t, live, Options{ReloadGrace: 20 * time.Millisecond})
	var all sync.WaitGroup
	calls, done := make(chan struct{}), make(chan struct{})
	for range 8 {
		c, err := client.New(addr, client.Options{})
		must(t, err)
		defer c.Close()
		for range 4 {
			all.Go(func() {
				for {
					select {
					case <-done:
						return
					case calls <- struct{}{}:
					}
					if _, err := c.Bundle(t.Context(), "oak", "stable", "oak.v3.0.0"); err != nil {
						t.Error(err)
						return
					}
					if got := len(texts(c.Bundles(t.Context()), bundleText)); got != 7 {
						t.Errorf("got %d bundles", got)
					}
				}
			})
		}
	}
	for i := range 8 {
		live.swap(loadDir(t, dirs[(i+1)%2]))
		for range 200 {
			<-calls
		}
	}
	close(done)
	all.Wait()
}
