package serve

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

// unfinished are requests that a client does not finish: of unary and streaming methods.
var unfinished = []struct {
	method string
	req    proto.Message
}{
	{getBundleMethod, &api.GetBundleRequest{PkgName: "oak", ChannelName: "stable", CsvName: "oak.v3.0.0"}},
	{"/api.Registry/GetChannelEntriesThatReplace", &api.GetAllReplacementsRequest{CsvName: "oak.v1.0.0"}},
	{listBundlesMethod, &api.ListBundlesRequest{}},
	{reflectionMethod, listServices()},
	{checkHealth, &health.HealthCheckRequest{Service: "oak"}},
	{"/grpc.health.v1.Health/Watch", &health.HealthCheckRequest{Service: "oak"}},
	{"/api.Registry/None", &api.ListBundlesRequest{}},
}

// TestUnfinishedRequests checks that calls whose request does not arrive keep no other call from being served, whatever
// the number of their connections and addresses, and that they are ended after the time limit.
func TestUnfinishedRequests(t *testing.T) {
	dir := catalogDir(t, trees)
	for _, tt := range []struct {
		name      string
		clients   int
		addresses bool // each client has an address of its own
	}{
		{"one address", 20, false},
		{"many addresses", 40, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := bufconn.Listen(window)
				var listener net.Listener = l
				if tt.addresses {
					listener = &fromAddr{Listener: l}
				}
				log := newLogBook()
				opts := Options{Log: log.logger()}
				opts.Registries = []Registry{{Listener: listener, Load: LoadOptions{Open: open(dir)}}}
				ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
				ended := make(chan error)
				go func() { ended <- Run(ctx, opts) }()
				defer func() {
					cancel()
					must(t, <-ended)
				}()
				first := dial(t, l)
				must(t, first.WaitReady(t.Context()))
				var clients []*rawClient
				const calls = 245
				for range tt.clients {
					c := dialRaw(t, l)
					for i := range calls {
						of := unfinished[i%len(unfinished)]
						message := encodeRequest(t, of.req)
						// Without the message, with a part of it, and with all of it but without the end of the request.
						n := i / len(unfinished) % (len(message) + 1)
						if of.method == reflectionMethod {
							n = min(n, len(message)-1) // a request: its end means that there are no others
						}
						c.begin(t, of.method, message, n, false)
					}
					clients = append(clients, c)
				}
				synctest.Wait()
				serveAll(t, first)
				serveAll(t, dial(t, l))
				time.Sleep(requestTimeout + time.Second)
				synctest.Wait()
				for i, c := range clients {
					if c.isClosed() || c.ended.Load() != calls {
						t.Errorf("client %d: %d of %d calls were ended; closed: %t", i, c.ended.Load(), calls, c.isClosed())
					}
				}
				serveAll(t, first)
				log.wait(t, "calls whose request did not arrive were ended")
			})
		})
	}
}

// serveAll makes calls of all kinds, which must be answered soon.
func serveAll(t *testing.T, c *client.Client) {
	t.Helper()
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := c.Package(soon, "oak")
	must(t, err)
	_, err = c.Bundle(soon, "oak", "stable", "oak.v3.0.0")
	must(t, err)
	if got := len(texts(c.Bundles(soon), bundleText)); got == 0 {
		t.Error("got no bundles")
	}
	must(t, reflect(soon, c))
	_, err = health.NewHealthClient(c.Conn()).Check(soon, &health.HealthCheckRequest{})
	must(t, err)
}

