package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/connectivity"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

// longEnough is the timeout for actions that are immediate on an idle machine.
const longEnough = 5 * time.Minute

// A server is a process of opm serve.
type server struct {
	cmd  *exec.Cmd
	log  *lockedBuffer
	addr string // of gRPC
}

// A lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// startServer runs a command, which is to become opm serve, and waits until it listens.
func startServer(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{cmd: cmd, log: &lockedBuffer{}}
	cmd.Stderr = s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	s.addr = s.waitLog(t, `msg=listening grpc=(\S+)`)
	if strings.HasPrefix(s.addr, "@") || !strings.Contains(s.addr, ":") {
		s.addr = "unix:" + filepath.Join(cmd.Dir, s.addr)
	}
	return s
}

// serving runs opm serve in a directory, at a port of its own unless the arguments say otherwise.
func serving(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	if !slices.Contains(args, "--addr") && !slices.Contains(args, "--port") {
		args = append(args, "--addr", "localhost:0")
	}
	cmd := exec.Command("opm", append([]string{"serve"}, args...)...)
	cmd.Dir = dir
	return startServer(t, cmd)
}

// waitLog waits for a line in the log, and returns the first group of the expression.
func (s *server) waitLog(t *testing.T, expression string) string {
	t.Helper()
	line := regexp.MustCompile(expression)
	for deadline := time.Now().Add(longEnough); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if found := line.FindStringSubmatch(s.log.String()); found != nil {
			return found[len(found)-1]
		}
	}
	t.Fatalf("the log does not match %s:\n%s", expression, s.log)
	return ""
}

// packages returns the names of the packages that a server has, once it is ready.
func (s *server) packages(t *testing.T, opts client.Options) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	defer cancel()
	c, err := client.New(s.addr, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.WaitReady(ctx); err != nil {
		t.Fatalf("%v\n%s", err, s.log)
	}
	var names []string
	for name, err := range c.Packages(ctx) {
		if err != nil {
			t.Errorf("%v\n%s", err, s.log)
		}
		names = append(names, name)
	}
	return names
}

// expect fails if the server does not have the packages of the example.
func (s *server) expect(t *testing.T) {
	t.Helper()
	if got := s.packages(t, client.Options{}); !slices.Equal(got, []string{"kiln", "loom"}) {
		t.Errorf("got packages %q", got)
	}
}

// end stops a server, which must end without an error.
func (s *server) end(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, s.log)
	}
	if !strings.Contains(s.log.String(), `msg="server stopped cleanly"`) {
		t.Errorf("the log does not tell that server stopped cleanly:\n%s", s.log)
	}
}

// TestServe serves until the server is stopped.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	port := filepath.Join(dir, "port")
	s := serving(t, examples, "catalog", "--port", "0", "--port-file", port)
	s.expect(t)
	text, err := os.ReadFile(port)
	if err != nil {
		t.Fatal(err)
	}
	s.waitLog(t, `msg=ready took=\S+ memory="?\d+ MB"? packages=2 `)
	s.addr = net.JoinHostPort("localhost", strings.TrimSpace(string(text)))
	s.expect(t)
	s.end(t)
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("the server leaves %q", left)
	}
}

// TestServeUnix serves on a Unix socket, also if a killed server has left one.
func TestServeUnix(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	killed := serving(t, dir, "catalog", "--addr", "unix:socket")
	killed.expect(t)
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.cmd.Wait()

	s := serving(t, dir, "catalog", "--addr", "unix:socket")
	s.expect(t)
	if got := opm(t, dir, "serve catalog --addr unix:socket"); got.code != 1 ||
		!strings.Contains(got.stderr, "address already in use") {
		t.Errorf("a second server: %+v", got)
	}
	s.expect(t)
	s.end(t)
	if _, err := os.Lstat(filepath.Join(dir, "socket")); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// TestServePortTaken checks that the error names the port that is in use.
func TestServePortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := opm(t, examples, "serve catalog --addr "+l.Addr().String())
	if got.code != 1 || !strings.Contains(got.stderr, l.Addr().String()+": bind: address already in use") {
		t.Errorf("got %+v", got)
	}
}

// TestServeSources serves catalogs that are not directories.
func TestServeSources(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	host := newRegistry(t)
	if err := push(filepath.Join(dir, "catalog"), host+"/crafts/catalog:v1"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-C", dir, "-czf", filepath.Join(dir, "catalog.tar.gz"), "catalog").CombinedOutput(); err != nil {
		t.Skipf("needs tar: %v\n%s", err, out)
	}
	for _, ref := range []string{"catalog.tar.gz", host + "/crafts/catalog:v1"} {
		s := serving(t, dir, ref, "--use-http")
		s.expect(t)
		s.end(t)
	}

	rendered := opm(t, dir, "render catalog")
	cmd := exec.Command("opm", "serve", "-", "--addr", "localhost:0")
	cmd.Stdin = strings.NewReader(rendered.stdout)
	s := startServer(t, cmd)
	s.expect(t)
	s.end(t)
}

