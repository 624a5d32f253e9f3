//go:build linux

package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/opm-toolchain/opm/pkg/api/client"
	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// patience is longer than any answer takes, and shorter than a server waits for a client that reads nothing (guard's
// StallTime).
const patience = 90 * time.Second

// A memoryGroup is a control group that limits memory. A nil memoryGroup sets no limit.
type memoryGroup struct {
	dir         string
	procs, peak string
}

// newMemoryGroup makes a control group, of the system's version. It returns nil if that is not permitted.
func newMemoryGroup(t *testing.T, limit int) *memoryGroup {
	t.Helper()
	name := fmt.Sprintf("opm-hostile-%d", os.Getpid())
	for _, v := range []struct{ root, limit, peak string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"},
		{"/sys/fs/cgroup", "memory.max", "memory.peak"},
	} {
		g := &memoryGroup{dir: filepath.Join(v.root, name)}
		g.procs, g.peak = filepath.Join(g.dir, "cgroup.procs"), filepath.Join(g.dir, v.peak)
		if os.Mkdir(g.dir, 0o777) != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(g.dir, v.limit)); err != nil {
			os.Remove(g.dir)
			continue
		}
		t.Cleanup(func() {
			for range 50 { // until the system has forgotten the processes
				if os.Remove(g.dir) == nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Errorf("cannot remove %s", g.dir)
		})
		if err := os.WriteFile(filepath.Join(g.dir, v.limit), []byte(strconv.Itoa(limit)), 0o666); err != nil {
			t.Fatal(err)
		}
		return g
	}
	return nil
}

// A server is a process of opm serve.
type server struct {
	cmd    *exec.Cmd
	addr   string
	log    string // a file
	ended  chan error
	client *client.Client
}

// serve starts opm serve in a control group, and waits until it is ready.
func serve(t *testing.T, g *memoryGroup, env []string, args ...string) *server {
	t.Helper()
	port := filepath.Join(t.TempDir(), "port")
	args = append([]string{"serve", "--addr", "0.0.0.0:0", "--port-file", port, "--log-format", "json",
		"--termination-log", "/dev/null"}, args...)
	s := &server{log: filepath.Join(t.TempDir(), "log"), ended: make(chan error, 1)}
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if g != nil {
		s.cmd = exec.Command("sh", append([]string{"-c", `echo $$ > "$0" && exec opm "$@"`, g.procs}, args...)...)
	} else {
		s.cmd = exec.Command("opm", args...)
	}
	s.cmd.Env, s.cmd.Stderr = append(os.Environ(), env...), log
	program.EndWithTest(s.cmd)
	start := time.Now()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	t.Cleanup(func() { s.stop(t) })
	for s.addr == "" {
		if text, err := os.ReadFile(port); err == nil {
			s.addr = "127.0.0.1:" + strings.TrimSpace(string(text))
		}
		if time.Since(start) > patience {
			t.Fatal("opm serve does not listen")
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.client = dial(t, s.addr, "")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.client.WaitReady(ctx); err != nil {
		t.Fatalf("opm serve is not ready: %v", err)
	}
	t.Logf("ready after %v, at most %d MB resident until then", time.Since(start).Round(time.Millisecond), s.peak()/attack.MB)
	return s
}

// stop ends the server, which must still be running.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if s.ended == nil {
		return
	}
	select {
	case err := <-s.ended:
		t.Errorf("opm serve ended by itself: %v\n%s", err, s.logged())
	default:
		s.cmd.Process.Signal(os.Interrupt)
		if err := <-s.ended; err != nil {
			t.Errorf("opm serve: %v\n%s", err, s.logged())
		}
	}
	s.ended = nil
}

// logged returns the log of the server.
func (s *server) logged() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// resident returns the resident memory of the server now, peak at most, in bytes.
func (s *server) resident() int { return s.status("VmRSS:") }
func (s *server) peak() int     { return s.status("VmHWM:") }

func (s *server) status(name string) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), name)
	kilobytes, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return kilobytes << 10
}

