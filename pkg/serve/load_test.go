package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// TestCache opens an existing store, and rebuilds a stale or corrupt one.
func TestCache(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, cache string) // the cache directory, which holds a good store
		built   bool
		log     string // a text in the log
	}{
		{"good", func(*testing.T, string) {}, false, ""},
		{"missing", func(t *testing.T, cache string) { must(t, os.RemoveAll(cache)) }, true, "no cache yet"},
		{"truncated", func(t *testing.T, cache string) {
			must(t, os.Truncate(filepath.Join(cache, store.FileName("")), 1000))
		}, true, "cache cannot be used"},
		{"flipped", func(t *testing.T, cache string) {
			flip(t, filepath.Join(cache, store.FileName("")), -20)
		}, true, "cache cannot be used"},
		{"of another catalog", func(t *testing.T, cache string) {
			s, err := load(t.Context(), LoadOptions{Open: open(t.TempDir()), CacheDir: cache})
			must(t, err)
			s.store.Close()
		}, true, "the store belongs to another catalog"},
		{"foreign", func(t *testing.T, cache string) {
			write(t, cache, store.FileName(""), "something else altogether")
		}, true, "not an opm store"},
		{"of upstream", func(t *testing.T, cache string) {
			must(t, os.Remove(filepath.Join(cache, store.FileName(""))))
			write(t, cache, "pogreb.v1/digest", "0123456789abcdef")
		}, true, "no cache yet"},
		{"no directory", func(t *testing.T, cache string) {
			must(t, os.RemoveAll(cache))
			write(t, filepath.Dir(cache), filepath.Base(cache), "a file")
		}, true, "cache cannot be used"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, cache := catalogDir(t, trees), filepath.Join(t.TempDir(), "cache")
			opts := LoadOptions{Open: open(dir), CacheDir: cache}
			s, err := load(t.Context(), opts)
			must(t, err)
			s.store.Close()
			test.prepare(t, cache)

			opts.Enforce = true
			if s, err := load(t.Context(), opts); (err != nil) != test.built {
				t.Errorf("enforced: got %v", err)
			} else if err == nil {
				s.store.Close()
			}

			log := newLogBook()
			opts.Enforce, opts.Log = false, log.logger()
			s, err = load(t.Context(), opts)
			must(t, err)
			defer s.store.Close()
			if s.built != test.built || !strings.Contains(log.String(), test.log) {
				t.Errorf("rebuilt: %t, want %t; the log, which should hold %q:\n%s", s.built, test.built, test.log, log)
			}
			if got := s.store.PackageNames(); !slices.Equal(got, []string{"ash", "oak"}) {
				t.Errorf("got packages %q", got)
			}
			if foreign, err := os.ReadFile(filepath.Join(cache, store.FileName(""))); test.name == "foreign" &&
				string(foreign) != "something else altogether" {
				t.Errorf("the file of someone else is %q, %v now", foreign, err)
			}
		})
	}
}

// TestCacheKept checks that the next start uses the new store.
func TestCacheKept(t *testing.T) {
	cache := t.TempDir()
	for i, text := range []string{trees, trees, trees + "# changed\n"} {
		s, err := load(t.Context(), LoadOptions{Open: open(catalogDir(t, text)), CacheDir: cache})
		must(t, err)
		s.store.Close()
		if want := i != 1; s.built != want {
			t.Errorf("start %d: rebuilt: %t", i, s.built)
		}
	}
	if entries, err := os.ReadDir(cache); len(entries) != 1 {
		t.Errorf("the cache directory holds %v, %v", entries, err)
	}
}

// TestCacheOnly checks that it is an error if the cache cannot be built.
func TestCacheOnly(t *testing.T) {
	dir := catalogDir(t, trees)
	file := filepath.Join(write(t, t.TempDir(), "file", ""), "file")
	opts := LoadOptions{Open: open(dir), CacheDir: file, CacheOnly: true}
	if err := Cache(t.Context(), opts); err == nil {
		t.Error("a cache was made in a file")
	}
	opts.CacheDir = t.TempDir()
	must(t, Cache(t.Context(), opts))
	if _, err := os.Stat(filepath.Join(opts.CacheDir, store.FileName(""))); err != nil {
		t.Error(err)
	}
}

