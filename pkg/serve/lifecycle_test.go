package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

// gated returns options with which catalogs are opened only after the function is called.
func gated(dirs ...string) (Options, func()) {
	gate := make(chan struct{})
	load := LoadOptions{Open: func(ctx context.Context) (*Input, error) {
		select {
		case <-gate:
			return open(dirs...)(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	return Options{Registries: []Registry{{Load: load}}}, sync.OnceFunc(func() { close(gate) })
}

// TestHealth follows the health of a server from its start until it stops.
func TestHealth(t *testing.T) {
	opts, load := gated(catalogDir(t, trees))
	r := run(t, opts)
	checks := health.NewHealthClient(r.Conn())
	updates, err := checks.Watch(t.Context(), &health.HealthCheckRequest{Service: "whatever"})
	if err != nil {
		t.Fatal(err)
	}
	next := func() string {
		u, err := updates.Recv()
		if err != nil {
			return status.Code(err).String()
		}
		return u.GetStatus().String()
	}
	now := func() string {
		one, err := checks.Check(t.Context(), &health.HealthCheckRequest{Service: "whatever"})
		if err != nil {
			t.Fatal(err)
		}
		all, err := checks.List(t.Context(), &health.HealthListRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, service := range []string{"", "api.Registry", "api.ExperimentalRegistry"} {
			if got := all.GetStatuses()[service].GetStatus(); got != one.GetStatus() {
				t.Errorf("Check says %v, List of %q %v", one.GetStatus(), service, got)
			}
		}
		return one.GetStatus().String()
	}
	got := []string{next(), now()}
	load()
	got = append(got, next(), now())
	if err := r.end(); err != nil {
		t.Error(err)
	}
	got = append(got, next(), next())
	want := []string{"NOT_SERVING", "NOT_SERVING", "SERVING", "SERVING", "NOT_SERVING", "Unavailable"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCallsWait checks that calls wait for the first catalog.
func TestCallsWait(t *testing.T) {
	opts, load := gated(catalogDir(t, trees))
	r := run(t, opts)
	hasty, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Package(hasty, "oak"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call with a deadline: got %v", err)
	}
	answered := make(chan error)
	go func() {
		_, err := r.Package(t.Context(), "oak")
		answered <- err
	}()
	load()
	if err := <-answered; err != nil {
		t.Errorf("a call without a deadline: got %v", err)
	}
}

// TestEndsBeforeReady checks that a server that has no catalog yet stops, even if a call waits for the catalog.
func TestEndsBeforeReady(t *testing.T) {
	opts, _ := gated()
	r := run(t, opts)
	stream, err := api.NewRegistryClient(r.Conn()).ListPackages(t.Context(), &api.ListPackageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := health.NewHealthClient(r.Conn()).Check(t.Context(), &health.HealthCheckRequest{}); err != nil {
		t.Fatal(err) // the stream came before it on the same connection
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the call that waited got %v", err)
	}
}

// TestReflection finds the services by reflection, as grpcurl does.
func TestReflection(t *testing.T) {
	r := run(t, Options{}, catalogDir(t, trees)).ready(t)
	v1, err := reflectionv1.NewServerReflectionClient(r.Conn()).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = v1.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := v1.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	want := []string{
		"api.ExperimentalRegistry", "api.Registry", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
		"grpc.reflection.v1alpha.ServerReflection",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}

	v1alpha, err := reflectionv1alpha.NewServerReflectionClient(r.Conn()).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, symbol := range names {
		//nolint:staticcheck // deprecated, but older clients ask for it
		err := v1alpha.Send(&reflectionv1alpha.ServerReflectionRequest{
			//nolint:staticcheck // as above
			MessageRequest: &reflectionv1alpha.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
		})
		if err != nil {
			t.Fatal(err)
		}
		//nolint:staticcheck // as above
		if answer, err := v1alpha.Recv(); err != nil || answer.GetFileDescriptorResponse() == nil {
			t.Errorf("%s has no descriptor: %v, %v", symbol, answer, err)
		}
	}
}

// large returns a catalog whose list of bundles is larger than the buffers of a connection.
func large() string {
	var text strings.Builder
	text.WriteString("---\nschema: olm.package\nname: elm\ndefaultChannel: only\n---\nschema: olm.channel\n" +
		"package: elm\nname: only\nentries:\n- {name: elm.v0.0.0}\n")
	const bundles = 100
	for i := 1; i < bundles; i++ {
		fmt.Fprintf(&text, "- {name: elm.v%d.0.0, replaces: elm.v%d.0.0}\n", i, i-1)
	}
	for i := range bundles {
		fmt.Fprintf(&text, "---\nschema: olm.bundle\npackage: elm\nname: elm.v%d.0.0\nimage: registry.example/elm\n"+
			"properties:\n- {type: olm.package, value: {packageName: elm, version: %d.0.0}}\n- {type: filler, value: %q}\n",
			i, i, strings.Repeat("x", 10_000))
	}
	return text.String()
}

// TestDrain checks that a call in progress can finish when the server stops.
func TestDrain(t *testing.T) {
	r := run(t, Options{}, catalogDir(t, large())).ready(t)
	stream, err := api.NewRegistryClient(r.Conn()).ListBundles(t.Context(), &api.ListBundlesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- r.end() }()
	// Health says that the server is stopping.
	for {
		check, cancel := context.WithTimeout(t.Context(), patience)
		_, err := health.NewHealthClient(r.Conn()).Check(check, &health.HealthCheckRequest{})
		cancel()
		if err != nil {
			break
		}
	}
	n := 1
	for ; ; n++ {
		if _, err = stream.Recv(); err != nil {
			break
		}
	}
	if err != io.EOF || n != 100 {
		t.Errorf("the stream had %d bundles and ended with %v", n, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestDrainEnds checks that a call that does not end is canceled after Drain.
func TestDrainEnds(t *testing.T) {
	opts := Options{Drain: time.Millisecond}
	r := run(t, opts, catalogDir(t, large())).ready(t)
	stream, err := api.NewRegistryClient(r.Conn()).ListBundles(t.Context(), &api.ListBundlesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
	r.log.wait(t, "canceling calls that did not end")
}

// TestStalled checks that a client that reads nothing is disconnected, and no other client is.
func TestStalled(t *testing.T) {
	dir := catalogDir(t, large())
	synctest.Test(t, func(t *testing.T) {
		r := run(t, Options{}, dir).ready(t)
		stream, err := api.NewRegistryClient(r.Conn()).ListBundles(t.Context(), &api.ListBundlesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		r.log.wait(t, "disconnecting a client that does not read its responses")
		for err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.Unavailable {
			t.Errorf("the stalled call ended with %v", err)
		}
		if _, err := dial(t, r.listener).Package(t.Context(), "elm"); err != nil {
			t.Errorf("another client got %v", err)
		}
	})
}

// TestLargeRequest checks that requests that are too large are rejected.
func TestLargeRequest(t *testing.T) {
	r := run(t, Options{}, catalogDir(t, trees)).ready(t)
	_, err := r.Package(t.Context(), strings.Repeat("x", 100<<20))
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got code %v", status.Code(err))
	}
	if _, err := r.Package(t.Context(), "oak"); err != nil {
		t.Errorf("the next request got %v", err)
	}
}

// overTCP runs a server over TCP, and returns its address.
func overTCP(t *testing.T, live *liveSnapshot, opts Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	opts.Drain = time.Millisecond
	go func() { ended <- newServer(live, opts).serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// loaded returns a liveSnapshot with the catalog of a directory.
func loaded(t *testing.T, dir string) *liveSnapshot {
	t.Helper()
	s, err := load(t.Context(), LoadOptions{Open: open(dir)})
	if err != nil {
		t.Fatal(err)
	}
	live := newLiveSnapshot()
	live.swap(s)
	t.Cleanup(func() { live.swap(nil) })
	return live
}

// TestGarbage checks that a server survives connections that do not speak HTTP/2.
func TestGarbage(t *testing.T) {
	addr := overTCP(t, loaded(t, catalogDir(t, trees)), Options{})
	for _, garbage := range []string{
		"", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("\xff\x00", 1<<16), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxxxxx",
	} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, garbage)
	}
	c, err := client.New(addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Package(t.Context(), "oak"); err != nil {
		t.Error(err)
	}
}

// TestManyConnections serves a thousand clients at once.
func TestManyConnections(t *testing.T) {
	addr := overTCP(t, loaded(t, catalogDir(t, trees)), Options{})
	clients := make([]*client.Client, shared.Number(1000, 100))
	for i := range clients {
		var err error
		if clients[i], err = client.New(addr, client.Options{}); err != nil {
			t.Fatal(err)
		}
		defer clients[i].Close()
	}
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			if got := len(texts(c.Bundles(t.Context()), bundleText)); got != 7 {
				t.Errorf("got %d bundles", got)
			}
		})
	}
	all.Wait()
}

// TestSwap replaces the served catalog while calls read it.
func TestSwap(t *testing.T) {
	dirs := []string{catalogDir(t, trees), catalogDir(t, large())}
	live := loaded(t, dirs[0])
	addr := overTCP(t, live, Options{})
	var all sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		c, err := client.New(addr, client.Options{Dial: []grpc.DialOption{}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if got := len(texts(c.Bundles(t.Context()), bundleText)); got != 7 && got != 100 {
					t.Errorf("got %d bundles", got)
				}
			}
		})
	}
	for i := range 10 {
		s, err := load(t.Context(), LoadOptions{Open: open(dirs[i%2])})
		if err != nil {
			t.Error(err)
			break
		}
		live.swap(s)
	}
	close(done)
	all.Wait()
}
