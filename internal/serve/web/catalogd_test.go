package web_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/serve/web"
)

// small is a catalog with objects of each kind that /metas distinguishes.
const small = `schema: olm.package
name: kiln
defaultChannel: stable
description: A kiln for <pots> & pans.
---
schema: olm.channel
package: kiln
name: stable
entries: [{name: kiln.v1.0.0}, {name: kiln.v2.0.0, replaces: kiln.v1.0.0}]
---
schema: olm.bundle
package: kiln
name: kiln.v1.0.0
image: example.com/kiln@sha256:1111111111111111111111111111111111111111111111111111111111111111
properties: [{type: olm.package, value: {packageName: kiln, version: 1.0.0}}]
---
schema: olm.bundle
package: kiln
name: kiln.v2.0.0
image: example.com/kiln@sha256:2222222222222222222222222222222222222222222222222222222222222222
properties: [{type: olm.package, value: {packageName: kiln, version: 2.0.0}}]
---
schema: example.com/thing
name: a/b?c&d
package: kiln
count: 10
`

// base is the path of the test catalog.
const base = "/catalogs/c/api/v1/"

func TestPublished(t *testing.T) {
	for _, dir := range publishedCatalogs(t) {
		source := dirSource(dir)
		name := filepath.Base(dir)
		lines := linesOf(t, source)
		h := handlerOf(t, catalogOf(t, name, source))
		target := "/catalogs/" + name + "/api/v1/"
		if got := get(t, h, target+"all"); got != find(lines, store.Query{}) {
			t.Errorf("%s: all objects differ", name)
		}
		queries := map[store.Query]bool{{}: true}
		for _, l := range lines {
			for i := range 8 {
				q := store.Query{Schema: l.schema, Package: l.pkg, Name: l.name}
				if i&1 != 0 {
					q.Schema = ""
				}
				if i&2 != 0 {
					q.Package = ""
				}
				if i&4 != 0 {
					q.Name = ""
				}
				queries[q] = true
			}
		}
		for q := range queries {
			if got := get(t, h, target+"metas?"+values(q).Encode()); got != find(lines, q) {
				t.Errorf("%s: %+v: %d bytes, want %d", name, q, len(got), len(find(lines, q)))
			}
		}
	}
}

func values(q store.Query) url.Values {
	v := url.Values{}
	for name, text := range map[string]string{"schema": q.Schema, "package": q.Package, "name": q.Name} {
		if text != "" {
			v.Set(name, text)
		}
	}
	return v
}

func TestMetas(t *testing.T) {
	lines := linesOf(t, textSource(small))
	h := handlerOf(t, catalogOf(t, "c", textSource(small)))
	for _, tt := range []struct {
		query string
		want  string
	}{
		{"", find(lines, store.Query{})},
		{"?", find(lines, store.Query{})},
		{"?schema=&package=&name=", find(lines, store.Query{})},
		{"?package=kiln", lines[1].text + lines[2].text + lines[3].text + lines[4].text},
		{"?name=kiln", lines[0].text},
		{"?schema=olm.package&package=kiln", ""},
		{"?schema=olm.bundle&schema=olm.channel", lines[2].text + lines[3].text},
		{"?schema=&schema=olm.channel&name=kiln.v1.0.0", lines[2].text},
		{"?schema=OLM.BUNDLE", ""},
		{"?schema=olm.bundle&package=kiln&name=kiln.v2.0.0", lines[3].text},
		{"?name=a%2Fb%3Fc%26d", lines[4].text},
		{"?name=kiln.v3.0.0", ""},
		{"?name=%00", ""},
		{"?schema=%zz", find(lines, store.Query{})}, // which is absent
		{"?schema=%zz&name=kiln", lines[0].text},
		{"?schema=%&schema=olm.channel&package=kiln", lines[1].text},
		{"?name=a;b", find(lines, store.Query{})},
		{"?unknown=%zz", find(lines, store.Query{})},
		{"?%zz=1&name=kiln", lines[0].text},
		{"?name=" + strings.Repeat("x", 5000), ""},
	} {
		w := ask(h, http.MethodGet, base+"metas"+tt.query)
		if w.Code != http.StatusOK || w.Body.String() != tt.want {
			t.Errorf("%.60s: %d\n%s\nwant\n%s", tt.query, w.Code, w.Body, tt.want)
		}
		if got := w.Header().Get("Content-Type"); got != "application/jsonl" {
			t.Errorf("%.60s: Content-Type: %s", tt.query, got)
		}
		head := ask(h, http.MethodHead, base+"metas"+tt.query)
		if got := fmt.Sprint(head.Code, " ", head.Body.Len(), " ", head.Header().Get("Content-Length")); got != fmt.Sprintf("200 0 %d", len(tt.want)) {
			t.Errorf("%.60s: HEAD: %s", tt.query, got)
		}
	}
	if !strings.Contains(lines[0].text, "<pots> &") {
		t.Errorf("HTML is escaped in %s", lines[0].text)
	}
}