// TestTooManyCalls checks that a client gets half of the slots for calls, that others get some of the rest, and that
// health checks need none. The calls wait for the first catalog.
func TestTooManyCalls(t *testing.T) {
	dir := catalogDir(t, trees)
	synctest.Test(t, func(t *testing.T) {
		load := make(chan struct{})
		l := &fromAddr{Listener: bufconn.Listen(window)}
		opts := Options{Registries: []Registry{{Listener: l, Load: LoadOptions{
			Open: func(ctx context.Context) (*Input, error) {
				<-load
				return open(dir)(ctx)
			},
		}}}}
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error)
		go func() { ended <- Run(ctx, opts) }()
		defer func() {
			cancel()
			must(t, <-ended)
		}()
		l.same.Store(true)
		const calls = 240
		var clients []*rawClient
		refused := func() (n int64) {
			for _, c := range clients {
				n += c.ended.Load()
			}
			return n
		}
		for range 10 {
			c := dialRaw(t, l.Listener.(*bufconn.Listener))
			must(t, c.write(func(f *http2.Framer) error { return f.WriteWindowUpdate(0, 1<<20) }))
			for i := range calls {
				of := unfinished[i%3]
				c.call(t, of.method, of.req)
			}
			clients = append(clients, c)
			synctest.Wait()
		}
		if got, want := refused(), int64(10*calls-2000); got != want {
			t.Errorf("%d calls of one client were refused, want %d", got, want)
		}
		clients[0].call(t, checkHealth, &health.HealthCheckRequest{})
		synctest.Wait()
		if got, want := refused(), int64(10*calls-2000+1); got != want {
			t.Errorf("%d calls of one client have ended, want %d", got, want)
		}
		l.same.Store(false)
		other := dialRaw(t, l.Listener.(*bufconn.Listener))
		other.call(t, getBundleMethod, unfinished[0].req)
		time.Sleep(time.Hour) // calls wait longer than a request
		synctest.Wait()
		if other.ended.Load() != 0 {
			t.Error("the call of another client has ended")
		}
		close(load)
		synctest.Wait()
		if got := refused() + other.ended.Load(); got != 10*calls+2 {
			t.Errorf("%d calls have ended", got)
		}
	})
}

// TestSlowRequest checks that a request that arrives in parts within the time limit is answered.
func TestSlowRequest(t *testing.T) {
	dir := catalogDir(t, trees)
	synctest.Test(t, func(t *testing.T) {
		r := run(t, Options{}, dir).ready(t)
		c := dialRaw(t, r.listener)
		message := encodeRequest(t, unfinished[0].req)
		id := c.begin(t, getBundleMethod, message, 7, false)
		time.Sleep(requestTimeout - time.Second)
		must(t, c.write(func(f *http2.Framer) error { return f.WriteData(id, true, message[7:]) }))
		synctest.Wait()
		if c.got.Load() < 100 || c.ended.Load() != 1 {
			t.Errorf("got %d bytes, and %d ends", c.got.Load(), c.ended.Load())
		}
	})
}

// TestIdleStreams checks that streams that wait for their next request keep no other call from being served, and that
// they end as a connection without calls does.
func TestIdleStreams(t *testing.T) {
	dir := catalogDir(t, trees)
	synctest.Test(t, func(t *testing.T) {
		r := run(t, Options{}, dir).ready(t)
		var clients []*rawClient
		message := encodeRequest(t, listServices())
		const calls = 100
		for range 30 {
			c := dialRaw(t, r.listener)
			for range calls {
				c.begin(t, reflectionMethod, message, len(message), false)
			}
			clients = append(clients, c)
		}
		synctest.Wait()
		if n := clients[0].got.Load(); n < calls*100 {
			t.Fatalf("got %d bytes in answers", n)
		}
		serveAll(t, r.Client)
		stream, err := reflectionv1.NewServerReflectionClient(r.Conn()).ServerReflectionInfo(t.Context())
		must(t, err)
		for range 3 { // a client that makes requests from time to time
			must(t, stream.Send(listServices()))
			_, err = stream.Recv()
			must(t, err)
			time.Sleep(DefaultIdle - time.Minute)
		}
		synctest.Wait()
		for i, c := range clients {
			if c.ended.Load() != calls {
				t.Errorf("client %d: %d of %d streams were ended", i, c.ended.Load(), calls)
			}
		}
		serveAll(t, r.Client)
	})
}
