package serve_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/opm-toolchain/opm/pkg/serve"
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

// TestCacheForHTTP rebuilds a store that lacks HTTP content where the cache is all that is wanted, and leaves it alone
// where it is served.
func TestCacheForHTTP(t *testing.T) {
	opts := serve.LoadOptions{Open: open(catalogDir(t, trees)), CacheDir: t.TempDir()}
	for i, step := range []struct{ http, only, built bool }{
		{false, false, true}, {true, false, false}, {true, true, true}, {true, true, false}, {true, false, false},
		{false, false, false},
	} {
		opts.HTTP, opts.CacheOnly = step.http, step.only
		s, err := serve.Load(t.Context(), opts, nil)
		must(t, err)
		must(t, s.Close())
		if s.Built != step.built {
			t.Errorf("start %d: rebuilt: %t", i, s.Built)
		}
	}
}

// TestServeCacheWithoutHTTP answers over HTTP beside a cache that does not have what that needs.
func TestServeCacheWithoutHTTP(t *testing.T) {
	load := serve.LoadOptions{
		Open: open(write(t, t.TempDir(), "trees/catalog.yaml", trees) + "/trees"), CacheDir: t.TempDir(),
	}
	must(t, serve.Cache(t.Context(), load))
	cache := write(t, load.CacheDir, "other", "") + "/catalog.opmstore"
	before, err := os.ReadFile(cache)
	must(t, err)
	l, err := net.Listen("tcp", "localhost:0")
	must(t, err)
	r := run(t, serve.Options{Registries: []serve.Registry{{Load: load}}, HTTP: l}).ready(t)
	root := "http://" + l.Addr().String()
	if code, body := get(t, root+"/catalogs/trees/api/v1/all"); code != http.StatusOK || strings.Count(body, "\n") != 12 {
		t.Errorf("all objects: got %d\n%s", code, body)
	}
	if code, body := get(t, root+"/catalogs/trees/api/v1/metas?schema=olm.package"); code != http.StatusOK ||
		!strings.Contains(body, `"name":"oak"`) {
		t.Errorf("packages: got %d\n%s", code, body)
	}
	if _, err := r.Package(t.Context(), "oak"); err != nil {
		t.Error(err)
	}
	must(t, r.end())
	if log := r.log.String(); !strings.Contains(log, "--cache-only --with-http") {
		t.Errorf("the log does not say what to do:\n%s", log)
	}
	if after, err := os.ReadFile(cache); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the cache changed, or is gone: %v", err)
	}
	load.HTTP, load.Enforce = true, true
	if _, err := serve.Load(t.Context(), load, nil); err == nil || !strings.Contains(err.Error(), "--with-http") {
		t.Errorf("enforced: got %v", err)
	}
}

// TestSlowReader checks that a client that reads an answer very slowly is disconnected, and one with a slow network is
// not.
func TestSlowReader(t *testing.T) {
	dir := withLarge(t, 20<<20)
	first := bufconn.Listen(window)
	run(t, serve.Options{HTTP: first}, dir).ready(t)
	_, err := io.Copy(io.Discard, getAll(t, first, dir)) // so that the decoders of zstd are not those of a bubble
	must(t, err)
	for _, tt := range []struct {
		second int // bytes that it reads each second
		most   time.Duration
		whole  bool
	}{
		{10 << 10, 5 * time.Minute, false},
		{150 << 10, time.Hour, true},
	} {
		t.Run(fmt.Sprint(tt.second), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := bufconn.Listen(window)
				run(t, serve.Options{HTTP: web}, dir).ready(t)
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

// getAll asks for all objects of a catalog, and returns a body from which nothing is read ahead.
func getAll(t *testing.T, l *bufconn.Listener, dir string) io.Reader {
	t.Helper()
	c, err := l.DialContext(t.Context())
	must(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = fmt.Fprintf(c, "GET /catalogs/%s/api/v1/all HTTP/1.1\r\nHost: test\r\n\r\n", filepath.Base(dir))
	must(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	return resp.Body
}

// TestMissingBody checks that connections end whose requests announce a body that does not arrive.
func TestMissingBody(t *testing.T) {
	dir := catalogDir(t, trees)
	for _, head := range []string{
		"Content-Length: 10", "Transfer-Encoding: chunked", "Content-Length: 10\r\nExpect: 100-continue",
	} {
		synctest.Test(t, func(t *testing.T) {
			web := bufconn.Listen(window)
			run(t, serve.Options{HTTP: web}, dir).ready(t)
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
