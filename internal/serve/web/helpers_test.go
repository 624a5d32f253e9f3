package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/serve/web"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// modified is when catalogs of tests were changed.
var modified = time.Date(2024, 2, 29, 12, 34, 56, 789, time.UTC)

// publishedCatalogs returns the directories of the published catalogs.
func publishedCatalogs(t testing.TB) []string {
	t.Helper()
	return shared.Catalogs(t)
}

func dirSource(dir string) declcfg.Source { return declcfg.Source{Name: dir, FS: os.DirFS(dir)} }

// textSource returns a catalog of one file.
func textSource(text string) declcfg.Source {
	return declcfg.Source{Name: "c", FS: fstest.MapFS{"catalog.yaml": {Data: []byte(text)}}}
}

// stored returns the bytes of a store with what HTTP needs, and its key.
func stored(t testing.TB, sources ...declcfg.Source) ([]byte, store.Key) {
	t.Helper()
	key, err := store.KeyOf(context.Background(), sources...)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := store.Write(context.Background(), &b, key, store.BuildOptions{HTTP: true}, sources...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), key
}

// opened returns the catalogs of a store, one for each name.
func opened(t testing.TB, data []byte, key store.Key, names ...string) []web.Catalog {
	t.Helper()
	s, err := store.New(bytes.NewReader(data), int64(len(data)), key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var catalogs []web.Catalog
	for i, objects := range s.Catalogs() {
		catalogs = append(catalogs, web.Catalog{Name: names[i], Objects: objects, Providing: s.PackagesProviding, Tag: key.String(), Modified: modified})
	}
	return catalogs
}

func catalogOf(t testing.TB, name string, source declcfg.Source) web.Catalog {
	t.Helper()
	data, key := stored(t, source)
	return opened(t, data, key, name)[0]
}

// served returns Acquire for catalogs that are never swapped.
func served(catalogs ...web.Catalog) func() ([]web.Catalog, func()) {
	return func() ([]web.Catalog, func()) { return catalogs, func() {} }
}

// handlerOf returns a handler whose failures fail the test.
func handlerOf(t testing.TB, catalogs ...web.Catalog) http.Handler {
	t.Helper()
	return web.New(web.Options{
		Acquire: served(catalogs...),
		Failed:  func(err error) { t.Errorf("the handler fails: %v", err) },
	})
}

// failures collects the errors that a handler reports.
type failures struct {
	mu  sync.Mutex
	all []error
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, err)
}

func (f *failures) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.all...)
}

// ask sends a request to a handler; headers are names and values by turns.
func ask(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// get returns the body of what must be answered with 200.
func get(t testing.TB, h http.Handler, target string, headers ...string) string {
	t.Helper()
	w := ask(h, http.MethodGet, target, headers...)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d\n%s", target, w.Code, w.Body)
	}
	return w.Body.String()
}

// decode reads the JSON that a page is answered with.
func decode[T any](t testing.TB, h http.Handler, target string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(get(t, h, target)))
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return v
}

// A line is an object as it is served, and the values it can be queried by.
type line struct {
	schema, pkg, name string
	text              string
}

// linesOf returns the objects of a catalog in the form of catalogd, made by the standard library.
func linesOf(t testing.TB, source declcfg.Source) []line {
	t.Helper()
	var lines []line
	meta := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
	for m, err := range declcfg.Map(context.Background(), meta, source) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := m.Read()
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(o.JSON(), &v); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line{m.Schema, m.Package, m.Name, text.String()})
	}
	return lines
}

// find returns the lines that a query asks for.
func find(lines []line, q store.Query) string {
	var found strings.Builder
	for _, l := range lines {
		if (q.Schema == "" || q.Schema == l.schema) && (q.Package == "" || q.Package == l.pkg) &&
			(q.Name == "" || q.Name == l.name) {
			found.WriteString(l.text)
		}
	}
	return found.String()
}

func unmarshal(t testing.TB, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
}
