package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func newPusher(t testing.TB, tags ...string) *Pusher {
	t.Helper()
	p, err := NewPusher(tags, testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// requests returns the requests to a registry as text, with a count for each kind.
func requests(asked map[string]int) string {
	kinds := map[string]int{}
	for what, n := range asked {
		method, path, _ := strings.Cut(what, " ")
		switch {
		case strings.Contains(path, "/manifests/sha256:"):
			method += " digest"
		case strings.Contains(path, "/manifests/"):
			method += " tag"
		case strings.Contains(path, "/blobs/"):
			method += " blob"
		}
		kinds[method] += n
	}
	var list []string
	for kind, n := range kinds {
		list = append(list, fmt.Sprintf("%d %s", n, kind))
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return strings.Join(list, ", ")
}

// TestPushRequests checks the number of requests to push an image of two blobs, once and again, to another tag and to
// another repository. A registry without logins is pinged once.
func TestPushRequests(t *testing.T) {
	registry := newRegistry(t)
	img := oneFile(t, "1")
	for _, tt := range []struct {
		tags          []string
		stored, named bool // whether the step changed something
		want          string
	}{
		{[]string{"a:v1"}, true, true, "1 GET, 2 HEAD blob, 2 HEAD digest, 2 PATCH blob, 2 POST blob, 2 PUT blob, 1 PUT digest, 1 PUT tag"},
		{[]string{"a:v1"}, false, false, "1 GET, 1 HEAD digest, 1 HEAD tag"},
		{[]string{"a:v1", "a:v2"}, false, true, "1 GET, 1 HEAD digest, 2 HEAD tag, 1 PUT tag"},
		{[]string{"b:v1", "b:v2", "b:v3"}, true, true, "1 GET, 2 HEAD blob, 2 HEAD digest, 1 PUT digest, 3 PUT tag"},
	} {
		var refs []string
		for _, tag := range tt.tags {
			refs = append(refs, registry.host+"/org/"+tag)
		}
		registry.forget()
		p := newPusher(t, refs...)
		stored, err := p.Store(t.Context(), img)
		if err != nil {
			t.Fatal(err)
		}
		named, err := p.Tag(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if stored != tt.stored || named != tt.named {
			t.Errorf("%q: stored %v, named %v", tt.tags, stored, named)
		}
		if got := requests(registry.forget()); got != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.tags, got, tt.want)
		}
		if live := p.Live(); len(live) != len(refs) || live[0] != refs[0]+"@"+digestOf(t, img) {
			t.Errorf("%q: live are %q", tt.tags, live)
		}
	}
}

// TestPushIsConfirmed checks that a push fails if the registry has not stored the content.
func TestPushIsConfirmed(t *testing.T) {
	other := "sha256:" + strings.Repeat("0", 64)
	isPut := func(r *http.Request, what string) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, what)
	}
	answers := func(w http.ResponseWriter, status int, digest string) bool {
		w.Header().Set("Docker-Content-Digest", digest)
		w.WriteHeader(status)
		return true
	}
	for name, tt := range map[string]struct {
		fault func(w http.ResponseWriter, r *http.Request) bool
		want  string // "" if the push succeeds
	}{
		"nothing is stored": {func(w http.ResponseWriter, r *http.Request) bool {
			return isPut(r, "/manifests/") && answers(w, http.StatusCreated, "")
		}, "and then 404 Not Found"},
		"the image of an index is lost": {func(w http.ResponseWriter, r *http.Request) bool {
			return isPut(r, "/manifests/sha256:") && !strings.Contains(r.Header.Get("Content-Type"), "index") &&
				answers(w, http.StatusCreated, "")
		}, "and then 404 Not Found"},
		"another manifest": {func(w http.ResponseWriter, r *http.Request) bool {
			return isPut(r, "/manifests/sha256:") && answers(w, http.StatusCreated, other)
		}, "it has the digest " + other},
		"another manifest by tag": {func(w http.ResponseWriter, r *http.Request) bool {
			return isPut(r, "/manifests/v1") && answers(w, http.StatusCreated, other)
		}, "it has the digest " + other},
		"another blob": {func(w http.ResponseWriter, r *http.Request) bool {
			return isPut(r, "/blobs/") && answers(w, http.StatusCreated, other)
		}, "it has the digest " + other},
		"another manifest when asked": {func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/manifests/") &&
				r.Header.Get("Accept") == string(types.OCIImageIndex) && answers(w, http.StatusOK, other)
		}, "it has the digest " + other},
		"a failure when asked": {func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodHead && !strings.Contains(r.Header.Get("Accept"), ",") &&
				strings.Contains(r.URL.Path, "/manifests/") && answers(w, http.StatusNotImplemented, "")
		}, "answers 501 Not Implemented"},
		"may not be read": {func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/manifests/") &&
				answers(w, http.StatusForbidden, "")
		}, ""},
		"another algorithm": {func(w http.ResponseWriter, r *http.Request) bool {
			return isPut(r, "/manifests/v1") && answers(w, http.StatusCreated, "sha512:"+strings.Repeat("0", 128))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			registry := newRegistry(t)
			registry.intercept(tt.fault)
			ref := registry.host + "/org/index:v1"
			index := indexOf(t, map[string]mutate.Appendable{"linux/amd64": oneFile(t, "1")})
			_, err := Push(t.Context(), index, ref, testOptions(t))
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), "push image "+ref+": ") ||
				!strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrNotFound) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			registry.intercept(nil)
			if _, err := NewOpener(testOptions(t)).Digest(t.Context(), ref); !errors.Is(err, ErrNotFound) {
				t.Errorf("the tag is there: %v", err)
			}
		})
	}
}

