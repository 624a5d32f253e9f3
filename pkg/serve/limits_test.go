package serve

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

// TestSendMemory has a client that does not read its response. Others are served meanwhile, and waiting calls continue
// when the client has gone.
func TestSendMemory(t *testing.T) {
	opts := Options{Limits: Limits{SendMemory: 1 << 20}}
	live := loaded(t, catalogDir(t, large()))
	addr := overTCP(t, live, opts)
	greedy := dialFrom(t, addr, "127.0.0.1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 30 {
		_, err := api.NewRegistryClient(greedy.Conn()).ListBundles(ctx, &api.ListBundlesRequest{})
		must(t, err)
	}
	soon, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	for err := error(nil); err == nil; { // until nothing is left for this client
		_, err = greedy.Bundle(soon, "elm", "only", "elm.v7.0.0")
	}
	other := dialFrom(t, addr, "127.0.0.2")
	for range 10 {
		if got := len(texts(other.Bundles(t.Context()), bundleText)); got != 100 {
			t.Errorf("another client got %d bundles", got)
		}
	}
	waiting := make(chan int)
	go func() { waiting <- len(texts(dialFrom(t, addr, "127.0.0.1").Bundles(t.Context()), bundleText)) }()
	greedy.Close()
	if got := <-waiting; got != 100 {
		t.Errorf("the client that waited got %d bundles", got)
	}
}

// dialFrom returns a client at an address of this machine.
func dialFrom(t *testing.T, addr, from string) *client.Client {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := client.New("passthrough:///"+addr, client.Options{Dial: []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", addr)
		}),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
	}})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestStalledAnswer checks that a client is disconnected if it does not read a response whose call has ended.
func TestStalledAnswer(t *testing.T) {
	dir := catalogDir(t, manyPackages())
	synctest.Test(t, func(t *testing.T) {
		r := run(t, Options{}, dir).ready(t)
		stream, err := api.NewRegistryClient(r.Conn()).ListPackages(t.Context(), &api.ListPackageRequest{})
		must(t, err)
		r.log.wait(t, "disconnecting a client that does not read its responses")
		for err == nil {
			_, err = stream.Recv()
		}
		if err == io.EOF {
			t.Error("the stalled call ended well")
		}
	})
}

// manyPackages returns a catalog whose list of packages is larger than the buffers of a connection, and smaller than
// the queue of a stream.
func manyPackages() string {
	var text strings.Builder
	for i := range 1400 {
		name := fmt.Sprintf("p%d-%s", i, strings.Repeat("x", 55))
		fmt.Fprintf(&text, "---\nschema: olm.package\nname: %s\ndefaultChannel: c\n---\nschema: olm.channel\n"+
			"package: %[1]s\nname: c\nentries:\n- {name: %[1]s.v1.0.0}\n---\nschema: olm.bundle\npackage: %[1]s\n"+
			"name: %[1]s.v1.0.0\nimage: registry.example/p\nproperties:\n"+
			"- {type: olm.package, value: {packageName: %[1]s, version: 1.0.0}}\n", name)
	}
	return text.String()
}

// TestFull fills a server with connections. A new one replaces the connection that has been idle for the longest time,
// and a connection with a call in progress stays.
func TestFull(t *testing.T) {
	web, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	opts := Options{HTTP: web, Limits: Limits{Connections: 10}}
	opts.Registries = []Registry{{Listener: l, Load: LoadOptions{Open: open(catalogDir(t, trees))}}}
	opts.Drain = time.Millisecond
	log := newLogBook()
	opts.Log = log.logger()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, opts) }()
	defer func() {
		cancel()
		must(t, <-ended)
		const refusals = `too many clients: calls or connections were refused" calls=0 connectionsClosed=`
		if n := strings.Count(log.String(), refusals+"2"); n != 1 {
			t.Errorf("the log says %d times how many connections were closed:\n%s", n, log)
		}
	}()

	busy := dialFrom(t, l.Addr().String(), "127.0.0.1")
	must(t, busy.WaitReady(ctx))
	watch, err := health.NewHealthClient(busy.Conn()).Watch(ctx, &health.HealthCheckRequest{})
	must(t, err)
	_, err = watch.Recv()
	must(t, err)
	const idle, kept = 30, 9 // and the connection in use
	closed := make(chan int, idle)
	for i := range idle {
		c, err := net.Dial("tcp", []net.Listener{l, web}[i%2].Addr().String())
		must(t, err)
		defer c.Close()
		go func() {
			_, _ = io.Copy(io.Discard, c)
			closed <- i
		}()
	}
	isClosed := map[int]bool{}
	for range idle - kept { // then the server has accepted all
		isClosed[<-closed] = true
	}
	for _, from := range []string{"127.0.0.2", "127.0.0.1"} {
		if _, err := dialFrom(t, l.Addr().String(), from).Package(ctx, "oak"); err != nil {
			t.Errorf("from %s: %v", from, err)
		}
	}
	if code, _ := get(t, "http://"+web.Addr().String()+"/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: got %d", code)
	}
	for range 3 { // one for each of the requests
		isClosed[<-closed] = true
	}
	for i := range idle - 2 {
		if isClosed[i+2] && !isClosed[i] {
			t.Errorf("connection %d is closed before %d, which the same listener accepted earlier", i+2, i)
		}
	}
	if _, err := busy.Package(ctx, "oak"); err != nil {
		t.Errorf("the connection in use: %v", err)
	}
}

// TestIdle closes a connection that makes no calls.
func TestIdle(t *testing.T) {
	opts := Options{Limits: Limits{Idle: 100 * time.Millisecond}}
	addr := overTCP(t, loaded(t, catalogDir(t, trees)), opts)
	c := dialFrom(t, addr, "127.0.0.1")
	if _, err := c.Package(t.Context(), "oak"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for state := c.Conn().GetState(); state.String() == "READY"; state = c.Conn().GetState() {
		if !c.Conn().WaitForStateChange(ctx, state) {
			t.Fatal("the connection stays open")
		}
	}
	if _, err := c.Package(t.Context(), "oak"); err != nil {
		t.Error(err)
	}
}

// TestLimitsDefaults derives limits from memory.
func TestLimitsDefaults(t *testing.T) {
	for _, tt := range []struct {
		memory int64
		want   Limits
	}{
		{math.MaxInt64, Limits{4000, 256 << 20, DefaultIdle}},
		{1 << 30, Limits{3276, 1 << 30 / 5, DefaultIdle}},
		{64 << 20, Limits{204, 64 << 20 / 5, DefaultIdle}},
		{10 << 20, Limits{100, 2 << 20, DefaultIdle}},
	} {
		if got := (Limits{}).defaults(tt.memory); got != tt.want {
			t.Errorf("%d MiB: got %+v, want %+v", tt.memory>>20, got, tt.want)
		}
	}
	set := Limits{1, 2, 3}
	if got := set.defaults(64 << 20); got != set {
		t.Errorf("got %+v, want %+v", got, set)
	}
}
