package image

import (
	"archive/tar"
	"bytes"
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
	"github.com/google/go-containerregistry/pkg/v1/mutate"
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
		Labels:   map[string]string{LabelPackage: "p", "operators.operatorframework.io.bundle.manifests.v1": "manifests/"},
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

// TestBuildIsReproducible checks that the digest of an image does not change from release to release: otherwise the
// digests of all images that users build would change.
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

// TestBuildOnBase builds on an image with Docker media types, and pushes the result to another repository.
func TestBuildOnBase(t *testing.T) {
	registry := newRegistry(t)
	below := mutate.MediaType(mustBuild(t, BuildOptions{
		Platform: "linux/arm64", Labels: map[string]string{"a": "base", "b": "base"}, User: "7", Entrypoint: []string{"/base"},
		Contents: []Content{{Source: mapOf(time.Time{}, 0o644, "bin/opm=program", "x=base")}},
	}), types.DockerManifestSchema2)
	base := mustOpen(t, registry.push(t, "org/base:v1", below), testOptions(t))
	built := mustBuild(t, BuildOptions{
		Base: base, Labels: map[string]string{"b": "catalog"}, Entrypoint: []string{"/bin/opm"}, Cmd: []string{"serve"},
		Contents: []Content{{Source: mapOf(time.Time{}, 0o644, "x=catalog")}},
	})
	ref := registry.host + "/other/catalog:v1"
	if _, err := Push(t.Context(), built, ref, testOptions(t)); err != nil {
		t.Fatal(err)
	}
	opened := mustOpen(t, ref, testOptions(t))
	fsys, err := opened.Files(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, fsys, filesOf("bin/opm=program", "x=catalog"))
	if opened.Platform != "linux/arm64" || opened.Labels["a"] != "base" || opened.Labels["b"] != "catalog" {
		t.Errorf("got %s with %v", opened.Platform, opened.Labels)
	}
	config, err := built.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; c.User != "7" || c.Entrypoint[0] != "/bin/opm" || c.Cmd[0] != "serve" {
		t.Errorf("got config %+v", c)
	}
	if len(config.History) != 2 || len(config.RootFS.DiffIDs) != 2 {
		t.Errorf("got history %+v, layers %v", config.History, config.RootFS.DiffIDs)
	}
	m, err := built.Manifest()
	if err != nil || m.MediaType != types.OCIManifestSchema1 {
		t.Errorf("got manifest %+v, %v", m, err)
	}
	config, err = mustBuild(t, BuildOptions{Base: base}).ConfigFile()
	if err != nil || config.Config.Entrypoint[0] != "/base" {
		t.Errorf("got config %+v, %v", config, err)
	}
}

// TestListedNames checks that layers of Files are fetched only for their files, also if they are of a base.
func TestListedNames(t *testing.T) {
	registry := newRegistry(t)
	program, err := Pack(t.Context(), Content{Files: []File{
		{Name: "bin", Mode: fs.ModeDir | 0o755},
		{Name: "bin/opm", Mode: 0o755, Size: 7, Content: strings.NewReader("program")},
	}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	below := mustBuild(t, BuildOptions{Layers: []*Layer{program}})
	built := mustBuild(t, BuildOptions{
		Base:     mustOpen(t, registry.push(t, "org/base:v1", below), testOptions(t)),
		Contents: []Content{{Source: mapOf(time.Time{}, 0o644, "configs/a=1")}},
	})
	img := mustOpen(t, registry.push(t, "org/catalog:v1", built), testOptions(t))
	for _, tt := range []struct {
		dir, file string
		fetched   int
	}{{"/configs", "a=1", 0}, {"/bin", "opm=program", 1}} {
		registry.forget()
		fsys, err := img.Files(t.Context(), tt.dir)
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, fsys, filesOf(tt.file))
		if n := registry.forget()["GET /v2/org/catalog/blobs/"+program.digest.String()]; n != tt.fetched {
			t.Errorf("%s: the layer was fetched %d times, want %d", tt.dir, n, tt.fetched)
		}
	}
	for _, text := range []string{"", "null", "{", `[1]`, `["../x"]`, `["x/.wh.configs"]`} {
		desc := v1.Descriptor{Annotations: map[string]string{annotationNames: text}}
		if names := listedNames(desc); names != nil {
			t.Errorf("%s: got %q", text, names)
		}
	}
}

func TestBuildLayerLimit(t *testing.T) {
	registry := newRegistry(t)
	contents := slices.Repeat([]Content{{Source: mapOf(time.Time{}, 0o644, "a=1")}}, maxLayers)
	base := mustOpen(t, registry.push(t, "org/base:v1", mustBuild(t, BuildOptions{Contents: contents})), testOptions(t))
	_, err := Build(BuildOptions{Base: base, Contents: contents[:1]})
	want := "it would have 128 layers, 127 of them those of its base; container runtimes mount at most 127"
	if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

// TestBuildLimits checks that Build refuses an image that Open would refuse.
func TestBuildLimits(t *testing.T) {
	contents := []Content{{Source: mapOf(time.Time{}, 0o644, "a="+strings.Repeat("a", 5000))}}
	for want, o := range map[string]BuildOptions{
		"it would unpack to more than 4 KB": {Contents: contents, Limits: Limits{Unpacked: 4 << 10}},
		"its manifest or configuration would have more than 1 KB: shorten labels": {
			Labels: map[string]string{"a": strings.Repeat("a", 5000)}, Limits: Limits{Manifest: 1 << 10},
		},
	} {
		if _, err := Build(o); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestCheckPlatform(t *testing.T) {
	img := &Image{Platform: "linux/arm64"}
	if err := errors.Join(img.CheckPlatform("linux/arm64"), img.CheckPlatform("linux/arm64/v8")); err != nil {
		t.Error(err)
	}
	if err := img.CheckPlatform("linux/s390x"); err == nil || err.Error() != "it is for linux/arm64, not for linux/s390x" {
		t.Errorf("got %v", err)
	}
}

// TestIndexWrittenEverywhere checks that each platform of an index can be opened from every kind of destination.
func TestIndexWrittenEverywhere(t *testing.T) {
	registry := newRegistry(t)
	images := map[string]mutate.Appendable{}
	for _, arch := range []string{"amd64", "s390x"} {
		images["linux/"+arch] = mustBuild(t, BuildOptions{
			Platform: "linux/" + arch, Contents: []Content{{Source: mapOf(time.Time{}, 0o644, "a="+arch)}},
		})
	}
	index := indexOf(t, images)
	dir := t.TempDir()
	byTag, layoutDir := registry.host+"/org/index:v1", filepath.Join(dir, "layout")
	if _, err := Push(t.Context(), index, byTag, testOptions(t)); err != nil {
		t.Fatal(err)
	}
	if err := WriteLayout(index, layoutDir, "v1"); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := WriteArchive(&archive, index, "v1"); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{byTag, "oci:" + layoutDir, writeFile(t, filepath.Join(dir, "a.tar"), archive.String())} {
		for _, arch := range []string{"amd64", "s390x"} {
			opts := testOptions(t)
			opts.Platform = "linux/" + arch
			img := mustOpen(t, ref, opts)
			fsys, err := img.Files(t.Context(), "/")
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, fsys, filesOf("a="+arch))
			if img.RefDigest != digestOf(t, index) {
				t.Errorf("%s: got the digest %s", ref, img.RefDigest)
			}
		}
	}
}

// TestPack checks the layers of a catalog: some files of a directory with their links, and files with modes.
func TestPack(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/b/c.yaml", "a/d.yaml", "e.yaml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, name)
	}
	if err := os.Symlink("../a/d.yaml", filepath.Join(dir, "a/link")); err != nil {
		t.Fatal(err)
	}
	c := Content{
		Source: os.DirFS(dir), Names: []string{"a/link", "a/b/c.yaml"}, Links: true, Target: "configs",
		Files: []File{
			{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
			{Name: "bin", Mode: 0o755, Size: 3, Content: strings.NewReader("opm")},
		},
	}
	l, err := Pack(t.Context(), c, time.Unix(5, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := []string{
		"tmp/ 1777 0:0 0 5", "bin 755 0:0 3 5", "configs/ 755 0:0 0 5", "configs/a/ 755 0:0 0 5",
		"configs/a/b/ 755 0:0 0 5", "configs/a/b/c.yaml 644 0:0 10 5", "configs/a/link 777 0:0 0 5",
	}
	if got := headers(t, l); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if err := os.Symlink("../../etc", filepath.Join(dir, "a/out")); err != nil {
		t.Fatal(err)
	}
	c.Names = []string{"a/out"}
	_, err = Pack(t.Context(), c, time.Time{})
	if want := "a/out: the symbolic link leads out of the directory; replace it by its target"; err == nil ||
		!strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestPackLeavesNoFile checks that Pack leaves no named temporary file.
func TestPackLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	l, err := Pack(t.Context(), Content{Source: mapOf(time.Time{}, 0o644, "a=1")}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if found := listFiles(t, dir); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Pack(t.Context(), Content{Files: []File{{Name: "a", Size: 2, Content: strings.NewReader("1")}}},
		time.Time{}); err == nil || !strings.Contains(err.Error(), "a: it changed while it was read") {
		t.Errorf("got %v", err)
	}
}
