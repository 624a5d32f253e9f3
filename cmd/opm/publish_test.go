package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// A revoker is a registry that refuses all writes after it has stored a number of blobs.
type revoker struct {
	http.Handler
	allowed atomic.Int64
	stored  atomic.Int64
}

func (r *revoker) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	isRead := req.Method == http.MethodGet || req.Method == http.MethodHead
	if !isRead && r.stored.Load() >= r.allowed.Load() {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.Handler.ServeHTTP(w, req)
	if req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/blobs/") {
		r.stored.Add(1)
	}
}

// A registry that refuses the credentials, from the start or after the first blob, keeps its current image.
func TestPublishRefused(t *testing.T) {
	const many = 1000
	silent := registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0))
	r := &revoker{Handler: registry.New(silent)}
	r.allowed.Store(many)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	dir := copyExamples(t)
	tag := strings.TrimPrefix(server.URL, "http://") + "/crafts:v1"
	publish := func(catalog string) result {
		return opm(t, dir, "publish "+catalog+" -t "+tag+" -i scratch --use-http --skip check-images")
	}
	if got := publish("catalog/kiln"); got.code != 0 {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	before := opm(t, dir, "render --use-http "+tag)

	for _, allowed := range []int64{0, 1} {
		r.stored.Store(0)
		r.allowed.Store(allowed)
		got := publish("catalog")
		refused := "| push | **failed** | push image " + tag + ": 127.0.0.1:"
		if got.code != 2 || !strings.Contains(got.stdout, refused) || !strings.Contains(got.stderr, "401 Unauthorized") {
			t.Errorf("%d blobs: exit code %d\n%s%s", allowed, got.code, got.stdout, got.stderr)
		}
		if stored := r.stored.Load(); (stored > 0) != (allowed > 0) {
			t.Errorf("%d blobs were stored, want %d", stored, allowed)
		}
		if opm(t, dir, "render --use-http "+tag) != before {
			t.Errorf("%d blobs: the tag is another image", allowed)
		}
	}
	r.allowed.Store(many)
	if got := publish("catalog"); got.code != 0 || opm(t, dir, "render --use-http "+tag) == before {
		t.Errorf("with credentials again: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// TestTagFails checks that the earlier tags stay set if a tag cannot be set, and that publish and build name them.
func TestTagFails(t *testing.T) {
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/manifests/two") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	dir := copyExamples(t)
	repository := strings.TrimPrefix(server.URL, "http://") + "/crafts"
	image := " catalog -i scratch --use-http -t " + repository + ":one -t " + repository + ":two -t " + repository + ":three"
	named := regexp.MustCompile(regexp.QuoteMeta(repository) + `:\w+@sha256:[0-9a-f]{64}`)

	got := opm(t, dir, "publish --skip check-images,diff"+image)
	live := named.FindString(got.stdout)
	for _, want := range []string{
		"## Published in part: `" + repository + ":one`, not `" + repository + ":two`, `" + repository + ":three`\n",
		"\nLive: `" + live + "`\n",
		"\n| push | passed | - |\n",
		"\n| tag | **failed** | push image " + repository + ":two: 127.0.0.1:",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("publish prints\n%s, want %q", got.stdout, want)
		}
	}
	if !strings.HasPrefix(live, repository+":one@") || got.code != 2 || !strings.Contains(got.stderr, live) {
		t.Errorf("exit code %d, live is %q\n%s", got.code, live, got.stderr)
	}
	got = opm(t, dir, "publish --skip check-images,diff -o json"+image)
	if !strings.Contains(got.stdout, "\"live\": [\n    \""+live+"\"\n  ],\n") {
		t.Errorf("publish prints\n%s, want %q to be live", got.stdout, live)
	}
	got = opm(t, dir, "build --push"+image)
	if got.code != 1 || got.stdout != "" || !strings.HasPrefix(got.stderr, "opm: the image is live as "+live+"\n") {
		t.Errorf("build exits with %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// A user who must not read the repository can still push an image.
func TestPublishWithoutReading(t *testing.T) {
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPut && strings.Contains(req.URL.Path, "/manifests/") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	tag := strings.TrimPrefix(server.URL, "http://") + "/crafts:v1"
	got := opm(t, copyExamples(t), "publish catalog -t "+tag+" -i scratch --use-http --skip check-images,diff")
	if got.code != 0 || !strings.HasPrefix(got.stdout, "## Published ") {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// No temporary file is left, whether the run succeeds or not.
func TestPublishLeavesNothing(t *testing.T) {
	dir, tmp := copyExamples(t), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	before := contents(t, dir)
	for line, want := range map[string]int{
		"publish crafts.yaml -t localhost:1/crafts:v1 -i scratch --skip check-images,diff,push":   0,
		"publish broken -t localhost:1/crafts:v1 -i scratch --use-http":                           1,
		"publish catalog -t localhost:1/crafts:v1 -i scratch --use-http --skip check-images,diff": 2,
	} {
		if got := opm(t, dir, line); got.code != want {
			t.Errorf("%s: exit code %d, want %d\n%s", line, got.code, want, got.stderr)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left among temporary files: %v, %v", left, err)
	}
	for name, text := range contents(t, dir) {
		if before[name] != text {
			t.Errorf("%s was written", filepath.Base(name))
		}
	}
}
