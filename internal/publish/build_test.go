package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// catalog returns a catalog of 102 packages, a hundred of them in directories of their own, with files of all other
// kinds.
func catalog() map[string]string {
	files := map[string]string{
		"README.md": "# Ours\n", ".indexignore": "*.md\n", "two/catalog.yaml": graphtest.YAML("a", "1.0.0") + graphtest.YAML("b", "1.0.0"),
	}
	for i := range 100 {
		name := fmt.Sprintf("pkg-%d", i)
		files[name+"/catalog.yaml"] = graphtest.YAML(name, "1.0.0")
	}
	return files
}

func source(files map[string]string) declcfg.Source {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return declcfg.Source{Name: "catalog", FS: fsys}
}

// fakeBinary returns a Binary without the checks of OpenBinary.
func fakeBinary(text string) *Binary {
	return &Binary{file: readerAt{strings.NewReader(text)}, size: int64(len(text))}
}

type readerAt struct{ *strings.Reader }

func (readerAt) Close() error { return nil }

func options(platforms ...string) Options {
	o := Options{Labels: map[string]string{"vendor": "Pottery"}, Annotations: map[string]string{"note": "x"}}
	for _, p := range platforms {
		o.Platforms = append(o.Platforms, Platform{Name: p, Binary: fakeBinary("opm for " + p)})
	}
	return o
}

func build(t *testing.T, s declcfg.Source, o Options) *Image {
	t.Helper()
	built, err := Build(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := built.Close(); err != nil {
			t.Error(err)
		}
	})
	return built
}

// opened writes an image to a layout and opens it for a platform.
func opened(t *testing.T, built *Image, platform string) *image.Image {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	if err := image.WriteLayout(built.Artifact, dir, ""); err != nil {
		t.Fatal(err)
	}
	img, err := image.Open(t.Context(), "oci:"+dir, image.Options{Platform: platform})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	return img
}

func files(t *testing.T, img *image.Image, dir string) fs.FS {
	t.Helper()
	fsys, err := img.Files(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

// TestBuild checks that every platform has the whole catalog and a store that opm accepts for the catalog.
func TestBuild(t *testing.T) {
	want := catalog()
	built := build(t, source(want), options("linux/amd64", "linux/arm64"))
	if built.Summary.Packages != 102 {
		t.Errorf("got %d packages", built.Summary.Packages)
	}
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		img := opened(t, built, platform)
		if img.Labels[image.LabelConfigs] != "/configs" || img.Labels["vendor"] != "Pottery" || img.Platform != platform {
			t.Errorf("got %s with labels %v", img.Platform, img.Labels)
		}
		configs := files(t, img, "/configs")
		got := map[string]string{}
		err := fs.WalkDir(configs, ".", func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				var text []byte
				text, err = fs.ReadFile(configs, name)
				got[name] = string(text)
			}
			return err
		})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: got %d files, %v, want %d", platform, len(got), err, len(want))
		}
		root := files(t, img, "/")
		if text, err := fs.ReadFile(root, "bin/opm"); err != nil || string(text) != "opm for "+platform {
			t.Errorf("got program %q, %v", text, err)
		}
		wantStore(t, root, configs)
	}
}

// wantStore fails the test if the image has no store of the catalog.
func wantStore(t *testing.T, root, configs fs.FS) {
	t.Helper()
	key, err := store.KeyOf(t.Context(), declcfg.Source{Name: "configs", FS: configs})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), store.FileName(""))
	text, err := fs.ReadFile(root, "tmp/cache/"+store.FileName(""))
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(file, key)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// TestReproducible builds one catalog from two directories with different file modes, times and orders.
func TestReproducible(t *testing.T) {
	write := func(mode fs.FileMode, modified time.Time) string {
		dir := filepath.Join(t.TempDir(), modified.Format("x05"))
		for name, text := range catalog() {
			file := filepath.Join(dir, name)
			err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700|mode), os.WriteFile(file, []byte(text), mode),
				os.Chtimes(file, modified, modified))
			if err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	one, two := write(0o600, time.Unix(1, 0)), write(0o755, time.Now())
	o := options("linux/amd64")
	a := build(t, declcfg.Source{Name: one, FS: os.DirFS(one)}, o)
	b := build(t, declcfg.Source{Name: two + "/", FS: os.DirFS(two)}, o)
	if a.Summary.Digest != b.Summary.Digest {
		t.Errorf("got %s and %s", a.Summary.Digest, b.Summary.Digest)
	}
	o.Created = time.Unix(1, 0)
	if c := build(t, declcfg.Source{Name: one, FS: os.DirFS(one)}, o); c.Summary.Digest == a.Summary.Digest {
		t.Error("the time has no part in the digest")
	}
}

// layers returns the digests of the layers with this content.
func layers(built *Image, content string) (digests []string) {
	for _, l := range built.Summary.Images[0].Layers {
		if l.Content == content {
			digests = append(digests, l.Digest)
		}
	}
	return digests
}

// TestUpdateIsSmall checks that an updated package changes one layer of the catalog, and so does a new package.
func TestUpdateIsSmall(t *testing.T) {
	old := build(t, source(catalog()), options("linux/amd64"))
	if n := len(layers(old, "catalog")); n < maxCatalogLayers/2 || n > maxCatalogLayers {
		t.Errorf("a hundred packages are in %d layers", n)
	}
	for _, change := range []string{"pkg-7", "pkg-new"} {
		changed := catalog()
		changed[change+"/catalog.yaml"] = graphtest.YAML(change, "2.0.0")
		updated := layers(build(t, source(changed), options("linux/amd64")), "catalog")
		moved := slices.DeleteFunc(updated, func(d string) bool { return slices.Contains(layers(old, "catalog"), d) })
		if len(moved) != 1 {
			t.Errorf("%s: %d layers changed", change, len(moved))
		}
	}
}

