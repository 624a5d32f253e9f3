package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
)

// TestSharedDownloads checks that nothing is fetched twice, however many images share it.
func TestSharedDownloads(t *testing.T) {
	registry := newRegistry(t)
	shared := tarOf(t, "shared=1")
	var refs []string
	for n := range 10 {
		refs = append(refs, registry.push(t, fmt.Sprintf("org/image%d:v1", n),
			imageOf(t, nil, shared, tarOf(t, fmt.Sprintf("own=%d", n)))))
	}
	for _, where := range []string{"", t.TempDir()} {
		registry.forget()
		opts := testOptions(t)
		opts.Cache = OpenCache(where, CacheOptions{})
		opener := NewOpener(opts)
		var group sync.WaitGroup
		for range 3 {
			for n, ref := range refs {
				group.Go(func() {
					img, err := opener.Open(t.Context(), ref)
					if err != nil {
						t.Error(err)
						return
					}
					defer img.Close()
					fsys, err := img.Files(t.Context(), "/")
					if err != nil {
						t.Error(err)
						return
					}
					wantFiles(t, fsys, filesOf("shared=1", fmt.Sprintf("own=%d", n)))
				})
			}
		}
		group.Wait()
		blobs := map[string]int{}
		for what, n := range registry.forget() {
			if what == "GET /v2/" && n != 1 {
				t.Errorf("the registry was pinged %d times", n)
			}
			if i := strings.Index(what, "/blobs/"); i >= 0 {
				blobs[what[i:]] += n
			}
		}
		if len(blobs) != 1+2*len(refs) {
			t.Errorf("%d blobs were asked for, want %d", len(blobs), 1+2*len(refs))
		}
		for digest, n := range blobs {
			if n != 1 {
				t.Errorf("%s was asked for %d times", digest, n)
			}
		}
		if err := errors.Join(opener.Close(), opts.Cache.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestFailuresOfOthers checks that an image is read from its own registry if another registry fails to send a manifest,
// a config or a layer that both images have.
func TestFailuresOfOthers(t *testing.T) {
	img := imageOf(t, nil, tarOf(t, "a=1"))
	good, bad := newRegistry(t), newRegistry(t)
	ref := "/org/image@" + digestOf(t, img)
	good.push(t, "org/image:v1", img)
	bad.push(t, "org/image:v1", img)
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	for what, digest := range map[string]string{
		"manifest": digestOf(t, img), "config": config.String(), "layer": digestOf(t, layers[0]),
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := testOptions(t)
				opts.Transport = roundTripFunc(func(r *http.Request) (*http.Response, error) {
					denied := r.URL.Host == "bad.example" && strings.HasSuffix(r.URL.Path, digest)
					if denied {
						time.Sleep(time.Second)
					}
					w := httptest.NewRecorder()
					switch {
					case denied:
						w.WriteHeader(http.StatusForbidden)
					case r.URL.Host == "bad.example":
						bad.Config.Handler.ServeHTTP(w, r)
					default:
						good.Config.Handler.ServeHTTP(w, r)
					}
					resp := w.Result()
					resp.Request = r
					return resp, nil
				})
				opener := NewOpener(opts)
				defer opener.Close()
				open := func(host string) error {
					img, err := opener.Open(t.Context(), host+ref)
					if err != nil {
						return err
					}
					defer img.Close()
					_, err = img.Files(t.Context(), "/")
					return err
				}
				var images sync.WaitGroup
				images.Go(func() {
					if err := open("bad.example"); err == nil || !strings.Contains(err.Error(), "bad.example answers 403") {
						t.Errorf("bad: got %v", err)
					}
				})
				synctest.Wait() // it waits for the answer
				images.Go(func() {
					if err := open("good.example"); err != nil {
						t.Errorf("good: got %v", err)
					}
				})
				images.Wait()
			})
		})
	}
}

// TestOfflineByDigest checks that cached content is not requested.
func TestOfflineByDigest(t *testing.T) {
	registry := newRegistry(t)
	img := imageOf(t, nil, tarOf(t, "a=1"))
	byTag := registry.push(t, "org/image:v1", img)
	dir := t.TempDir()
	read := func(ref string) {
		t.Helper()
		opts := testOptions(t)
		opts.Cache = OpenCache(dir, CacheOptions{})
		defer opts.Cache.Close()
		fsys, err := mustOpen(t, ref, opts).Files(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, fsys, filesOf("a=1"))
	}
	read(byTag)
	registry.forget()
	read(registry.host + "/org/image@" + digestOf(t, img))
	if asked := registry.forget(); len(asked) != 0 {
		t.Errorf("the registry was asked for %v", asked)
	}
}