// dial returns a client at an address of this machine, of which there are many: all that begin with 127.
func dial(t *testing.T, addr, from string) *client.Client {
	t.Helper()
	d := &net.Dialer{}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	c, err := client.New("passthrough:///"+addr, client.Options{Dial: []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", addr)
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// answers requests the health and the packages of a server, and returns the time that this took.
func answers(t *testing.T, c *client.Client) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := time.Now()
	if _, err := health.NewHealthClient(c.Conn()).Check(ctx, &health.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
	for _, err := range c.Packages(ctx) {
		if err != nil {
			t.Errorf("packages: %v", err)
		}
	}
	return time.Since(start)
}

// A rawConn is an HTTP/2 connection that can do what no real client does.
type rawConn struct {
	net.Conn
	framer *http2.Framer
	next   uint32
}

// dialRaw connects from an address, with a flow-control window of this many bytes for each response.
func dialRaw(addr, from string, window uint32) (*rawConn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	conn, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &rawConn{conn, http2.NewFramer(conn, conn), 1}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		conn.Close()
		return nil, err
	}
	if err := c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}); err != nil {
		conn.Close()
		return nil, err
	}
	if window > 0 {
		if err := c.framer.WriteWindowUpdate(0, 1<<30); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return c, nil
}

// call calls a method, and does not read the response.
func (c *rawConn) call(method string, request []byte) error {
	var head bytes.Buffer
	e := hpack.NewEncoder(&head)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "opm"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return err
		}
	}
	id := c.next
	c.next += 2
	param := http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true}
	if err := c.framer.WriteHeaders(param); err != nil {
		return err
	}
	return c.framer.WriteData(id, true, append([]byte{0, 0, 0, 0, byte(len(request))}, request...))
}

// unread makes calls on many connections from one address, and does not read the responses.
func unread(t *testing.T, addr string, connections int, window uint32, method string, request []byte) (end func()) {
	t.Helper()
	var mu sync.Mutex
	var all []*rawConn
	var group sync.WaitGroup
	for range connections {
		group.Go(func() {
			c, err := dialRaw(addr, "127.0.0.3", window)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			all = append(all, c)
			mu.Unlock()
			c.SetDeadline(time.Now().Add(5 * time.Second))
			for range 250 {
				if c.call(method, request) != nil {
					return // the server closes connections that exceed its limits
				}
			}
		})
	}
	group.Wait()
	return func() {
		for _, c := range all {
			c.Close()
		}
	}
}