// TestServeWatch serves a catalog that changes. Clients are asked to reconnect.
func TestServeWatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	s := serving(t, dir, "catalog", "--watch", "--reload-grace", "100ms")
	s.expect(t)
	c, err := client.New(s.addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "catalog", "loom")); err != nil {
		t.Fatal(err)
	}
	s.waitLog(t, "serving the changed catalog")
	if c.Conn().WaitForStateChange(t.Context(), connectivity.Ready); c.Conn().GetState() != connectivity.Idle {
		t.Errorf("the connection is %v, want IDLE", c.Conn().GetState())
	}
	if got := s.packages(t, client.Options{}); !slices.Equal(got, []string{"kiln"}) {
		t.Errorf("got packages %q", got)
	}
	s.end(t)
}

// twoCatalogs returns a directory with catalogs v1, of the package kiln, and v2, of kiln and loom.
func twoCatalogs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"v1", "v2"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(examples, "catalog"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "v1", "loom")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestServeSamePackages serves two catalogs with the same packages, each on a port of its own, and both over HTTP; then
// one of them over gRPC. HTTP keeps their order.
func TestServeSamePackages(t *testing.T) {
	dir := twoCatalogs(t)
	want := map[string][]string{"v1": {"kiln"}, "v2": {"kiln", "loom"}}
	s := serving(t, dir, "v1", "v2", "--addr", "v2=localhost:0", "--addr", "v1=localhost:0", "--http-addr", "localhost:0")
	for name, packages := range want {
		s.addr = s.waitLog(t, `msg=listening grpc=(\S+) tls=false catalogs=\[`+name+`\]`)
		if got := s.packages(t, client.Options{}); !slices.Equal(got, packages) {
			t.Errorf("%s: got packages %q, want %q", name, got, packages)
		}
	}
	url := "http://" + s.waitLog(t, `msg=listening http=(\S+)`)
	for name, packages := range want {
		s.waitLog(t, `msg=ready catalog=`+name)
		code, body := fetch(t, url+"/catalogs/"+name+"/api/v1/metas?schema=olm.package")
		if code != 200 || strings.Count(string(body), "\n") != len(packages) {
			t.Errorf("%s over HTTP: got %d\n%s", name, code, body)
		}
	}
	s.end(t)

	s = serving(t, dir, "v1", "v2", "--grpc-catalog", "v2", "--http-addr", "localhost:0")
	s.expect(t)
	url = "http://" + s.waitLog(t, `msg=listening http=(\S+)`)
	s.waitLog(t, "msg=ready catalog=v1")
	if _, body := fetch(t, url+"/ui/v1/matrix"); !strings.Contains(string(body), `"catalogs":["v1","v2"]`) {
		t.Errorf("the matrix is not in the order of the arguments: %s", body)
	}
	s.end(t)
}

// TestServeProfiles serves profiles of the program, if asked to.
func TestServeProfiles(t *testing.T) {
	s := serving(t, examples, "catalog", "--pprof-addr", "localhost:0", "--pprof-capture-profiles")
	s.expect(t)
	s.waitLog(t, "msg=ready")
	url := "http://" + s.waitLog(t, `msg="serving profiles" address=(\S+)`) + "/debug/pprof/"
	for _, page := range []string{"", "cmdline", "symbol", "startup/cpu"} {
		code, body := fetch(t, url+page)
		for start := time.Now(); code == 503 && time.Since(start) < longEnough; {
			time.Sleep(10 * time.Millisecond) // the profile of the start is there soon after the server is ready
			code, body = fetch(t, url+page)
		}
		if code != 200 || len(body) == 0 {
			t.Errorf("%s: got %d and %d bytes", page, code, len(body))
		}
	}
	s.end(t)
}

// TestServeKilled kills servers while they build a cache, and checks that the cache is then complete or missing.
func TestServeKilled(t *testing.T) {
	catalog := shared.Path(t, "data/catalogs/v4.20")
	cache := t.TempDir()
	for i := range 4 {
		s := serving(t, ".", catalog, "--cache-dir", cache)
		s.waitLog(t, "no cache yet|ready")
		time.Sleep(time.Duration(i) * 50 * time.Millisecond) // somewhere in the making
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
	s := serving(t, ".", catalog, "--cache-dir", cache)
	if got := s.packages(t, client.Options{}); len(got) != 37 {
		t.Errorf("got %d packages\n%s", len(got), s.log)
	}
	s.end(t)
	if log := s.log.String(); strings.Contains(log, "cache cannot be used") {
		t.Errorf("a cache was left that is none:\n%s", log)
	}
}

func fetch(t *testing.T, url string) (int, []byte) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}