// TestProblems checks that all problems of unservable catalogs are reported with their positions.
func TestProblems(t *testing.T) {
	const metadata = `- {type: olm.csv.metadata, value: {annotations: {}, displayName: Oak, provider: {}}}`
	for _, test := range []struct {
		name     string
		catalogs []string
		want     []string // a text in each problem
	}{
		{"invalid", []string{strings.NewReplacer("defaultChannel: stable", "defaultChannel: slow", "version: 2.0.0", "version: two").Replace(trees)},
			[]string{`catalog.yaml:4:17: error: invalid package "oak"`, `catalog.yaml:34:58: error: invalid package "oak"`}},
		{"unreadable", []string{trees + "---\n[}\n"}, []string{"catalog.yaml:"}},
		{"two olm.csv.metadata", []string{strings.Replace(trees, "version: 2.0.0}}\n", "version: 2.0.0}}\n"+metadata+"\n"+metadata+"\n", 1)},
			[]string{"catalog.yaml:36:35: error: properties[2].value"}},
		{"in two catalogs", []string{trees, "---\nschema: example.Bark\nkind: rough\n", trees}, []string{
			`catalog.yaml:53:1: error: package "ash": another catalog defines it too, at `,
			`catalog.yaml:2:1: error: package "oak": another catalog defines it too, at `,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var dirs []string
			for _, text := range test.catalogs {
				dirs = append(dirs, catalogDir(t, text))
			}
			s, err := load(t.Context(), LoadOptions{Open: open(dirs...)})
			if err == nil {
				s.store.Close()
			}
			e, ok := errors.AsType[*ProblemsError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if len(e.Problems) != len(test.want) {
				t.Fatalf("got %d problems:\n%s", len(e.Problems), problem.Lines(e.Problems))
			}
			for i, want := range test.want {
				if !strings.Contains(e.Problems[i].String(), want) {
					t.Errorf("problem %d: got %s, want it to hold %q", i, e.Problems[i], want)
				}
			}
		})
	}
}

// TestInvalid checks that a server with an invalid catalog stops with an error.
func TestInvalid(t *testing.T) {
	r := run(t, Options{}, catalogDir(t, strings.ReplaceAll(trees, "defaultChannel: stable", "defaultChannel: slow")))
	_, err := r.Package(t.Context(), "oak")
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a call got %v", err)
	}
	if _, ok := errors.AsType[*ProblemsError](r.end()); !ok {
		t.Errorf("the server ended with %v", r.end())
	}
}

// TestKeepGoing serves a catalog without its invalid packages, and checks that logs, health and metrics report it.
func TestKeepGoing(t *testing.T) {
	dir, cache, l := catalogDir(t, trees), t.TempDir(), bufconn.Listen(window)
	put(t, dir, "elm.yaml", "schema: olm.package\nname: elm\ndefaultChannel: stable\n")
	r := run(t, Options{watchEvery: 1e6, HTTP: l, Registries: []Registry{{
		Load: LoadOptions{KeepGoing: true, CacheDir: cache}, Watch: []string{dir},
	}}}, dir).ready(t)
	web := webClient(t, l)
	expect := func(packages []string, withheld ...string) {
		t.Helper()
		if got := texts(r.Packages(t.Context()), itself); !slices.Equal(got, packages) {
			t.Errorf("got packages %q", got)
		}
		count := fmt.Sprintf("\nopm_catalog_withheld_packages %d\n", len(withheld)) // the last to change
		for start := time.Now(); !strings.Contains(fetch(t, web, "/metrics", nil).body, count); time.Sleep(time.Millisecond) {
			if time.Since(start) > patience {
				t.Fatalf("metrics: %s", fetch(t, web, "/metrics", nil).body)
			}
		}
		ready, page := fetch(t, web, "/readyz?verbose", nil).body, fetch(t, web, "/ui/v1/catalogs", nil).body
		if strings.Count(ready, "\n") != 1+len(withheld) || strings.Contains(page, "withheld") != (len(withheld) > 0) {
			t.Errorf("readyz: %s, page: %s", ready, page)
		}
		for _, name := range withheld {
			if !strings.Contains(ready, fmt.Sprintf("package %q is withheld: ", name)) ||
				!strings.Contains(page, fmt.Sprintf(`{"package":%q,"reasons":[`, name)) {
				t.Errorf("readyz: %s, page: %s", ready, page)
			}
		}
	}
	r.log.wait(t, `msg="package is withheld" package=elm`, "elm.yaml:2:7")
	expect([]string{"ash", "oak"}, "elm")
	if names, err := os.ReadDir(cache); err != nil || len(names) > 0 {
		t.Errorf("cached: %v, %v", names, err)
	}
	put(t, dir, "fir.yaml", "schema: olm.package\nname: fir\ndefaultChannel: stable\n---\n"+
		"schema: olm.bundle\npackage: fir\nname: fir.v1\nimage: registry.example/fir:v1\n")
	r.log.wait(t, "serving the changed catalog")
	expect([]string{"ash", "oak"}, "elm", "fir")
	var shown struct {
		Catalogs []struct{ Withheld []struct{ Reasons []string } }
	}
	must(t, json.Unmarshal([]byte(fetch(t, web, "/ui/v1/catalogs", nil).body), &shown))
	if reasons := shown.Catalogs[0].Withheld[1].Reasons; len(reasons) != 3 || !strings.Contains(reasons[0], "fir.yaml:2:7") ||
		!strings.Contains(reasons[1], "fir.yaml:5:1") {
		t.Errorf("got %q", reasons)
	}
	must(t, os.Remove(filepath.Join(dir, "fir.yaml")))
	must(t, os.Remove(filepath.Join(dir, "elm.yaml")))
	for start := time.Now(); fetch(t, web, "/readyz?verbose", nil).body != "ok\n"; time.Sleep(time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("packages are withheld still\n%s", r.log)
		}
	}
	expect([]string{"ash", "oak"})
}

