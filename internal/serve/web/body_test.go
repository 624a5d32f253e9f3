package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/serve/web"
)

// accepts are values of Accept-Encoding, and the coding that they lead to.
var accepts = []struct{ header, coding string }{
	{"", ""},
	{"identity", ""},
	{"gzip", "gzip"},
	{"GZIP;q=0.5", "gzip"},
	{"x-gzip", "gzip"},
	{"zstd", "zstd"},
	{"gzip, zstd", "zstd"},
	{"gzip;q=1, zstd;q=0.1", "zstd"},
	{"zstd;q=0, gzip", "gzip"},
	{"zstd; q=0.000,gzip ;q=0", ""},
	{"*", "zstd"},
	{"*;q=0, gzip", "gzip"},
	{"zstd;q=0, *", "gzip"},
	{"br, deflate", ""},
	{"gzip;q=x", ""},
	{", ,;,=", ""},
}

func TestCodings(t *testing.T) {
	c := catalogOf(t, "c", textSource(wide()))
	h := handlerOf(t, c)
	for _, target := range []string{base + "all", base + "metas", base + "metas?schema=example.com/wide", "/ui/page.css", "/ui/page.js"} {
		plain := ask(h, http.MethodGet, target)
		want := plain.Body.String()
		if got := plain.Header().Get("Content-Length"); got != strconv.Itoa(len(want)) || len(want) < 1024 {
			t.Errorf("%s: Content-Length: %s, and there are %d bytes", target, got, len(want))
		}
		tags := map[string]string{}
		for _, tt := range accepts {
			w := ask(h, http.MethodGet, target, "Accept-Encoding", tt.header)
			header := w.Header()
			if got := header.Get("Content-Encoding"); got != tt.coding || w.Code != 200 {
				t.Errorf("%s, %q: %d in %q, want %q", target, tt.header, w.Code, got, tt.coding)
			}
			length := w.Body.Len()
			if got := decoded(t, w); got != want {
				t.Errorf("%s, %q: %d bytes, want %d", target, tt.header, len(got), len(want))
			}
			stored := tt.coding != "" && (target == base+"all" || target == base+"metas")
			if got := header.Get("Content-Length"); (stored || tt.coding == "") != (got == strconv.Itoa(length)) {
				t.Errorf("%s, %q: Content-Length: %q of %d", target, tt.header, got, length)
			}
			if stored && length >= len(want)*3/4 {
				t.Errorf("%s, %q: %d bytes of %d", target, tt.header, length, len(want))
			}
			if got := header.Get("Accept-Ranges"); (got == "bytes") != (target == base+"all" && tt.coding == "") {
				t.Errorf("%s, %q: Accept-Ranges: %q", target, tt.header, got)
			}
			tag := header.Get("ETag")
			if before, ok := tags[tt.coding]; tag == "" || ok && before != tag {
				t.Errorf("%s, %q: ETag: %s, was %s", target, tt.header, tag, before)
			}
			tags[tt.coding] = tag
			head := ask(h, http.MethodHead, target, "Accept-Encoding", tt.header)
			for _, name := range []string{"Content-Encoding", "ETag", "Content-Type", "Last-Modified", "Vary", "Accept-Ranges", "Cache-Control"} {
				if got, want := head.Header().Get(name), header.Get(name); got != want {
					t.Errorf("HEAD %s, %q: %s: %q, want %q", target, tt.header, name, got, want)
				}
			}
			if head.Body.Len() > 0 {
				t.Errorf("HEAD %s: %d bytes", target, head.Body.Len())
			}
		}
		if len(tags) != 3 || tags[""] == tags["zstd"] || tags[""] == tags["gzip"] || tags["gzip"] == tags["zstd"] {
			t.Errorf("%s: tags %v", target, tags)
		}
	}
	if w := ask(h, http.MethodGet, base+"metas?name=wide-1", "Accept-Encoding", "gzip, zstd"); w.Header().Get("Content-Encoding") != "" {
		t.Errorf("an answer of %d bytes is compressed", w.Body.Len())
	}
}