// callers makes calls from several goroutines for some time, and returns their number.
func callers(t *testing.T, c *client.Client, n int, last time.Duration) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	type key struct{ pkg, channel, name string }
	var keys []key
	for b, err := range c.Bundles(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key{b.GetPackageName(), b.GetChannelName(), b.GetCsvName()})
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	calls, start := 0, time.Now()
	for i := range n {
		group.Go(func() {
			for j := i; time.Since(start) < last; j += n {
				k := keys[j*7919%len(keys)]
				if _, err := c.Bundle(ctx, k.pkg, k.channel, k.name); err != nil {
					t.Error(err)
					return
				}
				if j%100 == 0 {
					for _, err := range c.Bundles(ctx) {
						if err != nil {
							t.Error(err)
							return
						}
					}
				}
				mu.Lock()
				calls++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return calls
}

// TestServeSmallPod checks that a server with 100 MB of memory serves a catalog of 194 MB to normal and to malicious
// clients.
func TestServeSmallPod(t *testing.T) {
	catalog := attack.BigCatalog(t)
	const limit = 100 * attack.MB
	group := newMemoryGroup(t, limit)
	var env []string
	if group == nil {
		t.Log("no control group can be made: the resident memory is measured")
		env = []string{"GOMEMLIMIT=62MiB"}
	}
	args := []string{"catalog=" + catalog, "--cache-dir", t.TempDir(), "--watch"}
	s := serve(t, group, env, args...) // cold

	t.Logf("64 callers: %d calls", callers(t, s.client, 64, time.Second))
	for _, a := range []struct {
		name        string
		connections int
		window      uint32
		method      string
	}{
		{"lists, small windows", 4, 0, "/api.Registry/ListBundles"},
		{"lists, large windows", 100, 16 << 20, "/api.Registry/ListBundles"},
		{"packages", 100, 0, "/api.Registry/ListPackages"},
		{"reflection", 50, 0, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"},
	} {
		end := unread(t, s.addr, a.connections, a.window, a.method, nil)
		took := answers(t, dial(t, s.addr, "127.0.0.2"))
		t.Logf("%s: another client is answered after %v; %d MB, at most %d MB resident",
			a.name, took.Round(time.Millisecond), s.resident()/attack.MB, s.peak()/attack.MB)
		if took > patience/2 {
			t.Errorf("%s: another client waited %v", a.name, took)
		}
		end()
	}

	if err := os.WriteFile(filepath.Join(catalog, "zz.yaml"), []byte(small("zz")), 0o666); err != nil {
		t.Fatal(err)
	}
	end := unread(t, s.addr, 4, 0, "/api.Registry/ListBundles", nil)
	until := time.Now().Add(patience)
	for {
		if _, err := s.client.Package(t.Context(), "zz"); err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the changed catalog is not served")
		}
		time.Sleep(100 * time.Millisecond)
	}
	end()
	peak := s.peak()
	s.stop(t)
	s = serve(t, group, env, args...) // warm
	t.Logf("64 callers: %d calls", callers(t, s.client, 64, time.Second))
	if group == nil && max(peak, s.peak()) > limit+60*attack.MB { // with the pages of the program, which the system can drop
		t.Errorf("the server took %d MB", max(peak, s.peak())/attack.MB)
	}
	if group != nil {
		text, _ := os.ReadFile(group.peak)
		t.Logf("control group: %s bytes at most, of %d", strings.TrimSpace(string(text)), limit)
	}
}

// small returns a catalog of one package.
func small(name string) string {
	return strings.ReplaceAll(`---
schema: olm.package
name: NAME
defaultChannel: only
---
schema: olm.channel
package: NAME
name: only
entries:
- {name: NAME.v1.0.0}
---
schema: olm.bundle
package: NAME
name: NAME.v1.0.0
image: registry.example/NAME:v1.0.0
properties:
- {type: olm.package, value: {packageName: NAME, version: 1.0.0}}
`, "NAME", name)
}

// TestServeUnread checks that the memory for large responses that are not read is limited, and is released.
func TestServeUnread(t *testing.T) {
	catalog := smallCatalog(t)
	var text strings.Builder
	for i := range 100 {
		name := fmt.Sprintf("filled%d", i)
		fmt.Fprintf(&text, "%s- {type: filler, value: %q}\n", small(name), strings.Repeat("x", 20_000))
	}
	fmt.Fprintf(&text, "%s- {type: filler, value: %q}\n", small("large"), strings.Repeat("x", 20*attack.MB))
	if err := os.WriteFile(filepath.Join(catalog, "filled.yaml"), []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, nil, catalog, "--send-memory", "32Mi")
	answers(t, s.client)
	before := s.resident()
	for _, a := range []struct {
		method  string
		request []byte
		window  uint32
	}{
		{"/api.Registry/ListBundles", nil, 0},
		{"/api.Registry/ListBundles", nil, 16 << 20},
		// api.GetBundleRequest of filled1
		{"/api.Registry/GetBundle", []byte("\x0a\x07filled1\x12\x04only\x1a\x0efilled1.v1.0.0"), 0},
		// of large, with the usual window
		{"/api.Registry/GetBundle", []byte("\x0a\x05large\x12\x04only\x1a\x0clarge.v1.0.0"), 65_535},
	} {
		end := unread(t, s.addr, 40, a.window, a.method, a.request)
		time.Sleep(500 * time.Millisecond)
		took := answers(t, dial(t, s.addr, "127.0.0.2"))
		if took > patience/2 {
			t.Errorf("%s, window %d: other clients waited %v", a.method, a.window, took)
		}
		t.Logf("%s, window %d: another client is answered after %v; %d MB, %d MB before",
			a.method, a.window, took.Round(time.Millisecond), s.resident()/attack.MB, before/attack.MB)
		end()
	}
	if grown := s.peak() - before; grown > 200*attack.MB {
		t.Errorf("the server took %d MB for answers that nobody reads", grown/attack.MB)
	}
	start := time.Now()
	for s.resident() > before+50*attack.MB {
		if time.Since(start) > patience {
			t.Fatalf("the server still takes %d MB, %d MB before", s.resident()/attack.MB, before/attack.MB)
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("%d MB %v after the attacks", s.resident()/attack.MB, time.Since(start).Round(time.Millisecond))
}

// smallCatalog returns a directory with a catalog of one package.
func smallCatalog(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "catalog.yaml"), []byte(small("oak")), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestServeIdle checks that a server with more idle connections than it accepts still serves other clients.
func TestServeIdle(t *testing.T) {
	s := serve(t, nil, nil, smallCatalog(t), "--http-addr", "localhost:0")
	web := regexp.MustCompile(`"msg":"listening","http":"([^"]+)"`).FindStringSubmatch(s.logged())
	if web == nil {
		t.Fatalf("the log does not say where it listens:\n%s", s.logged())
	}
	before := s.resident()
	var all []net.Conn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for i := range 4500 {
		var c net.Conn
		var err error
		switch i % 8 {
		case 0: // sends nothing
			c, err = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.1")}}).Dial("tcp", s.addr)
		default:
			c, err = dialRaw(s.addr, "127.0.0.1", 0)
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d: %v", i, err)
		}
		all = append(all, c)
	}
	t.Logf("%d connections take %d MB", len(all), (s.resident()-before)/attack.MB)
	for _, from := range []string{"127.0.0.2", "127.0.0.1"} {
		took := answers(t, dial(t, s.addr, from))
		t.Logf("a client at %s is answered after %v", from, took.Round(time.Millisecond))
		if took > 5*time.Second {
			t.Errorf("a client at %s waited %v", from, took)
		}
	}
	resp, err := http.Get("http://" + web[1] + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("/readyz: %s", resp.Status)
	}
	if s.resident() > 350*attack.MB {
		t.Errorf("the server takes %d MB", s.resident()/attack.MB)
	}
}