// TestSeveral serves the packages of several catalogs as one.
func TestSeveral(t *testing.T) {
	r := run(t, Options{}, catalogDir(t, trees), catalogDir(t, large())).ready(t)
	if got := texts(r.Packages(t.Context()), itself); !slices.Equal(got, []string{"ash", "elm", "oak"}) {
		t.Errorf("got %q", got)
	}
}

// TestDamage checks that unreadable data lead to DATA_LOSS and a rebuilt store.
func TestDamage(t *testing.T) {
	cache := t.TempDir()
	r := run(t, Options{Registries: []Registry{{Load: LoadOptions{CacheDir: cache}}}}, catalogDir(t, trees)).ready(t)
	must(t, os.Truncate(filepath.Join(cache, store.FileName("")), 64))
	_, err := r.Bundle(t.Context(), "ash", "only", "ash.v1.0.0")
	if status.Code(err) != codes.DataLoss {
		t.Errorf("got %v", err)
	}
	r.log.wait(t, "store is corrupt, rebuilding it", "store rebuilt")
	if _, err := r.Bundle(t.Context(), "ash", "only", "ash.v1.0.0"); err != nil {
		t.Errorf("afterwards: got %v", err)
	}
}

// TestDamageEnforced checks that damage stops the server with Enforce.
func TestDamageEnforced(t *testing.T) {
	dir, cache := catalogDir(t, trees), t.TempDir()
	must(t, Cache(t.Context(), LoadOptions{Open: open(dir), CacheDir: cache}))
	r := run(t, Options{Registries: []Registry{{Load: LoadOptions{CacheDir: cache, Enforce: true}}}}, dir).ready(t)
	must(t, os.Truncate(filepath.Join(cache, store.FileName("")), 64))
	if _, err := r.Bundle(t.Context(), "ash", "only", "ash.v1.0.0"); status.Code(err) != codes.DataLoss {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		if _, err := r.Package(ctx, "oak"); err != nil {
			break
		}
	}
	if err := r.end(); err == nil {
		t.Error("the server ended without an error")
	}
}

// TestDeleted checks that a server continues when its store file is deleted.
func TestDeleted(t *testing.T) {
	cache := t.TempDir()
	r := run(t, Options{Registries: []Registry{{Load: LoadOptions{CacheDir: cache}}}}, catalogDir(t, trees)).ready(t)
	must(t, os.RemoveAll(cache))
	if got := len(texts(r.Bundles(t.Context()), bundleText)); got != 7 {
		t.Errorf("got %d bundles", got)
	}
}

