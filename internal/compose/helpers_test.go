package compose_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/opm-toolchain/opm/internal/compose"
	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

// packages returns a valid catalog with the named packages. Each has one bundle of the version.
func packages(version string, names ...string) string {
	var text strings.Builder
	for _, name := range names {
		text.WriteString(graphtest.YAML(name, version))
	}
	return text.String()
}

// A world is a directory with a config file, and a registry that counts requests.
type world struct {
	t    *testing.T
	dir  string
	host string
	opts compose.Options

	mu       sync.Mutex
	requests []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	reg := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		w.mu.Lock()
		w.requests = append(w.requests, in.Method+" "+in.URL.Path)
		w.mu.Unlock()
		reg.ServeHTTP(out, in)
	}))
	t.Cleanup(server.Close)
	w.host = strings.TrimPrefix(server.URL, "http://")
	w.opts = compose.Options{BaseImage: "opm", BuilderImage: "opm", Render: render.Options{
		Images: func() (*image.Opener, error) {
			opener := image.NewOpener(image.Options{Insecure: true, Platform: "linux/amd64"})
			t.Cleanup(func() { opener.Close() })
			return opener, nil
		},
	}}
	return w
}

// push pushes an image of a catalog as HOST/REF.
func (w *world) push(ref, catalog string) {
	w.t.Helper()
	img, err := image.Build(image.BuildOptions{
		Contents: []image.Content{{
			Source: fstest.MapFS{"catalog.yaml": &fstest.MapFile{Data: []byte(catalog), Mode: 0o644}}, Target: "configs",
		}},
		Labels: map[string]string{image.LabelConfigs: "/configs"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	tag, err := name.NewTag(w.host + "/" + ref)
	if err == nil {
		err = remote.Write(tag, img)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// write writes a file.
func (w *world) write(file, content string) {
	w.t.Helper()
	file = filepath.Join(w.dir, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(content), 0o666)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(file string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, file))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// compose composes the catalog "c" from references, given as alternating names and images.
func (w *world) compose(references ...string) (*compose.Result, error) {
	w.t.Helper()
	text := "name: c\nreferences:\n"
	for pair := range slices.Chunk(references, 2) {
		text += fmt.Sprintf("- {name: %s, image: %q}\n", pair[0], pair[1])
	}
	config, err := compose.ParseConfig(filepath.Join(w.dir, "c.yaml"), []byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.requests = nil
	w.mu.Unlock()
	return compose.Run(context.Background(), config, w.opts)
}

// want checks the statuses of the references, such as "a rendered, b unchanged".
func (w *world) want(statuses string, r *compose.Result, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, f := range r.References {
		got = append(got, f.Name+" "+string(f.Status))
	}
	if got := strings.Join(got, ", "); got != statuses {
		w.t.Errorf("the statuses are %q, want %q", got, statuses)
	}
	for _, f := range r.References {
		if _, err := os.Stat(filepath.Join(w.dir, "c", f.Name)); (err == nil) == (f.Status == compose.Removed) {
			w.t.Errorf("%s is %s: %v", f.Name, f.Status, err)
		}
	}
	w.clean()
}

// clean checks that no temporary files are left.
func (w *world) clean() {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, _ os.DirEntry, err error) error {
		if base := filepath.Base(path); path != w.dir && strings.HasPrefix(base, ".") {
			w.t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}