// TestSplit checks that the files of a package are in one layer, whatever their directories.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	text := catalog()
	first, second, _ := strings.Cut(strings.TrimPrefix(graphtest.YAML("scattered", "1.0.0"), "---\n"), "---\n")
	text["x/package.yaml"], text["y.yaml"] = first, second
	for name, text := range text {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "empty/inner"), 0o777); err != nil {
		t.Fatal(err)
	}
	s := declcfg.Source{Name: dir, FS: os.DirFS(dir)}
	index, err := declcfg.ReadIndex(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := split(s, index)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for n, names := range parts {
		for _, name := range names {
			of[name] = n
		}
	}
	if of["x/package.yaml"] != of["y.yaml"] {
		t.Error("a package is in two layers")
	}
	if _, ok := of["empty/inner"]; !ok {
		t.Error("an empty directory is missing")
	}
	if len(of) != len(text)+1 {
		t.Errorf("%d names are in layers, of %d", len(of), len(text)+1)
	}
}

// TestEmpty checks that the image of an empty catalog has the catalog and its store.
func TestEmpty(t *testing.T) {
	dir := t.TempDir()
	built := build(t, declcfg.Source{Name: dir, FS: os.DirFS(dir)}, options("linux/amd64"))
	img := opened(t, built, "linux/amd64")
	wantStore(t, files(t, img, "/"), files(t, img, "/configs"))
	if img.Labels[image.LabelConfigs] != "/configs" || built.Summary.Packages != 0 {
		t.Errorf("got labels %v, %d packages", img.Labels, built.Summary.Packages)
	}
}

func TestBuildErrors(t *testing.T) {
	broken := catalog()
	broken["pkg-1/catalog.yaml"] = strings.Replace(graphtest.YAML("pkg-1", "1.0.0"), "defaultChannel: stable", "defaultChannel: x", 1)
	_, err := Build(t.Context(), source(broken), options("linux/amd64"))
	if invalid, ok := errors.AsType[*InvalidError](err); !ok || len(invalid.Report.Problems) != 1 {
		t.Errorf("got %v", err)
	}
	changed := catalog()
	changed["pkg-3/catalog.yaml"] = graphtest.YAML("pkg-3", "3.0.0")
	for after := range int32(4) {
		s := source(catalog())
		s.FS = &changingFS{FS: s.FS, changed: source(changed).FS, after: after + 1}
		if _, err = Build(t.Context(), s, options("linux/amd64")); !errors.Is(err, store.ErrChanged) {
			t.Errorf("got %v for a catalog that changes after reading it %d times", err, after+1)
		}
	}
}

// A changingFS switches to another file system after one of its files was opened a number of times.
type changingFS struct {
	fs.FS
	changed fs.FS
	after   int32
	opened  atomic.Int32
}

func (f *changingFS) Open(name string) (fs.File, error) {
	if name == "pkg-3/catalog.yaml" && f.opened.Add(1) > f.after {
		return f.changed.Open(name)
	}
	return f.FS.Open(name)
}

func (f *changingFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

func TestBuildOpm(t *testing.T) {
	built, err := BuildOpm(t.Context(), options("linux/amd64"))
	if err != nil {
		t.Fatal(err)
	}
	defer built.Close()
	root := files(t, opened(t, built, "linux/amd64"), "/")
	var got []string
	err = fs.WalkDir(root, ".", func(name string, e fs.DirEntry, _ error) error {
		info, err := e.Info()
		got = append(got, fmt.Sprint(info.Mode(), " ", name))
		return err
	})
	want := []string{
		"drwxr-xr-x .", "drwxr-xr-x bin", "-rwxr-xr-x bin/opm", "drwxr-xr-x etc", "-rw-r--r-- etc/nsswitch.conf",
		"drwxr-xr-x etc/ssl", "drwxr-xr-x etc/ssl/certs", "-rw-r--r-- etc/ssl/certs/ca-certificates.crt",
		"drwxrwxrwx tmp",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got  %q, %v\nwant %q", got, err, want)
	}
}

// A countingFile counts the reads of its beginning.
type countingFile struct {
	readerAt
	begun int
}

func (f *countingFile) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		f.begun++
	}
	return f.readerAt.ReadAt(p, off)
}

// TestPackOnce checks that a program is packed once for several images, but not for those of another time, and that an
// image can be closed before the others are read.
func TestPackOnce(t *testing.T) {
	o := options("linux/amd64")
	file := &countingFile{readerAt: readerAt{strings.NewReader("program")}}
	binary := &Binary{file: file, size: int64(len("program"))}
	o.Platforms[0].Binary = binary
	first, err := Build(t.Context(), source(catalog()), o)
	if err != nil {
		t.Fatal(err)
	}
	want := layers(first, "opm")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := build(t, source(catalog()), o)
	if got := layers(second, "opm"); !slices.Equal(got, want) || file.begun != 1 {
		t.Errorf("layers %s, want %s; the program is read %d times, want 1", got, want, file.begun)
	}
	text, err := fs.ReadFile(files(t, opened(t, second, "linux/amd64"), "/bin"), "opm")
	if string(text) != "program" {
		t.Errorf("/bin/opm is %q, %v", text, err)
	}
	o.Created = o.Created.AddDate(1, 0, 0)
	if got := layers(build(t, source(catalog()), o), "opm"); slices.Equal(got, want) {
		t.Error("another time has the same layer")
	}
	if err := binary.Close(); err != nil {
		t.Error(err)
	}
}
