package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

const (
	getBundleMethod    = "/api.Registry/GetBundle"
	listBundlesMethod  = "/api.Registry/ListBundles"
	listPackagesMethod = "/api.Registry/ListPackages"
	reflectionMethod   = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	checkHealth        = "/grpc.health.v1.Health/Check"
)

// A rawClient is an HTTP/2 client that reads frames and answers pings and settings, but never extends its initial
// flow-control windows.
type rawClient struct {
	net.Conn
	framer *http2.Framer
	mu     sync.Mutex    // of writes to framer
	next   uint32        // stream
	got    atomic.Int64  // bytes of data
	ended  atomic.Int64  // calls that the server has ended
	closed chan struct{} // when the server has closed the connection
}

// dialRaw returns a client with the default windows of HTTP/2, unless settings say otherwise.
func dialRaw(t *testing.T, l *bufconn.Listener, settings ...http2.Setting) *rawClient {
	t.Helper()
	conn, err := l.DialContext(t.Context())
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, http2.ClientPreface)
	must(t, err)
	c := &rawClient{Conn: conn, framer: http2.NewFramer(conn, conn), next: 1, closed: make(chan struct{})}
	must(t, c.framer.WriteSettings(settings...))
	go c.read()
	return c
}

func (c *rawClient) read() {
	defer close(c.closed)
	for {
		f, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		c.mu.Lock()
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				c.framer.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				c.framer.WritePing(true, f.Data)
			}
		case *http2.DataFrame:
			c.got.Add(int64(len(f.Data())))
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				c.ended.Add(1)
			}
		}
		c.mu.Unlock()
	}
}

// call makes a call, and returns its stream.
func (c *rawClient) call(t *testing.T, method string, req proto.Message) uint32 {
	t.Helper()
	message := encodeRequest(t, req)
	return c.begin(t, method, message, len(message), true)
}

// encodeRequest returns a request as a message of gRPC.
func encodeRequest(t *testing.T, req proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(req)
	must(t, err)
	return append([]byte{0, 0, 0, 0, byte(len(data))}, data...)
}

// begin begins a call with the first n bytes of its message, ends the request if it should, and returns the stream.
func (c *rawClient) begin(t *testing.T, method string, message []byte, n int, end bool) uint32 {
	t.Helper()
	var head bytes.Buffer
	e := hpack.NewEncoder(&head)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "opm"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		must(t, e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.next
	c.next += 2
	must(t, c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true}))
	if n > 0 || end {
		must(t, c.framer.WriteData(id, end, message[:n]))
	}
	return id
}

// write writes frames.
func (c *rawClient) write(frames func(f *http2.Framer) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return frames(c.framer)
}

// take extends the flow-control windows of the connection and of one stream by a number of bytes.
func (c *rawClient) take(stream, bytes uint32) error {
	return c.write(func(f *http2.Framer) error {
		return errors.Join(f.WriteWindowUpdate(0, bytes), f.WriteWindowUpdate(stream, bytes))
	})
}

// cancel cancels the call of a stream.
func (c *rawClient) cancel(t *testing.T, stream uint32) {
	t.Helper()
	must(t, c.write(func(f *http2.Framer) error { return f.WriteRSTStream(stream, http2.ErrCodeCancel) }))
}

func (c *rawClient) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// withLarge returns a directory with the catalog trees and a package elm with one bundle of about this size.
func withLarge(t *testing.T, bytes int) string {
	t.Helper()
	// In JSON, which is read fast.
	return write(t, catalogDir(t, trees), "elm.json", fmt.Sprintf(`
{"schema": "olm.package", "name": "elm", "defaultChannel": "only"}
{"schema": "olm.channel", "package": "elm", "name": "only", "entries": [{"name": "elm.v1.0.0"}]}
{"schema": "olm.bundle", "package": "elm", "name": "elm.v1.0.0", "image": "registry.example/elm:v1.0.0", "properties": [
  {"type": "olm.package", "value": {"packageName": "elm", "version": "1.0.0"}},
  {"type": "filler", "value": %q}]}
`, strings.Repeat("x", bytes)))
}