// TestEncodersBusy checks that clients get an uncompressed response while all encoders are in use.
func TestEncodersBusy(t *testing.T) {
	c := catalogOf(t, "c", textSource(wide()))
	h := web.New(web.Options{Acquire: served(c), Encoders: 1})
	const target = base + "metas?schema=example.com/wide"
	want := get(t, h, target)
	inside := &blocked{ResponseRecorder: httptest.NewRecorder(), entered: make(chan bool), leave: make(chan bool)}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		h.ServeHTTP(inside, r)
	}()
	<-inside.entered
	w := ask(h, http.MethodGet, target, "Accept-Encoding", "gzip")
	if got := w.Header().Get("Content-Encoding"); got != "" || w.Body.String() != want {
		t.Errorf("while the encoder is in use: %q", got)
	}
	if tag := w.Header().Get("ETag"); tag != `"`+c.Tag+`"` {
		t.Errorf("while the encoder is in use: ETag %s", tag)
	}
	close(inside.leave)
	<-ended
	if got := decoded(t, inside.ResponseRecorder); got != want {
		t.Errorf("%d bytes are sent to the first client, want %d", len(got), len(want))
	}
	if w := ask(h, http.MethodGet, target, "Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "gzip" || decoded(t, w) != want {
		t.Error("afterwards the encoder is not free")
	}
}

// blocked is a client that does not read at once.
type blocked struct {
	*httptest.ResponseRecorder
	entered, leave chan bool
	once           bool
}

func (b *blocked) Write(p []byte) (int, error) {
	if !b.once {
		b.once = true
		b.entered <- true
		<-b.leave
	}
	return b.ResponseRecorder.Write(p)
}

func TestConditions(t *testing.T) {
	c := catalogOf(t, "c", textSource(wide()))
	const (
		at     = "Thu, 29 Feb 2024 12:34:56 GMT"
		before = "Thu, 29 Feb 2024 12:34:55 GMT"
		after  = "Thursday, 29-Feb-24 12:34:57 GMT"
		never  = "yesterday"
	)
	tag := `"` + c.Tag + `"`
	for _, tt := range []struct {
		headers []string
		want    int
	}{
		{nil, 200},
		{[]string{"If-Modified-Since", at}, 304},
		{[]string{"If-Modified-Since", after}, 304},
		{[]string{"If-Modified-Since", before}, 200},
		{[]string{"If-Modified-Since", never}, 200},
		{[]string{"If-Unmodified-Since", at}, 200},
		{[]string{"If-Unmodified-Since", after}, 200},
		{[]string{"If-Unmodified-Since", before}, 412},
		{[]string{"If-Unmodified-Since", never}, 200},
		{[]string{"If-None-Match", "*"}, 304},
		{[]string{"If-None-Match", tag}, 304},
		{[]string{"If-None-Match", "W/" + tag}, 304},
		{[]string{"If-None-Match", `"a", ` + tag + `, "b"`}, 304},
		{[]string{"If-None-Match", `"a"`, "If-None-Match", tag}, 304},
		{[]string{"If-None-Match", `"other"`}, 200},
		{[]string{"If-None-Match", c.Tag}, 200},
		{[]string{"If-None-Match", `"other"`, "If-Modified-Since", at}, 200},
		{[]string{"If-Match", "*"}, 200},
		{[]string{"If-Match", tag}, 200},
		{[]string{"If-Match", "W/" + tag}, 412},
		{[]string{"If-Match", `"other"`}, 412},
		{[]string{"If-Match", tag, "If-Unmodified-Since", before}, 200},
		{[]string{"If-Match", tag, "If-None-Match", tag}, 304},
		{[]string{"If-Unmodified-Since", before, "If-None-Match", tag}, 412},
		{[]string{"If-Match", ""}, 200},
		{[]string{"If-Match", "", "If-Match", ""}, 200},
		{[]string{"If-Match", "", "If-Match", tag}, 200},
		{[]string{"If-Match", "", "If-Match", `"other"`}, 412},
		{[]string{"If-Match", "", "If-Unmodified-Since", before}, 412},
		{[]string{"If-None-Match", ""}, 200},
		{[]string{"If-None-Match", "", "If-None-Match", ""}, 200},
		{[]string{"If-None-Match", "", "If-None-Match", "", "If-Modified-Since", at}, 304},
		{[]string{"If-None-Match", "", "If-None-Match", tag}, 304},
		{[]string{"If-Modified-Since", at, "If-Modified-Since", before}, 304},
		{[]string{"If-None-Match", tag, "Accept-Encoding", "zstd"}, 200}, // other bytes
		{[]string{"If-None-Match", `"` + c.Tag + `-zstd"`, "Accept-Encoding", "zstd"}, 304},
		{[]string{"If-None-Match", `W/"` + c.Tag + `-gzip"`, "Accept-Encoding", "gzip"}, 304},
		{[]string{"If-Modified-Since", at, "Accept-Encoding", "gzip"}, 304},
	} {
		h := handlerOf(t, c)
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, path := range []string{"all", "metas", "metas?name=wide"} {
				want := tt.want
				if path == "metas?name=wide" && len(tt.headers) > 2 && tt.headers[2] == "Accept-Encoding" {
					continue // it is too short to be compressed
				}
				w := ask(h, method, base+path, tt.headers...)
				if w.Code != want {
					t.Errorf("%s %s %q: %d, want %d", method, path, tt.headers, w.Code, want)
				}
				if w.Code != 200 && w.Body.Len() > 0 {
					t.Errorf("%s %s %q: %d with %d bytes", method, path, tt.headers, w.Code, w.Body.Len())
				}
				if w.Header().Get("ETag") == "" || w.Header().Get("Last-Modified") != at || w.Header().Get("Vary") == "" {
					t.Errorf("%s %s %q: headers %v", method, path, tt.headers, w.Header())
				}
			}
		}
	}
}

