package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// get returns the status and the body of a page.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(url)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(body)
}

// TestHTTP serves over HTTP beside gRPC.
func TestHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	must(t, err)
	dir := write(t, t.TempDir(), "trees/catalog.yaml", trees) + "/trees"
	opts, load := gated(dir)
	opts.HTTP = l
	r := run(t, opts)
	root := "http://" + l.Addr().String()
	if code, _ := get(t, root+"/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: got %d", code)
	}
	if code, _ := get(t, root+"/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz before it is ready: got %d", code)
	}
	load()
	r.ready(t)
	if code, _ := get(t, root+"/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: got %d", code)
	}
	if code, body := get(t, root+"/catalogs/trees/api/v1/all"); code != http.StatusOK || strings.Count(body, "\n") != 12 {
		t.Errorf("all objects: got %d\n%s", code, body)
	}
	if _, err := r.Package(t.Context(), "oak"); err != nil {
		t.Error(err)
	}
	if _, body := get(t, root+"/metrics"); !strings.Contains(body, `{code="OK",method="GetPackage",le="+Inf"} 1`) {
		t.Errorf("the call is not in the metrics:\n%s", body)
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

// TestLargeViews checks that views of a large bundle are produced and sent one after the other if the memory for
// responses is not enough for several, and that none is lost.
func TestLargeViews(t *testing.T) {
	dir := withLarge(t, 3<<20)
	synctest.Test(t, func(t *testing.T) {
		l := bufconn.Listen(window)
		opts := Options{HTTP: l, Limits: Limits{SendMemory: 16 << 20}}
		run(t, opts, dir).ready(t)
		const target = "/ui/v1/bundle?catalog=%s&package=elm&name=elm.v1.0.0"
		request := func() *http.Response {
			conn, err := l.DialContext(t.Context())
			must(t, err)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
				"http://opm"+fmt.Sprintf(target, filepath.Base(dir)), nil)
			must(t, err)
			r.Close = true
			must(t, r.Write(conn))
			resp, err := http.ReadResponse(bufio.NewReader(conn), r)
			must(t, err)
			resp.Body = struct {
				io.Reader
				io.Closer
			}{resp.Body, conn}
			return resp
		}
		first := request() // and does not read the body
		var others sync.WaitGroup
		var answered atomic.Int64
		for range 7 {
			others.Go(func() {
				resp := request()
				answered.Add(1)
				defer resp.Body.Close()
				n, err := io.Copy(io.Discard, resp.Body)
				if err != nil || resp.StatusCode != http.StatusOK || n < 3<<20 {
					t.Errorf("got %d, %d bytes, %v", resp.StatusCode, n, err)
				}
			})
		}
		synctest.Wait()
		if n := answered.Load(); n > 0 {
			t.Errorf("%d requests were answered while the first one had the memory", n)
		}
		first.Body.Close()
		others.Wait()
	})
}

// TestCacheForHTTP checks that a store without HTTP content is replaced if that content is needed.
func TestCacheForHTTP(t *testing.T) {
	opts := LoadOptions{Open: open(catalogDir(t, trees)), CacheDir: t.TempDir()}
	for i, step := range []struct{ http, only, built bool }{
		{false, false, true}, {true, true, true}, {true, true, false}, {true, false, false}, {false, false, false},
	} {
		opts.HTTP, opts.CacheOnly = step.http, step.only
		s, err := load(t.Context(), opts)
		must(t, err)
		must(t, s.close())
		if s.built != step.built {
			t.Errorf("start %d: rebuilt: %t", i, s.built)
		}
	}
}

// webClient returns a client that connects to l, whatever the host of a request.
func webClient(t *testing.T, l *bufconn.Listener) *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return l.DialContext(ctx)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// An answer is the response to a request.
type answer struct {
	code   int
	header http.Header
	body   string
}

func fetch(t *testing.T, c *http.Client, path string, header http.Header) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://test"+path, nil)
	must(t, err)
	req.Header = header
	resp, err := c.Do(req)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// TestServeCacheWithoutHTTP starts with a cache without HTTP content: gRPC is served at once, and HTTP when that