// elm is a request for the large bundle of withLarge.
var elm = &api.GetBundleRequest{PkgName: "elm", ChannelName: "only", CsvName: "elm.v1.0.0"}

// fromAddr gives each connection of a client its own address, unless it should be the same as before.
type fromAddr struct {
	net.Listener
	number atomic.Int64
	same   atomic.Bool
}

func (l *fromAddr) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	n := byte(l.number.Load())
	if !l.same.Load() {
		n = byte(l.number.Add(1))
	}
	return numberedConn{c, &net.TCPAddr{IP: net.IPv4(10, 0, 0, n), Port: 1}}, nil
}

type numberedConn struct {
	net.Conn
	addr net.Addr
}

func (c numberedConn) RemoteAddr() net.Addr { return c.addr }

// TestUnreadAnswers checks that clients that read nothing but answer pings are disconnected after the time limit, and
// that small responses do not wait for it.
func TestUnreadAnswers(t *testing.T) {
	type test struct {
		name      string
		bundle    int   // bytes
		memory    int64 // for answers; 0 is the default
		clients   int
		addresses bool // each client has an address of its own
	}
	for _, tt := range shared.Sample([]test{
		{"calls that wait, larger than the memory", 3 << 20, 1 << 20, 6, false},
		{"one call, larger than the memory", 3 << 20, 1 << 20, 1, false},
		{"other addresses, larger than the memory", 3 << 20, 1 << 20, 6, true},
		{"small memory", 1 << 20, 22 << 20, 40, false},
		{"small memory, other addresses", 1 << 20, 22 << 20, 40, true},
		{"a large bundle", 20 << 20, 0, 8, false},
		{"a large bundle, other addresses", 20 << 20, 0, 8, true},
	}, 3) {
		t.Run(tt.name, func(t *testing.T) {
			dir := withLarge(t, tt.bundle)
			synctest.Test(t, func(t *testing.T) {
				l := bufconn.Listen(window)
				var listener net.Listener = l
				if tt.addresses {
					listener = &fromAddr{Listener: l}
				}
				opts := Options{Limits: Limits{SendMemory: tt.memory}}
				opts.Registries = []Registry{{Listener: listener, Load: LoadOptions{Open: open(dir)}}}
				ctx, cancelRun := context.WithCancel(context.WithoutCancel(t.Context()))
				ended := make(chan error)
				go func() { ended <- Run(ctx, opts) }()
				defer func() {
					cancelRun()
					must(t, <-ended)
				}()
				c := dial(t, l)
				must(t, c.WaitReady(t.Context()))
				var greedy []*rawClient
				for range tt.clients {
					g := dialRaw(t, l)
					g.call(t, getBundleMethod, elm)
					greedy = append(greedy, g)
				}
				synctest.Wait()
				small, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := c.Package(small, "oak")
				must(t, err)
				_, err = c.Bundle(small, "oak", "stable", "oak.v3.0.0")
				must(t, err)
				must(t, reflect(small, c))
				time.Sleep(time.Duration(tt.clients+1) * 3 * time.Minute) // clients get their responses and do not read them
				synctest.Wait()
				for i, g := range greedy {
					if !g.isClosed() {
						t.Errorf("client %d of %d is still connected", i, tt.clients)
					}
				}
				_, err = c.Bundle(t.Context(), "elm", "only", "elm.v1.0.0")
				must(t, err)
			})
		})
	}
}

// reflect asks for the list of services.
func reflect(ctx context.Context, c *client.Client) error {
	stream, err := reflectionv1.NewServerReflectionClient(c.Conn()).ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(listServices()); err != nil {
		return err
	}
	_, err = stream.Recv()
	return errors.Join(err, stream.CloseSend())
}

// listServices returns a request for the list of services.
func listServices() *reflectionv1.ServerReflectionRequest {
	return &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
}