func TestMirrors(t *testing.T) {
	first, second := newRegistry(t), newRegistry(t)
	img := imageOf(t, nil, tarOf(t, "a=1"))
	second.push(t, "mirror/image:v1", img)
	digest := digestOf(t, img)
	objects := writeFile(t, filepath.Join(t.TempDir(), "mirrors.yaml"), `
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: m}
spec:
  imageDigestMirrors:
  - source: quay.invalid/org
    mirrors: [`+first.host+`/none, `+second.host+`/mirror]
`)
	mirrors, err := LoadMirrors(MirrorOptions{RegistriesConf: writeFile(t, filepath.Join(t.TempDir(), "r.conf"), ""),
		Files: []string{objects}})
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	opts := testOptions(t)
	opts.Mirrors, opts.Log = mirrors, slog.New(slog.NewTextHandler(&logged, nil))
	opened := mustOpen(t, "quay.invalid/org/image@"+digest, opts)
	fsys, err := opened.Files(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, fsys, filesOf("a=1"))
	if want := "at=" + second.host + "/mirror/image@" + digest; !strings.Contains(logged.String(), want) {
		t.Errorf("the log does not say %q:\n%s", want, logged.String())
	}
	for what := range first.forget() {
		if strings.Contains(what, "/blobs/") {
			t.Errorf("a mirror that does not have the image was asked for %s", what)
		}
	}

	_, err = Open(t.Context(), "quay.invalid/org/other@"+digest, opts)
	for _, want := range []string{"mirror " + first.host + "/none/other", "mirror " + second.host + "/mirror/other",
		"registry quay.invalid/org/other", "all registries and mirrors failed"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if errors.Is(err, ErrNotFound) {
		t.Errorf("%v wraps ErrNotFound, though the registry itself was not reached", err)
	}
}

func TestDigest(t *testing.T) {
	registry := newRegistry(t)
	img := imageOf(t, nil, tarOf(t, "a=1"))
	ref := registry.push(t, "org/image:v1", img)
	registry.forget()
	opener := NewOpener(testOptions(t))
	defer opener.Close()
	if got, err := opener.Digest(t.Context(), ref); err != nil || got != digestOf(t, img) {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := opener.Digest(t.Context(), registry.host+"/org/image:v2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	for what := range registry.forget() {
		if strings.HasPrefix(what, "GET") && what != "GET /v2/" {
			t.Errorf("asked for %s", what)
		}
	}
	registry.intercept(func(_ http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodHead })
	if got, err := opener.Digest(t.Context(), ref); err != nil || got != digestOf(t, img) {
		t.Errorf("got %s, %v from a registry that does not tell it", got, err)
	}
}

// TestFailedPings checks that a registry that does not say how to log in is not contacted for each of many images: those
// that wait share a failure, and after a few failures the registry is given up.
func TestFailedPings(t *testing.T) {
	goAway := errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR")
	for name, answer := range map[string]func() (*http.Response, error){
		"silent":  func() (*http.Response, error) { return nil, &net.DNSError{Name: "craft.example"} },
		"GOAWAY":  func() (*http.Response, error) { return nil, goAway },
		"cut":     func() (*http.Response, error) { return nil, io.EOF },
		"strange": func() (*http.Response, error) { return nil, errors.New("strange") },
		"fails": func() (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Header: http.Header{}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := map[string]int{}
				var mu sync.Mutex
				opts := testOptions(t)
				opts.Insecure = false
				opts.Transport = newRetryTransport(roundTripFunc(func(r *http.Request) (*http.Response, error) {
					mu.Lock()
					asked[r.URL.Host]++
					mu.Unlock()
					time.Sleep(time.Second)
					return answer()
				}), logger(nil))
				opener := NewOpener(opts)
				defer opener.Close()
				open := func(host string, n int) {
					_, err := opener.Open(t.Context(), fmt.Sprintf("%s/org/image%d:v1", host, n))
					if err == nil || errors.Is(err, context.Canceled) {
						t.Errorf("%s: got %v", host, err)
					}
				}
				open("other.example", 0)
				single := asked["other.example"] // with its retries
				begun := time.Now()
				var images sync.WaitGroup
				for n := range 20 {
					images.Go(func() { open("craft.example", n) })
				}
				synctest.Wait()
				gone, cancel := context.WithCancel(t.Context())
				images.Go(func() {
					if _, err := opener.Open(gone, "craft.example/org/gone:v1"); !errors.Is(err, context.Canceled) {
						t.Errorf("got %v for a canceled call", err)
					}
				})
				synctest.Wait()
				cancel()
				images.Wait()
				if asked["craft.example"] != single {
					t.Errorf("asked %d times for images that were opened at once, want %d", asked["craft.example"], single)
				}
				for n := range 50 {
					open("craft.example", n)
				}
				if asked["craft.example"] != maxPings*single {
					t.Errorf("asked %d times, want %d", asked["craft.example"], maxPings*single)
				}
				if took := time.Since(begun); took > maxPings*retryAttempts*3*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestPingGoesOn checks that an image that waits for the ping of another one is opened if the context of that one ends,
// and that a registry that fails once is asked again.
func TestPingGoesOn(t *testing.T) {
	registry := newRegistry(t)
	ref := registry.push(t, "org/image:v1", imageOf(t, nil, tarOf(t, "a=1")))
	opener := NewOpener(testOptions(t))
	defer opener.Close()
	var n atomic.Int32
	asked := make(chan struct{})
	registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v2/" {
			return false
		}
		switch n.Add(1) {
		case 1:
			close(asked)
			<-r.Context().Done()
		case 2:
			w.WriteHeader(http.StatusTeapot)
		default:
			return false
		}
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	var images sync.WaitGroup
	images.Go(func() {
		if _, err := opener.Open(ctx, ref); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v for a canceled call", err)
		}
	})
	<-asked
	images.Go(func() {
		if _, err := opener.Open(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "418") {
			t.Errorf("got %v", err)
		}
		img, err := opener.Open(t.Context(), ref)
		if err != nil {
			t.Error(err)
			return
		}
		img.Close()
	})
	cancel()
	images.Wait()
}

// TestEndlessPing checks that the response to a ping is bounded.
func TestEndlessPing(t *testing.T) {
	registry := newRegistry(t)
	ref := registry.push(t, "org/image:v1", imageOf(t, nil, tarOf(t, "a=1")))
	registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v2/" {
			return false
		}
		for block := make([]byte, 1<<20); r.Context().Err() == nil; {
			_, _ = w.Write(block) // the client hangs up
		}
		return true
	})
	mustOpen(t, ref, testOptions(t))
}