// content has been built.
func TestServeCacheWithoutHTTP(t *testing.T) {
	dir := write(t, t.TempDir(), "trees/catalog.yaml", trees) + "/trees"
	cached := LoadOptions{Open: open(dir), CacheDir: t.TempDir()}
	must(t, Cache(t.Context(), cached))
	enforced := cached
	enforced.HTTP, enforced.Enforce = true, true
	if _, err := load(t.Context(), enforced); err == nil || !strings.Contains(err.Error(), "--with-http") {
		t.Errorf("enforced: got %v", err)
	}

	gate, opened := make(chan struct{}), 0
	cached.Open = func(ctx context.Context) (*Input, error) {
		if opened++; opened == 2 {
			<-gate
			return nil, syscall.EMFILE
		}
		return open(dir)(ctx)
	}
	l := bufconn.Listen(window)
	r := run(t, Options{Registries: []Registry{{Load: cached}}, HTTP: l}).ready(t)
	web := webClient(t, l)
	if _, err := r.Package(t.Context(), "oak"); err != nil {
		t.Error(err)
	}
	all := "/catalogs/trees/api/v1/all"
	if got := fetch(t, web, all, nil); got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("before: got %v", got)
	}
	if got := fetch(t, web, "/readyz?verbose", nil); got.code != http.StatusOK ||
		got.body != "ok\nHTTP content is not ready yet\n" {
		t.Errorf("before: %v", got)
	}
	close(gate)
	r.log.wait(t, "--cache-only --with-http", "HTTP content cannot be built", "serving HTTP content")
	if got := fetch(t, web, all, nil); got.code != http.StatusOK || strings.Count(got.body, "\n") != 12 {
		t.Errorf("after: got %v", got)
	}
	if got := fetch(t, web, "/readyz?verbose", nil); got.body != "ok\n" {
		t.Errorf("after: %v", got)
	}
	must(t, r.end())
	s, err := load(t.Context(), enforced)
	must(t, err)
	must(t, s.close()) // the next start finds all of it
}

// TestLastModified changes a catalog to one with an older file, and checks that clients that only send a date get it.
func TestLastModified(t *testing.T) {
	dir := write(t, t.TempDir(), "trees/catalog.yaml", trees) + "/trees"
	file := filepath.Join(dir, "catalog.yaml")
	must(t, os.Chtimes(file, time.Time{}, time.Unix(2e9, 5e8)))
	l := bufconn.Listen(window)
	r := run(t, Options{
		Registries: []Registry{{Watch: []string{dir}}}, HTTP: l, watchEvery: 1e6,
	}, dir).ready(t)
	web := webClient(t, l)
	const all = "/catalogs/trees/api/v1/all"
	before := fetch(t, web, all, nil).header.Get("Last-Modified")
	put(t, dir, "catalog.yaml", moreTrees)
	must(t, os.Chtimes(file, time.Time{}, time.Unix(1e9, 0)))
	r.log.wait(t, "serving the changed catalog")
	for header, want := range map[string]int{
		"If-Modified-Since": http.StatusOK, "If-Unmodified-Since": http.StatusPreconditionFailed,
	} {
		if got := fetch(t, web, all, http.Header{header: {before}}); got.code != want {
			t.Errorf("%s %s: got %d, modified %s", header, before, got.code, got.header.Get("Last-Modified"))
		}
	}
}

// TestSlowReader checks that a client that reads a response very slowly is disconnected, and that a client with a slow
// network is not.
func TestSlowReader(t *testing.T) {
	dir := withLarge(t, 5<<20)
	first := bufconn.Listen(window)
	run(t, Options{HTTP: first}, dir).ready(t)
	_, err := io.Copy(io.Discard, getAll(t, first, dir)) // so that the decoders of zstd are not of a bubble
	must(t, err)
	for _, tt := range []struct {
		second int // bytes read per second
		most   time.Duration
		whole  bool
	}{
		{10 << 10, 5 * time.Minute, false},
		{150 << 10, time.Hour, true},
	} {
		t.Run(fmt.Sprint(tt.second), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := bufconn.Listen(window)
				run(t, Options{HTTP: web}, dir).ready(t)
				body, err := getAll(t, web, dir), error(nil)
				began := time.Now()
				for err == nil && time.Since(began) < time.Hour {
					time.Sleep(time.Second)
					_, err = io.CopyN(io.Discard, body, int64(tt.second))
				}
				if (err == io.EOF) != tt.whole || time.Since(began) > tt.most {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
			})
		})
	}
}

// getAll requests all objects of a catalog, and returns a body without read-ahead.
func getAll(t *testing.T, l *bufconn.Listener, dir string) io.Reader {
	t.Helper()
	c, err := l.DialContext(t.Context())
	must(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = fmt.Fprintf(c, "GET /catalogs/%s/api/v1/all HTTP/1.1\r\nHost: test\r\n\r\n", filepath.Base(dir))
	must(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	return resp.Body
}

// TestMissingBody checks that connections are closed if an announced request body does not arrive.
func TestMissingBody(t *testing.T) {
	dir := catalogDir(t, trees)
	for _, head := range []string{
		"Content-Length: 10", "Transfer-Encoding: chunked", "Content-Length: 10\r\nExpect: 100-continue",
	} {
		synctest.Test(t, func(t *testing.T) {
			web := bufconn.Listen(window)
			run(t, Options{HTTP: web}, dir).ready(t)
			for _, path := range []string{"/healthz", "/metrics", "/catalogs/none/api/v1/all", "/nowhere"} {
				c, err := web.DialContext(t.Context())
				must(t, err)
				defer c.Close()
				_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: test\r\n%s\r\n\r\n", path, head)
				must(t, err)
				must(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
				answer, err := io.ReadAll(c)
				if err != nil || len(answer) == 0 {
					t.Errorf("%s, %s: got %q, %v", path, head, answer, err)
				}
			}
		})
	}
}