// TestTagsComeLast checks that all repositories have the image before any tag refers to it, and that after a failed
// tag, Live returns the tags that do.
func TestTagsComeLast(t *testing.T) {
	registry := newRegistry(t)
	var mu sync.Mutex
	var puts []string
	registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		refused := strings.HasSuffix(r.URL.Path, "/b/manifests/two")
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			_, what, _ := strings.Cut(r.URL.Path, "/org/")
			puts = append(puts, what[:min(len(what), 18)])
			if refused {
				w.WriteHeader(http.StatusForbidden)
			}
			return refused
		}
		return false
	})
	p := newPusher(t, registry.host+"/org/a:one", registry.host+"/org/b:two", registry.host+"/org/a:three")
	img := oneFile(t, "1")
	if _, err := p.Store(t.Context(), img); err != nil {
		t.Fatal(err)
	}
	_, err := p.Tag(t.Context())
	if err == nil || !strings.Contains(err.Error(), "push image "+registry.host+"/org/b:two: ") {
		t.Errorf("got %v", err)
	}
	want := []string{"a/manifests/sha256", "b/manifests/sha256", "a/manifests/one", "b/manifests/two"}
	if !slices.Equal(puts, want) {
		t.Errorf("got  %q\nwant %q", puts, want)
	}
	if live := p.Live(); !slices.Equal(live, []string{registry.host + "/org/a:one@" + digestOf(t, img)}) {
		t.Errorf("live are %q", live)
	}
}

// TestTagComesLast checks that a tag does not change until the whole image is stored, nor if the push fails.
func TestTagComesLast(t *testing.T) {
	registry := newRegistry(t)
	var mu sync.Mutex
	var puts []string
	refused := false
	registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPut || r.Method == http.MethodPatch {
			puts = append(puts, r.URL.Path)
			if refused {
				w.WriteHeader(http.StatusForbidden)
			}
			return refused
		}
		return false
	})
	ref := registry.host + "/org/index:v1"
	push := func(body string) error {
		_, err := Push(t.Context(), indexOf(t, map[string]mutate.Appendable{"linux/amd64": oneFile(t, body)}), ref,
			testOptions(t))
		return err
	}
	if err := push("1"); err != nil {
		t.Fatal(err)
	}
	if n := len(puts); n < 4 || !strings.HasSuffix(puts[n-1], "/manifests/v1") {
		t.Errorf("got requests %q", puts)
	}
	refused = true
	if err := push("2"); err == nil || !strings.Contains(err.Error(), "org/index:v1") {
		t.Errorf("got %v", err)
	}
	if got := readBack(t, ref); got != "1" {
		t.Errorf("the tag names %q", got)
	}
}

