package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// mapOf returns a file system with entries such as "dir/file=content", all with the same time and mode.
func mapOf(modified time.Time, mode fs.FileMode, entries ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, body := range filesOf(entries...) {
		fsys[name] = &fstest.MapFile{Data: []byte(body), ModTime: modified, Mode: mode}
	}
	return fsys
}

// bundleOptions returns the options to build a small bundle image.
func bundleOptions(modified time.Time, mode fs.FileMode) BuildOptions {
	fsys := mapOf(modified, mode, "bundle/manifests/csv.yaml=kind: x", "bundle/manifests/a/deep/crd.yaml=y",
		"bundle/metadata/annotations.yaml=annotations: {}")
	return BuildOptions{
		Labels:   map[string]string{LabelPackage: "p", LabelManifests: "manifests/"},
		Platform: "linux/arm/v7",
		Contents: []Content{
			{Source: fsys, Dir: "bundle/manifests", Target: "/manifests/"},
			{Source: fsys, Dir: "bundle/metadata", Target: "opt/metadata"},
		},
	}
}

func mustBuild(t testing.TB, o BuildOptions) v1.Image {
	t.Helper()
	img, err := Build(o)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// headers returns the tar headers of a layer in short form.
func headers(t testing.TB, l v1.Layer) []string {
	t.Helper()
	r, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var found []string
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("%s %o %d:%d %d %d", h.Name, h.Mode, h.Uid, h.Gid, h.Size, h.ModTime.Unix()))
	}
}

func TestBuild(t *testing.T) {
	o := bundleOptions(time.Now(), 0o600)
	o.Created = time.Unix(1_700_000_000, 5)
	img := mustBuild(t, o)
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != "arm" || config.Variant != "v7" ||
		config.Created.Unix() != 1_700_000_000 || config.Config.Labels[LabelPackage] != "p" {
		t.Errorf("got config %+v", config)
	}
	if len(config.History) != 2 || config.History[0].CreatedBy != "COPY bundle/manifests /manifests" {
		t.Errorf("got history %+v", config.History)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if m.MediaType != types.OCIManifestSchema1 || m.Config.MediaType != types.OCIConfigJSON ||
		m.Layers[0].MediaType != types.OCILayer {
		t.Errorf("got media types %s, %s, %s", m.MediaType, m.Config.MediaType, m.Layers[0].MediaType)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range [][]string{
		{
			"manifests/ 755 0:0 0 1700000000", "manifests/a/ 755 0:0 0 1700000000",
			"manifests/a/deep/ 755 0:0 0 1700000000", "manifests/a/deep/crd.yaml 644 0:0 1 1700000000",
			"manifests/csv.yaml 644 0:0 7 1700000000",
		},
		{
			"opt/ 755 0:0 0 1700000000", "opt/metadata/ 755 0:0 0 1700000000",
			"opt/metadata/annotations.yaml 644 0:0 15 1700000000",
		},
	} {
		if got := headers(t, layers[n]); !slices.Equal(got, want) {
			t.Errorf("layer %d: got  %q\nwant %q", n, got, want)
		}
	}
}

// TestBuildIsReproducible has a fixed digest: if it changes, so do the digests of all images that users build.
func TestBuildIsReproducible(t *testing.T) {
	const want = "sha256:7ba793ff3fbf4319ac987d3acc0c645c436752c3dd9cd04539c0cd663cef7eb5"
	first := digestOf(t, mustBuild(t, bundleOptions(time.Now(), 0o600)))
	if second := digestOf(t, mustBuild(t, bundleOptions(time.Unix(1e9, 0), 0o755))); first != second || first != want {
		t.Errorf("got %s and %s, want %s", first, second, want)
	}
	o := bundleOptions(time.Now(), 0o600)
	o.Created = time.Unix(1, 0)
	if digestOf(t, mustBuild(t, o)) == first {
		t.Error("another time gives the same image")
	}
}

func TestBuildOfDirectory(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "catalog.yaml"), "schema: x")
	img := mustBuild(t, BuildOptions{Contents: []Content{{Source: os.DirFS(dir)}}})
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if got := headers(t, layers[0]); !slices.Equal(got, []string{"catalog.yaml 644 0:0 9 0"}) {
		t.Errorf("got %q", got)
	}

	// The target of a link may be anything.
	for _, link := range []string{"link", "dir/link"} {
		path := filepath.Join(dir, link)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink("/etc", path)); err != nil {
			t.Fatal(err)
		}
		_, err := Build(BuildOptions{Contents: []Content{{Source: os.DirFS(dir)}}})
		if err == nil || err.Error() != "build image: "+link+": it is a symbolic link; replace it by its target" {
			t.Errorf("got %v", err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("dir", filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	if _, err = Build(BuildOptions{Contents: []Content{{Source: os.DirFS(dir), Dir: "d", Target: "x"}}}); err == nil ||
		!strings.Contains(err.Error(), "d: it is a symbolic link") {
		t.Errorf("got %v for a link to a directory", err)
	}
}

func TestBuildErrors(t *testing.T) {
	fsys := mapOf(time.Time{}, 0o644, "a/b=1", "w/.wh.x=1")
	fsys["d/null"] = &fstest.MapFile{Mode: fs.ModeDevice | 0o644}
	for _, tt := range []struct {
		name    string
		content Content
		want    string
	}{
		{"missing", Content{Source: fsys, Dir: "none", Target: "x"}, "lstat none: file does not exist"},
		{"file", Content{Source: fsys, Dir: "a/b", Target: "x"}, "a/b: not a directory"},
		{"device", Content{Source: fsys, Dir: "d", Target: "x"}, "d/null: neither a file nor a directory"},
		{"whiteout", Content{Source: fsys, Dir: "w", Target: "x"}, "w/.wh.x: in an image, a name that begins with .wh. hides other files"},
		{"whiteout of all", Content{Source: fsys, Dir: "a", Target: "x/.wh.y"}, "a: in an image, a name that begins with .wh."},
		{"target outside", Content{Source: fsys, Dir: "a", Target: "../x"}, `target "../x": it leads out of the root directory`},
		{"shrinks", Content{Source: sizeFS{fsys, 5}, Dir: "a", Target: "x"}, "a/b: it changed while it was read"},
		{"grows", Content{Source: sizeFS{fsys, 0}, Dir: "a", Target: "x"}, "a/b: it changed while it was read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Build(BuildOptions{Contents: []Content{tt.content}})
			if err == nil || !strings.HasPrefix(err.Error(), "build image: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := Build(BuildOptions{Platform: "arm64"}); err == nil || !strings.Contains(err.Error(), "want os/arch") {
		t.Errorf("got %v for a bad platform", err)
	}
}

// A sizeFS reports the same size for all files, whatever their content.
type sizeFS struct {
	fs.FS
	size int64
}

func (f sizeFS) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(f.FS, name)
	return sizeInfo{info, f.size}, err
}

type sizeInfo struct {
	fs.FileInfo
	size int64
}

func (i sizeInfo) Size() int64 { return i.size }