func TestRefused(t *testing.T) {
	odd := catalogOf(t, "Not_a.Subdomain", textSource(small))
	h := handlerOf(t, catalogOf(t, "c", textSource(small)), odd)
	const unknown = "400 Bad Request: unknown parameter %q: want schema, package, name\n"
	for _, tt := range []struct {
		method, target string
		code           int
		body           string
	}{
		{"GET", "/catalogs/d/api/v1/all", 404, "404 Not Found\n"},
		{"HEAD", "/catalogs/d/api/v1/all", 404, "404 Not Found\n"},
		{"GET", "/catalogs/d/api/v1/metas", 404, "404 Not Found\n"},
		{"GET", "/catalogs/D_/api/v1/all", 400, "invalid catalog name: "},
		{"GET", "/catalogs/%20/api/v1/metas", 400, "invalid catalog name: "},
		{"GET", "/catalogs/Not_a.Subdomain/api/v1/metas?name=none", 200, ""},
		{"GET", "/catalogs/d/api/v1/metas?unknown=1", 400, fmt.Sprintf(unknown, "unknown")},
		{"GET", base + "metas?field=name&a%0Ab=", 400, fmt.Sprintf(unknown, "a\nb")},
		{"GET", base + "metas?field=name", 400, fmt.Sprintf(unknown, "field")},
		{"GET", base + "metas?Name=kiln", 400, fmt.Sprintf(unknown, "Name")},
		{"GET", base + "metas?name=%zz&unknown=", 400, fmt.Sprintf(unknown, "unknown")},
		{"GET", base + "metas?%3d", 400, fmt.Sprintf(unknown, "=")},
		{"GET", "/ui/v1/packages?catalog=%zz", 400, "invalid URL escape"},
		{"GET", "/ui/v1/packages?catalog=c;d", 400, "invalid semicolon"},
		{"POST", base + "all", 405, "Method Not Allowed\n"},
		{"DELETE", base + "metas?unknown=1", 405, "Method Not Allowed\n"},
		{"OPTIONS", "/catalogs/d/api/v1/all", 405, "Method Not Allowed\n"},
		{"POST", "/ui/v1/catalogs", 405, "Method Not Allowed\n"},
		{"GET", "/catalogs/c/api/v1/graphql", 404, "404 page not found\n"},
		{"GET", "/catalogs/c/api/v1/all/", 404, "404 page not found\n"},
		{"GET", "/catalogs/c", 404, "404 page not found\n"},
		{"GET", "/index.html", 404, "404 page not found\n"},
		{"GET", "/ui/", 404, "404 page not found\n"},
	} {
		w := ask(h, tt.method, tt.target)
		if w.Code != tt.code || !strings.HasPrefix(w.Body.String(), tt.body) {
			t.Errorf("%s %s: %d %q, want %d %q", tt.method, tt.target, w.Code, w.Body, tt.code, tt.body)
		}
		if got := w.Header().Get("Vary"); got != "Accept-Encoding" {
			t.Errorf("%s %s: Vary: %q", tt.method, tt.target, got)
		}
		if got := w.Header().Get("Content-Type"); tt.code != 200 && !strings.HasPrefix(got, "text/plain") {
			t.Errorf("%s %s: Content-Type: %q", tt.method, tt.target, got)
		}
	}
}

