package serve

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/test/bufconn"
)

// TestRegistries serves catalogs with the same packages: each over its own gRPC port, and all over HTTP. Only a changed
// one is loaded again.
func TestRegistries(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	write(t, dir, "old/catalog.yaml", trees)
	write(t, dir, "new/catalog.yaml", trees+"---\nschema: example.com/leaf\npackage: oak\n")
	write(t, dir, "page/catalog.yaml", trees)
	web, err := net.Listen("tcp", "localhost:0")
	must(t, err)
	second := bufconn.Listen(window)
	ready := make(chan struct{})
	opts := Options{HTTP: web, watchEvery: 1e6, Ready: func() { close(ready) }}
	for _, name := range []string{"old", "new", "page"} {
		opts.Registries = append(opts.Registries, Registry{
			Load:  LoadOptions{Open: open(filepath.Join(dir, name)), CacheDir: cache, CacheName: name},
			Watch: []string{filepath.Join(dir, name)},
		})
	}
	opts.Registries[1].Listener = second
	r := run(t, opts).ready(t)
	newer := dial(t, second)
	must(t, newer.WaitReady(t.Context()))
	root := "http://" + web.Addr().String()
	<-ready
	if code, _ := get(t, root+"/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: got %d", code)
	}
	for name, want := range map[string]int{"old": 12, "new": 13, "page": 12} {
		if code, body := get(t, root+"/catalogs/"+name+"/api/v1/all"); code != http.StatusOK || strings.Count(body, "\n") != want {
			t.Errorf("%s: got %d and %d objects, want %d", name, code, strings.Count(body, "\n"), want)
		}
		if _, err := os.Stat(filepath.Join(cache, name+".opmstore")); err != nil {
			t.Error(err)
		}
	}
	if _, body := get(t, root+"/metrics"); !strings.Contains(body, "\nopm_catalog_packages 6\n") ||
		!strings.Contains(body, "\n"+`opm_store_state{state="ready"} 1`+"\n") {
		t.Errorf("metrics are not those of all:\n%s", body)
	}

	put(t, filepath.Join(dir, "new"), "large.yaml", large())
	r.log.wait(t, "serving the changed catalog")
	if got := texts(newer.Packages(t.Context()), itself); !slices.Equal(got, []string{"ash", "elm", "oak"}) {
		t.Errorf("the one that changed: got %q", got)
	}
	if got := texts(r.Packages(t.Context()), itself); !slices.Equal(got, []string{"ash", "oak"}) {
		t.Errorf("the other one: got %q", got)
	}
	must(t, r.end())
	if n := strings.Count(r.log.String(), "serving the changed catalog"); n != 1 {
		t.Errorf("%d registries were loaded again", n)
	}
}

// TestRegistriesOneInvalid checks that an invalid catalog stops the server of several.
func TestRegistriesOneInvalid(t *testing.T) {
	opts := Options{Registries: []Registry{
		{Load: LoadOptions{Open: open(catalogDir(t, trees))}},
		{Load: LoadOptions{Open: open(catalogDir(t, "schema: olm.package\nname: elm\n"))}},
	}}
	opts.Registries[0].Listener = bufconn.Listen(window)
	if err := Run(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "elm") {
		t.Errorf("got %v", err)
	}
}
