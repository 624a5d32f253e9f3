package serve_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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
