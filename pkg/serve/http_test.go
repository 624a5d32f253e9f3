package serve_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

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

// TestCacheForHTTP rebuilds a store that lacks HTTP content.
func TestCacheForHTTP(t *testing.T) {
	opts := serve.LoadOptions{Open: open(catalogDir(t, trees)), CacheDir: t.TempDir()}
	for i, http := range []bool{false, true, true, false} {
		opts.HTTP = http
		s, err := serve.Load(t.Context(), opts, nil)
		must(t, err)
		s.Store.Close()
		if want := i < 2; s.Built != want {
			t.Errorf("start %d: rebuilt: %t", i, s.Built)
		}
	}
}