// TestUnreadMethods checks that a client that reads nothing is disconnected, whatever its request.
func TestUnreadMethods(t *testing.T) {
	dir := catalogDir(t, large())
	for _, tt := range []struct {
		method string
		req    proto.Message
		calls  int
	}{
		{getBundleMethod, &api.GetBundleRequest{PkgName: "elm", ChannelName: "only", CsvName: "elm.v7.0.0"}, 20},
		{"/api.Registry/GetPackage", &api.GetPackageRequest{Name: "elm"}, 249},
		{listBundlesMethod, &api.ListBundlesRequest{}, 1},
		{listPackagesMethod, &api.ListPackageRequest{}, 249},
		{reflectionMethod, listServices(), 249},
		{checkHealth, &health.HealthCheckRequest{}, 249},
	} {
		t.Run(tt.method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, Options{}, dir).ready(t)
				g := dialRaw(t, r.listener, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
				for range tt.calls {
					g.call(t, tt.method, tt.req)
				}
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				if !g.isClosed() {
					t.Errorf("the client is still connected, after %d bytes", g.got.Load())
				}
				_, err := r.Package(t.Context(), "elm")
				must(t, err)
			})
		})
	}
}

// TestTrickle checks that a client that reads a few bytes at a time is disconnected, and that a client with a slow
// network is not.
func TestTrickle(t *testing.T) {
	dir := withLarge(t, 20<<20)
	type test struct {
		name   string
		bytes  uint32 // taken each second
		closed bool
	}
	for _, tt := range shared.Sample([]test{
		{"a byte a second", 1, true},
		{"100 bytes a second", 100, true},
		{"100 KB a second", 100 << 10, false},
	}, 2) {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, Options{}, dir).ready(t)
				g := dialRaw(t, r.listener)
				id := g.call(t, getBundleMethod, elm)
				for range 5 * 60 {
					time.Sleep(time.Second)
					if g.take(id, tt.bytes) != nil {
						break
					}
				}
				synctest.Wait()
				if g.isClosed() != tt.closed {
					t.Errorf("disconnected: %t, want %t; it took %d bytes", g.isClosed(), tt.closed, g.got.Load())
				}
			})
		})
	}
}

// TestCanceledAnswers cancels calls at the moment of their response, and checks that the memory of the response is
// released.
func TestCanceledAnswers(t *testing.T) {
	l := bufconn.Listen(window)
	server := newServer(loaded(t, catalogDir(t, large())), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.serve(ctx, l) }()
	defer func() {
		cancel()
		must(t, <-ended)
	}()
	c := dialRaw(t, l)
	for i := range shared.Number(20_000, 2_000) {
		id := c.call(t, getBundleMethod, &api.GetBundleRequest{PkgName: "elm", ChannelName: "only", CsvName: "elm.v7.0.0"})
		for begun := time.Now(); time.Since(begun) < time.Duration(i%1000)*100*time.Nanosecond; {
			runtime.Gosched()
		}
		c.cancel(t, id)
	}
	giveUp := time.Now().Add(patience)
	for server.opts.guard.SendMemoryHeld() > 0 {
		if time.Now().After(giveUp) {
			t.Fatalf("%d bytes are still held", server.opts.guard.SendMemoryHeld())
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	c.Close()
}

// TestIdleReflection checks that idle streams hold no memory for responses.
func TestIdleReflection(t *testing.T) {
	dir := catalogDir(t, trees)
	synctest.Test(t, func(t *testing.T) {
		opts := Options{Limits: Limits{SendMemory: 1 << 20}}
		r := run(t, opts, dir).ready(t)
		for range 100 {
			stream, err := reflectionv1.NewServerReflectionClient(r.Conn()).ServerReflectionInfo(t.Context())
			must(t, err)
			must(t, stream.Send(listServices()))
			_, err = stream.Recv()
			must(t, err)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, err := range r.Bundles(soon) {
			must(t, err)
		}
	})
}