// TestNoDate checks that conditions are ignored for a catalog without a date and a tag.
func TestNoDate(t *testing.T) {
	c := catalogOf(t, "c", textSource(small))
	c.Tag, c.Modified = "", time.Time{}
	h := handlerOf(t, c)
	for _, headers := range [][]string{nil, {"If-None-Match", `""`}, {"If-Modified-Since", "Thu, 29 Feb 2024 12:34:56 GMT"}, {"Range", "bytes=0-"}} {
		w := ask(h, http.MethodGet, base+"all", headers...)
		if w.Code >= 300 || w.Header().Get("ETag") != "" || w.Header().Get("Last-Modified") != "" {
			t.Errorf("%v: %d %v", headers, w.Code, w.Header())
		}
	}
}

func TestRanges(t *testing.T) {
	c := catalogOf(t, "c", textSource(wide()))
	h := handlerOf(t, c)
	want := get(t, h, base+"all")
	n := len(want)
	tag := `"` + c.Tag + `"`
	for _, tt := range []struct {
		headers []string
		code    int
		body    string
	}{
		{[]string{"Range", "bytes=0-0"}, 206, want[:1]},
		{[]string{"Range", "bytes=100-99999"}, 206, want[100:100000]},
		{[]string{"Range", "bytes=-5"}, 206, want[n-5:]},
		{[]string{"Range", fmt.Sprintf("bytes=%d-", n-1)}, 206, want[n-1:]},
		{[]string{"Range", fmt.Sprintf("bytes=%d-", n)}, 416, ""},
		{[]string{"Range", "bytes=5-2"}, 416, ""},
		{[]string{"Range", "bytes=0-9", "Accept-Encoding", "zstd, gzip"}, 206, want[:10]},
		{[]string{"Range", "bytes=0-9", "If-Range", tag}, 206, want[:10]},
		{[]string{"Range", "bytes=0-9", "If-Range", `"other"`}, 200, want},
		{[]string{"Range", "bytes=0-9", "If-Range", "Thu, 29 Feb 2024 12:34:56 GMT"}, 206, want[:10]},
		{[]string{"Range", "bytes=0-9", "If-Range", ""}, 206, want[:10]},
		{[]string{"Range", "bytes=0-9", "If-Range", "W/" + tag}, 200, want},
		{[]string{"Range", "bytes=0-9", "If-Range", "yesterday"}, 200, want},
		{[]string{"Range", ""}, 200, want},
		{[]string{"Range", "lines=0-9"}, 416, ""},
		{[]string{"Range", "bytes=0-9", "If-Match", "", "If-None-Match", ""}, 206, want[:10]},
		{[]string{"Range", "bytes=0-9", "If-Match", `"other"`, "If-Match", tag}, 206, want[:10]},
		{[]string{"Range", "bytes=0-9", "If-None-Match", tag}, 304, ""},
		{[]string{"Range", "bytes=0-9", "If-Match", `"other"`}, 412, ""},
	} {
		w := ask(h, http.MethodGet, base+"all", tt.headers...)
		if w.Code != tt.code || tt.code < 300 && w.Body.String() != tt.body {
			t.Errorf("%q: %d with %d bytes, want %d with %d", tt.headers, w.Code, w.Body.Len(), tt.code, len(tt.body))
		}
		if w.Code == 206 && w.Header().Get("Content-Encoding") != "" {
			t.Errorf("%q: a range is compressed", tt.headers)
		}
	}
	parts := ask(h, http.MethodGet, base+"all", "Range", "bytes=0-1,70000-70001")
	if !strings.HasPrefix(parts.Header().Get("Content-Type"), "multipart/byteranges") || !strings.Contains(parts.Body.String(), want[70000:70002]) {
		t.Errorf("two ranges: %d %v", parts.Code, parts.Header())
	}
	if w := ask(h, http.MethodGet, base+"metas", "Range", "bytes=0-9"); w.Code != 200 || w.Body.String() != want {
		t.Errorf("a range of /metas: %d with %d bytes", w.Code, w.Body.Len())
	}
}
