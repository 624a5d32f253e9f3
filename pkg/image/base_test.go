package image

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

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

// TestPackLeavesNothing checks that Pack leaves no named temporary file.
func TestPackLeavesNothing(t *testing.T) {
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