// TestWatch serves a changed catalog, and the previous one if the new one is invalid.
func TestWatch(t *testing.T) {
	dir := catalogDir(t, trees)
	opts := Options{Registries: []Registry{{Watch: []string{dir}}}, watchEvery: 1e6}
	r := run(t, opts, dir).ready(t)
	r.log.wait(t, "msg=ready")

	put(t, dir, "broken.yaml", "schema: olm.package\nname: elm\n")
	r.log.wait(t, `broken.yaml:2:7: error: invalid package \"elm\"`, "still serving the previous one")
	if got := texts(r.Packages(t.Context()), itself); !slices.Equal(got, []string{"ash", "oak"}) {
		t.Errorf("after a broken change: got %q", got)
	}

	must(t, os.Remove(filepath.Join(dir, "broken.yaml")))
	put(t, dir, "large.yaml", large())
	r.log.wait(t, "serving the changed catalog")
	if got := texts(r.Packages(t.Context()), itself); !slices.Equal(got, []string{"ash", "elm", "oak"}) {
		t.Errorf("after a change: got %q", got)
	}
}

// scarce is a file system that, when armed, opens a number of files and then fails twice.
type scarce struct {
	fs.FS
	left *atomic.Int32
}

func (s scarce) Open(name string) (fs.File, error) {
	if left := s.left.Add(-1); left < 0 && left >= -2 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	return s.FS.Open(name)
}

// TestWatchRetries changes a catalog while files cannot be opened, and checks that it is served when they can be.
func TestWatchRetries(t *testing.T) {
	dir := catalogDir(t, trees)
	for opened := range int32(9) { // by then, the key is known and some files are read
		t.Run(fmt.Sprint(opened), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left atomic.Int32
				left.Store(1000)
				load := LoadOptions{Open: func(ctx context.Context) (*Input, error) {
					in, err := open(dir)(ctx)
					in.Catalogs[0].Source.FS = scarce{in.Catalogs[0].Source.FS, &left}
					return in, err
				}}
				l := bufconn.Listen(window)
				r := run(t, Options{
					Registries: []Registry{{Load: load, Watch: []string{dir}}}, HTTP: l,
				}).ready(t)
				web := webClient(t, l)
				const staleSince = "opm_catalog_stale_since_timestamp_seconds "
				left.Store(opened)
				put(t, dir, "more.yaml", fmt.Sprintf("schema: example.%d", opened))
				r.log.wait(t, "still serving the previous one")
				got := fetch(t, web, "/readyz?verbose", nil)
				if got.code != http.StatusOK || !strings.Contains(got.body, "may be stale since 2000-01-01T00:00:0") ||
					!strings.Contains(got.body, syscall.EMFILE.Error()) {
					t.Errorf("readyz: %v", got)
				}
				if got := fetch(t, web, "/metrics", nil).body; !strings.Contains(got, staleSince+"9.4668480") {
					t.Errorf("metrics: %s", got)
				}
				r.log.wait(t, "serving the changed catalog", "the catalog is up to date again")
				if got := fetch(t, web, "/metrics", nil).body; !strings.Contains(got, staleSince+"0") {
					t.Errorf("metrics: %s", got)
				}
			})
		})
	}
}

// TestWatchConfigMap follows the changes that a kubelet makes to a mounted ConfigMap.
func TestWatchConfigMap(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "..1/catalog.yaml", trees)
	must(t, os.Symlink("..1", filepath.Join(dir, "..data")))
	must(t, os.Symlink("..data/catalog.yaml", filepath.Join(dir, "catalog.yaml")))
	write(t, dir, ".indexignore", "..*\n")
	r := run(t, Options{Registries: []Registry{{Watch: []string{dir}}}, watchEvery: 1e6}, dir).ready(t)
	r.log.wait(t, "msg=ready")

	write(t, dir, "..2/catalog.yaml", large())
	must(t, os.Symlink("..2", filepath.Join(dir, "..data_tmp")))
	must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	r.log.wait(t, "serving the changed catalog")
	if got := texts(r.Packages(t.Context()), itself); !slices.Equal(got, []string{"elm"}) {
		t.Errorf("got %q", got)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// flip changes the byte at an offset, which counts from the end if it is negative.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	if at < 0 {
		at += len(content)
	}
	content[at] ^= 0x40
	must(t, os.WriteFile(path, content, 0o666))
}
