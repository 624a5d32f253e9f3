package web_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/opm-toolchain/opm/internal/serve/web"
)

// A ledger records the memory of responses.
type ledger struct {
	mu    sync.Mutex
	held  int
	most  int
	takes []int // amounts that responses waited for
	sizes []int // amounts to which they were changed
	bad   []string
}

func (l *ledger) take(r *http.Request, bytes int) (func(int), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held > 0 {
		l.bad = append(l.bad, fmt.Sprintf("%s waits for memory while it holds %d bytes", r.URL, l.held))
	}
	l.takes = append(l.takes, bytes)
	taken := bytes
	l.held += bytes
	l.most = max(l.most, l.held)
	return func(bytes int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held += bytes - taken
		if taken = bytes; bytes > 0 {
			l.sizes = append(l.sizes, bytes)
		}
	}, nil
}

// bulky returns a catalog with a small package ash and a package oak, whose objects have about this number of bytes each.
// Its channel is smaller.
func bulky(t *testing.T, size int) string {
	t.Helper()
	words := strings.Repeat("word ", size/5)
	icon := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), words[:size*3/4]...))
	var text strings.Builder
	add := func(v any) {
		if err := json.NewEncoder(&text).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	type object = map[string]any
	version := func(pkg string) object {
		return object{"type": "olm.package", "value": object{"packageName": pkg, "version": "1.0.0"}}
	}
	var skips []string
	for i := range size / 100 {
		skips = append(skips, fmt.Sprintf("oak.v0.0.%d", i))
	}
	add(object{"schema": "olm.package", "name": "oak", "defaultChannel": "c", "description": words,
		"icon": object{"base64data": icon, "mediatype": "image/png"}})
	add(object{"schema": "olm.channel", "package": "oak", "name": "c", "entries": []object{
		{"name": "oak.v1.0.0", "skips": skips},
	}})
	add(object{"schema": "olm.bundle", "package": "oak", "name": "oak.v1.0.0", "image": "r.example/oak", "properties": []object{
		version("oak"), {"type": "olm.csv.metadata", "value": object{"displayName": "Oak", "keywords": []string{words}}},
		{"type": "filler", "value": words},
	}})
	add(object{"schema": "olm.package", "name": "ash", "defaultChannel": "c"})
	add(object{"schema": "olm.channel", "package": "ash", "name": "c", "entries": []object{{"name": "ash.v1.0.0"}}})
	add(object{"schema": "olm.bundle", "package": "ash", "name": "ash.v1.0.0", "image": "r.example/ash", "properties": []object{
		version("ash"),
	}})
	return text.String()
}

// TestViewsTakeMemory checks that a view waits for memory in proportion to the objects that it reads, that it keeps only
// the memory of its response while it is sent, and that no memory is held while a view waits.
func TestViewsTakeMemory(t *testing.T) {
	const size = 400_000
	c := catalogOf(t, "c", textSource(bulky(t, size)))
	for _, tt := range []struct {
		name    string
		target  string
		minimum int // of the memory at the first request
		small   bool
	}{
		{"bundle", address("bundle", "catalog", "c", "package", "oak", "name", "oak.v1.0.0"), 6 * size, false},
		{"package", address("package", "catalog", "c", "package", "oak"), 30 * size, false},
		{"small package", address("package", "catalog", "c", "package", "ash"), 1 << 20, true},
		{"icon", address("icon", "catalog", "c", "package", "oak"), 6 * size, false},
		{"small icon", address("icon", "catalog", "c", "package", "ash"), 1 << 20, true},
		{"graph", address("graph", "catalog", "c", "package", "oak"), 30 * size, false},
		{"packages", address("packages", "catalog", "c"), 6 * size, false},
		{"matrix", address("matrix"), 6 * size, false},
		{"search", address("search", "catalog", "c", "text", "word"), 6 * size, false},
		{"search in a package", address("search", "catalog", "c", "text", "word", "package", "oak"), 6 * size, false},
		{"catalogs", address("catalogs"), 1 << 20, true},
		{"missing", address("bundle", "catalog", "c", "package", "none", "name", "none"), 1 << 20, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &ledger{}
			h := web.New(web.Options{Acquire: served(c), Memory: l.take})
			w := ask(h, http.MethodGet, tt.target)
			if want := map[bool]int{true: http.StatusNotFound, false: http.StatusOK}[tt.name == "missing"]; w.Code != want {
				t.Fatalf("got %d: %s", w.Code, w.Body)
			}
			first := 0
			if len(l.takes) > 0 {
				first = l.takes[0]
			}
			if first < tt.minimum || tt.small && first > 2*tt.minimum {
				t.Errorf("it took %d bytes, want %d or more", first, tt.minimum)
			}
			if w.Code == http.StatusOK && (len(l.sizes) == 0 || l.sizes[len(l.sizes)-1] != w.Body.Len()) {
				t.Errorf("a response of %d bytes kept %v", w.Body.Len(), l.sizes)
			}
			if len(l.bad) > 0 || l.held != 0 {
				t.Errorf("%v; %d bytes are held at the end", l.bad, l.held)
			}
			ask(h, http.MethodGet, tt.target) // the list and the index are kept
			if l.held != 0 {
				t.Errorf("%d bytes are held after the second request", l.held)
			}
		})
	}
}