func TestCheckPush(t *testing.T) {
	registry := newRegistry(t)
	ref := registry.host + "/org/catalog:v1"
	p := newPusher(t, ref)
	if err := p.Check(t.Context()); err != nil {
		t.Error(err)
	}
	registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.Method == http.MethodPost
	})
	err := p.Check(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "push image "+ref+": ") {
		t.Errorf("got %v", err)
	}
}

func TestPushErrors(t *testing.T) {
	registry := newRegistry(t)
	img := oneFile(t, "1")
	var code atomic.Int32
	registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost && r.Method != http.MethodPut {
			return false
		}
		w.WriteHeader(int(code.Load()))
		_, _ = io.WriteString(w, `{"errors":[{"code":"DENIED","message":"not today"}]}`)
		return true
	})
	ref := registry.host + "/org/image:v1"
	for _, tt := range []struct {
		code      int
		ref, want string
	}{
		{403, ref, "answers 403 Forbidden (not today): the credentials are not allowed to write org/image: ask its owner"},
		{401, ref, "it refuses the credentials: log in"},
		{404, ref, "answers 404 Not Found (not today): check the name"},
		{507, ref, "answers 507 Insufficient Storage (not today): the registry has failed: try again later"},
		{0, registry.host + "/org/image@" + someDigest, "an image is pushed to a tag"},
		{0, registry.host + "/org/image", "neither a tag nor a digest: add one"},
		{0, "org/image:v1", "image org/image:v1: not a full image reference: it must begin with the host"},
	} {
		t.Run(fmt.Sprint(tt.code, strings.ReplaceAll(tt.ref, registry.host, "")), func(t *testing.T) {
			code.Store(int32(tt.code))
			opts := testOptions(t)
			opts.Keychain = keychainOf("user", "secret")
			digest, err := Push(t.Context(), img, tt.ref, opts)
			if err == nil || digest != "" || !strings.HasPrefix(err.Error(), "push image "+tt.ref+": ") ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, %v, want %q", digest, err, tt.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Push(ctx, img, ref, testOptions(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v for a context that has ended", err)
	}
}

// TestPushGoesOn checks that an interrupted upload is repeated, and that existing blobs are not sent again.
func TestPushGoesOn(t *testing.T) {
	t.Parallel()
	registry := newRegistry(t)
	img := oneFile(t, strings.Repeat("x", 1000))
	var broken atomic.Bool
	registry.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && !broken.Swap(true) {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	ref := registry.host + "/org/image:v1"
	if _, err := Push(t.Context(), img, ref, testOptions(t)); err != nil {
		t.Fatal(err)
	}
	if !broken.Load() {
		t.Error("nothing broke off")
	}
	registry.forget()
	if _, err := Push(t.Context(), img, ref, testOptions(t)); err != nil {
		t.Fatal(err)
	}
	for what := range registry.forget() {
		if strings.HasPrefix(what, "PATCH") || strings.HasPrefix(what, "POST") {
			t.Errorf("sent again: %s", what)
		}
	}
}

func TestPushDestination(t *testing.T) {
	registry, mirror := newRegistry(t), newRegistry(t)
	conf := fmt.Sprintf("[[registry]]\nlocation = %q\n[[registry.mirror]]\nlocation = %q\ninsecure = true\n"+
		"[[registry]]\nlocation = \"blocked.example\"\nblocked = true\n", registry.host, mirror.host)
	mirrors, err := loadMirrors(t, conf, "")
	if err != nil {
		t.Fatal(err)
	}
	opts := testOptions(t)
	opts.Mirrors = mirrors
	if _, err := Push(t.Context(), oneFile(t, "1"), registry.host+"/org/image:v1", opts); err != nil {
		t.Fatal(err)
	}
	if asked := mirror.forget(); len(asked) > 0 {
		t.Errorf("the mirror was asked for %v", asked)
	}
	_, err = Push(t.Context(), oneFile(t, "1"), "blocked.example/org/image:v1", opts)
	if !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "blocks blocked.example") {
		t.Errorf("got %v", err)
	}
}
