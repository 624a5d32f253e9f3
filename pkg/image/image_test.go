package image

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/opm-toolchain/opm/internal/testing/tartest"
)

// Helpers for archives with entries such as "dir/file=content", and for the contents of file systems.
var (
	tarOf     = tartest.Tar
	gzipOf    = tartest.Gzip
	zstdOf    = tartest.Zstd
	contents  = tartest.Contents
	wantFiles = tartest.WantFiles
	filesOf   = tartest.Files
)

// imageOf returns an image with these tar archives as layers, compressed with gzip, not at all, and with zstd in
// turn.
func imageOf(t testing.TB, labels map[string]string, layers ...[]byte) v1.Image {
	t.Helper()
	var adds []mutate.Addendum
	for n, data := range layers {
		switch n % 3 {
		case 0:
			adds = append(adds, mutate.Addendum{Layer: packedLayer{static.NewLayer(gzipOf(t, data), types.OCILayer), data}})
		case 1:
			adds = append(adds, mutate.Addendum{Layer: packedLayer{static.NewLayer(data, types.OCIUncompressedLayer), data}})
		case 2:
			adds = append(adds, mutate.Addendum{Layer: packedLayer{static.NewLayer(zstdOf(t, data), types.OCILayerZStd), data}})
		}
	}
	return withLayers(t, labels, adds...)
}

// A packedLayer is a compressed layer with the digest of its uncompressed archive.
type packedLayer struct {
	v1.Layer
	plain []byte
}

func (l packedLayer) DiffID() (v1.Hash, error) {
	h, _, err := v1.SHA256(bytes.NewReader(l.plain))
	return h, err
}

func (l packedLayer) Uncompressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.plain)), nil
}

func withLayers(t testing.TB, labels map[string]string, adds ...mutate.Addendum) v1.Image {
	t.Helper()
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.ConfigFile(base, &v1.ConfigFile{OS: "linux", Architecture: "amd64",
		Config: v1.Config{Labels: labels}})
	if err != nil {
		t.Fatal(err)
	}
	if img, err = mutate.Append(img, adds...); err != nil {
		t.Fatal(err)
	}
	return img
}

// A testRegistry counts its requests.
type testRegistry struct {
	*httptest.Server
	host string

	mu    sync.Mutex
	asked map[string]int // by method and path
	hook  func(w http.ResponseWriter, r *http.Request) bool
}

// newRegistry starts a registry in memory.
func newRegistry(t testing.TB) *testRegistry {
	t.Helper()
	r := &testRegistry{asked: map[string]int{}}
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.asked[req.Method+" "+req.URL.Path]++
		hook := r.hook
		r.mu.Unlock()
		if hook == nil || !hook(w, req) {
			inner.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(r.Server.Close)
	r.host = strings.TrimPrefix(r.URL, "http://")
	return r
}

// intercept calls hook for every request. If hook returns true, it has answered the request.
func (r *testRegistry) intercept(hook func(w http.ResponseWriter, r *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = hook
}

// forget returns the request counts and resets them.
func (r *testRegistry) forget() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = map[string]int{}
	return asked
}

// push stores an image and returns its reference by tag.
func (r *testRegistry) push(t testing.TB, repository string, img v1.Image) string {
	t.Helper()
	ref, err := name.ParseReference(r.host + "/" + repository)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	return ref.Name()
}

// testOptions returns options for tests with a local registry.
func testOptions(t testing.TB) Options {
	t.Helper()
	transport, err := NewTransport(TransportOptions{Insecure: true, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup((&http.Client{Transport: transport}).CloseIdleConnections)
	return Options{Transport: transport, Insecure: true, IgnorePolicy: true, Platform: "linux/amd64"}
}

func mustOpen(t testing.TB, ref string, opts Options) *Image {
	t.Helper()
	img, err := Open(t.Context(), ref, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	})
	return img
}

func digestOf(t testing.TB, img interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	h, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return h.String()
}

func TestKind(t *testing.T) {
	tests := []struct {
		name   string
		labels map[string]string
		kind   Kind
		value  string
		err    string
	}{
		{"catalog", map[string]string{LabelConfigs: "/configs", LabelPackage: "p"}, Catalog, "/configs", ""},
		{"bundle", map[string]string{LabelPackage: "p", LabelDatabase: "/db"}, Bundle, "p", ""},
		{"empty catalog label", map[string]string{LabelConfigs: ""}, Catalog, "", ""},
		{"sqlite", map[string]string{LabelDatabase: "/index.db"}, Unknown, "",
			`image x: image type could not be determined: neither a file-based catalog nor a bundle: it is a catalog in SQLite (label ` + LabelDatabase +
				`=/index.db), and this opm is for file-based catalogs only; upstream's opm, up to v1.73.0, converts it: opm migrate`},
		{"none", nil, Unknown, "", "image x: image type could not be determined: neither a file-based catalog nor a bundle: it has no labels"},
		{"others", map[string]string{"b": "2", "a": "1\x1b[31m"}, Unknown, "",
			"image x: image type could not be determined: neither a file-based catalog nor a bundle: its labels are a=1\\x1b[31m, b=2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kind, value, err := (&Image{Ref: "x", Labels: tt.labels}).Kind()
			text := ""
			if err != nil {
				text = err.Error()
			}
			if kind != tt.kind || value != tt.value || text != tt.err {
				t.Errorf("got %v, %q, %q", kind, value, text)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	img := imageOf(t, nil, tarOf(t, "c/a=1", "c/b=1", "x/l->/c/a", "bad/device%"), tarOf(t, "c/.wh.b=", "c/d=2"))
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	ref := newRegistry(t).push(t, "org/image:v1", img)
	opts := testOptions(t)
	opened := mustOpen(t, ref, opts)
	for _, tt := range []struct {
		dir   string
		names []string
		want  []string
	}{
		{"c", nil, []string{"a=1", "d=2"}},
		{"/c/", []string{"d", "e"}, []string{"d=2"}},
		{"/", []string{"x"}, []string{"x/l=1"}},
	} {
		fsys, err := opened.Files(t.Context(), tt.dir, tt.names...)
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, fsys, filesOf(tt.want...))
	}

	prefix := "read image " + ref + ": "
	_, err = opened.Files(t.Context(), "bad")
	if want := prefix + "layer " + digestOf(t, layers[0]) + `: entry "bad/device": `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
	if _, err = opened.Files(t.Context(), "/y"); !errors.Is(err, fs.ErrNotExist) || err.Error() != prefix+"open /y: file does not exist" {
		t.Errorf("got error %v", err)
	}
	for _, limits := range []Limits{{Files: 2}, {Unpacked: 4000}} {
		opts.Limits = limits
		if _, err := mustOpen(t, ref, opts).Files(t.Context(), "c"); !errors.Is(err, ErrLimit) {
			t.Errorf("%+v: got error %v", limits, err)
		}
	}
}

// TestClosedImage checks that closing an image closes its files.
func TestClosedImage(t *testing.T) {
	img := mustOpen(t, newRegistry(t).push(t, "org/image:v1", imageOf(t, nil, tarOf(t, "c/a=1"))), testOptions(t))
	fsys, err := img.Files(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if err := img.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(fsys, "a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v, want an error that wraps fs.ErrClosed", err)
	}
}