func TestNotLoaded(t *testing.T) {
	h := web.New(web.Options{Acquire: served()})
	for target, code := range map[string]int{
		base + "all": 503, base + "metas?name=a": 503, "/ui/v1/packages?catalog=c": 503, "/readyz": 503,
		"/healthz": 200, "/metrics": 200, "/": 200, "/ui/v1/catalogs": 200, "/ui/v1/matrix": 200,
	} {
		if w := ask(h, http.MethodGet, target); w.Code != code {
			t.Errorf("%s: %d, want %d", target, w.Code, code)
		}
	}
}

func TestReady(t *testing.T) {
	ready := true
	h := web.New(web.Options{Acquire: served(), Ready: func() bool { return ready }})
	if w := ask(h, http.MethodGet, "/readyz"); w.Code != 200 || w.Body.String() != "ok\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	ready = false
	if w := ask(h, http.MethodGet, "/readyz"); w.Code != 503 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestRelease checks that every acquired catalog is released once, after the response.
func TestRelease(t *testing.T) {
	c := catalogOf(t, "c", textSource(small))
	held, released := 0, 0
	h := web.New(web.Options{Acquire: func() ([]web.Catalog, func()) {
		held++
		return []web.Catalog{c}, func() { released++ }
	}})
	for _, target := range []string{
		base + "all", base + "metas?name=kiln", base + "metas?bad", "/catalogs/d/api/v1/all", "/readyz", "/ui/v1/catalogs",
		"/ui/v1/packages?catalog=c", "/ui/v1/package?catalog=c&package=kiln", "/ui/v1/package?catalog=c&package=none",
		"/ui/v1/icon?catalog=c&package=kiln", "/ui/v1/bundle?catalog=c&package=kiln&name=kiln.v1.0.0",
		"/ui/v1/graph?catalog=c&package=kiln",
	} {
		before := held
		ask(h, http.MethodGet, target)
		if held-before > 1 || held != released {
			t.Errorf("%s: acquired %d times, %d are not released", target, held-before, held-released)
		}
	}
}

// TestDamaged checks that a response from a damaged part of an open store does not look complete.
func TestDamaged(t *testing.T) {
	data, key := stored(t, dirSource(publishedCatalogs(t)[0]))
	catalogs := opened(t, data, key, "c")
	want := get(t, handlerOf(t, catalogs...), base+"all")
	for i := range data {
		data[i] ^= 0x5a
	}
	var told failures
	server := httptest.NewServer(web.New(web.Options{Acquire: served(catalogs...), Failed: told.add}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	for _, target := range []string{
		base + "all", base + "metas", base + "metas?schema=olm.package", "/ui/v1/packages?catalog=c",
	} {
		for _, headers := range [][2]string{{"X", ""}, {"Accept-Encoding", "zstd"}, {"Accept-Encoding", "gzip"}, {"Range", "bytes=10-20000"}} {
			told.all = nil
			request, _ := http.NewRequest(http.MethodGet, server.URL+target, nil)
			request.Header.Set(headers[0], headers[1])
			response, err := client.Do(request)
			if err == nil {
				var body []byte
				body, err = io.ReadAll(response.Body)
				response.Body.Close()
				if err == nil && response.StatusCode < 300 {
					t.Errorf("%s %s: %d with %d bytes, of which as before: %t", target, headers, response.StatusCode, len(body), string(body) == want)
				}
			}
			if !errors.Is(told.err(), store.ErrDataLoss) {
				t.Errorf("%s %s: told about %v, want %v", target, headers, told.err(), store.ErrDataLoss)
			}
		}
	}
}

// TestSwap checks that each response is from one of two catalogs while the second one replaces the first.
func TestSwap(t *testing.T) {
	first, second := catalogOf(t, "c", textSource(small)), catalogOf(t, "c", textSource(strings.ReplaceAll(small, "kiln", "oven")))
	first.Tag, second.Tag = "1", "2"
	current := first
	h := web.New(web.Options{Acquire: func() ([]web.Catalog, func()) { return []web.Catalog{current}, func() {} }})
	const list = "/ui/v1/packages?catalog=c"
	if got := get(t, h, list); !strings.Contains(got, `"kiln"`) {
		t.Errorf("at first: %s", got)
	}
	current = second
	if got := get(t, h, list); !strings.Contains(got, `"oven"`) || strings.Contains(got, `"kiln"`) {
		t.Errorf("after the swap: %s", got)
	}
	if w := ask(h, http.MethodGet, base+"all", "If-None-Match", `"1"`); w.Code != 200 || !strings.Contains(w.Body.String(), "oven") {
		t.Errorf("after the swap: %d %s", w.Code, w.Body)
	}
}

// decoded returns a body without its coding.
func decoded(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	var r io.Reader = w.Body
	switch c := w.Header().Get("Content-Encoding"); c {
	case "":
	case "gzip":
		g, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = g
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	default:
		t.Fatalf("Content-Encoding: %s", c)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func FuzzQuery(f *testing.F) {
	source := textSource(small)
	lines := linesOf(f, source)
	c := catalogOf(f, "c", source)
	for _, seed := range []string{"", "schema=olm.bundle", "package=kiln&name=kiln.v1.0.0", "name=a%2Fb%3Fc%26d", "name=%zz", "x=1", "schema=%00;", "&&&=", "name=a+b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		h := handlerOf(t, c)
		r := httptest.NewRequest(http.MethodGet, base+"metas", nil)
		r.URL.RawQuery = raw
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		params, err := r.URL.Query(), error(nil)
		for name := range params {
			if name != "schema" && name != "package" && name != "name" {
				err = errors.New("unknown")
			}
		}
		if err != nil {
			if w.Code != http.StatusBadRequest {
				t.Errorf("%q: %d, want 400 since %v", raw, w.Code, err)
			}
			return
		}
		want := find(lines, store.Query{Schema: params.Get("schema"), Package: params.Get("package"), Name: params.Get("name")})
		if got := w.Body.String(); w.Code != http.StatusOK || got != want {
			t.Errorf("%q: %d\n%s\nwant\n%s", raw, w.Code, got, want)
		}
		for _, target := range []string{"/ui/v1/packages", "/ui/v1/package", "/ui/v1/icon", "/ui/v1/bundle", "/ui/v1/graph"} {
			r := httptest.NewRequest(http.MethodGet, target, nil)
			r.URL.RawQuery = raw
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code >= 500 {
				t.Errorf("%s?%q: %d", target, raw, w.Code)
			}
		}
	})
}

// wide returns a catalog that is large enough for several frames, with texts that do not compress to nothing.
func wide() string {
	r := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	text.WriteString("schema: olm.package\nname: wide\ndefaultChannel: c\n---\nschema: olm.channel\npackage: wide\nname: c\nentries: [{name: wide.v1.0.0}]\n---\n" +
		"schema: olm.bundle\npackage: wide\nname: wide.v1.0.0\nimage: example.com/wide@sha256:1111111111111111111111111111111111111111111111111111111111111111\nproperties: [{type: olm.package, value: {packageName: wide, version: 1.0.0}}]\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "---\nschema: example.com/wide\nname: wide-%d\ntext: %x %x\n", i, r.Uint64(), r.Uint64())
	}
	return text.String()
}