// TestCanceledDownload checks that a canceled download leaves nothing in the cache.
func TestCanceledDownload(t *testing.T) {
	registry := newRegistry(t)
	img := imageOf(t, nil, tarOf(t, "a="+strings.Repeat("x", 1000)))
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	layer := digestOf(t, layers[0])
	ref := registry.push(t, "org/image:v1", img)
	ctx, cancel := context.WithCancel(t.Context())
	registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, layer) {
			return false
		}
		_, _ = io.WriteString(w, "a part")
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
		return true
	})
	opts, dir := testOptions(t), t.TempDir()
	opts.Cache = OpenCache(dir, CacheOptions{})
	if _, err := mustOpen(t, ref, opts).Files(ctx, "/"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := opts.Cache.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "tmp")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestDockerZstd opens a layer with buildkit's media type for zstd.
func TestDockerZstd(t *testing.T) {
	data := tarOf(t, "a=1")
	img := withLayers(t, nil, mutate.Addendum{Layer: packedLayer{static.NewLayer(zstdOf(t, data), dockerZstd), data}})
	registry := newRegistry(t)
	fsys, err := mustOpen(t, registry.push(t, "org/image:v1", img), testOptions(t)).Files(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, fsys, filesOf("a=1"))
}

// TestBlobAsManifest opens a cached layer as if it were an image.
func TestBlobAsManifest(t *testing.T) {
	registry := newRegistry(t)
	noise := make([]byte, 5<<20)
	for n := range noise {
		noise[n] = byte(n * n >> 7)
	}
	layer := tarOf(t, "a="+string(noise))
	img := imageOf(t, nil, tarOf(t, "x=1"), layer)
	ref := registry.push(t, "org/image:v1", img)
	opts := testOptions(t)
	opts.Cache = OpenCache(t.TempDir(), CacheOptions{})
	if _, err := mustOpen(t, ref, opts).Files(t.Context(), "/"); err != nil {
		t.Fatal(err)
	}
	h, _, err := v1.SHA256(bytes.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), registry.host+"/org/image@"+h.String(), opts); !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
}

// TestNowhereToWrite opens an image without a home directory, a directory for temporary files, or a cache.
func TestNowhereToWrite(t *testing.T) {
	registry := newRegistry(t)
	noise := strings.Repeat("0123456789abcdefghij", 1<<18) // 5 MB, more than is kept in memory uncompressed
	ref := registry.push(t, "org/image:v1", imageOf(t, nil, tarOf(t, "x=1"), tarOf(t, "a="+noise)))
	file := writeFile(t, filepath.Join(t.TempDir(), "file"), "")
	t.Setenv("TMPDIR", file)
	t.Setenv("HOME", "")
	os.Unsetenv("HOME")
	var logged bytes.Buffer
	opts := testOptions(t)
	opts.Cache = OpenCache(filepath.Join(file, "cache"), CacheOptions{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	fsys, err := mustOpen(t, ref, opts).Files(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, fsys, filesOf("x=1", "a="+noise))
	if n := strings.Count(logged.String(), "cannot write the image cache"); n != 1 {
		t.Errorf("the log says %d times that there is no cache:\n%s", n, logged.String())
	}
	if err := opts.Cache.Close(); err != nil {
		t.Error(err)
	}
}
