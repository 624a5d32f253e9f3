package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestWrittenEverywhere checks that a built image can be opened unchanged from every kind of destination.
func TestWrittenEverywhere(t *testing.T) {
	img := mustBuild(t, bundleOptions(time.Now(), 0o600))
	registry := newRegistry(t)
	dir := t.TempDir()
	byTag := registry.host + "/org/bundle:v1"
	pushed, err := Push(t.Context(), img, byTag, testOptions(t))
	if err != nil || pushed != digestOf(t, img) {
		t.Fatalf("pushed %s, %v", pushed, err)
	}
	layoutDir := filepath.Join(dir, "layout")
	if err := WriteLayout(img, layoutDir, "v1"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "bundle.tar")
	var first, second bytes.Buffer
	if err := errors.Join(WriteArchive(&first, img, "v1"), WriteArchive(&second, img, "v1")); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("an image makes two archives")
	}
	writeFile(t, file, first.String())
	for _, ref := range []string{byTag, registry.host + "/org/bundle@" + pushed, "oci:" + layoutDir + ":v1",
		"oci:" + layoutDir, file, file + ":v1", file + "@" + pushed} {
		opened := mustOpen(t, ref, testOptions(t))
		if opened.Digest != pushed || opened.Platform != "linux/arm/v7" || opened.Labels[LabelPackage] != "p" {
			t.Errorf("%s: got %s, %s, %v", ref, opened.Digest, opened.Platform, opened.Labels)
		}
		fsys, err := opened.Files(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, fsys, filesOf("manifests/csv.yaml=kind: x", "manifests/a/deep/crd.yaml=y",
			"opt/metadata/annotations.yaml=annotations: {}"))
	}
}

// oneFile returns an image with one file.
func oneFile(t testing.TB, body string) v1.Image {
	t.Helper()
	return mustBuild(t, BuildOptions{Contents: []Content{{Source: mapOf(time.Time{}, 0o644, "a="+body)}}})
}

func readBack(t testing.TB, ref string) string {
	t.Helper()
	fsys, err := mustOpen(t, ref, testOptions(t)).Files(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	return contents(t, fsys)["a"]
}

func TestWriteLayoutAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	if err := os.Mkdir(dir, 0o755); err != nil { // an empty directory is allowed
		t.Fatal(err)
	}
	write := func(body, tag string) {
		t.Helper()
		if err := WriteLayout(oneFile(t, body), dir, tag); err != nil {
			t.Fatal(err)
		}
	}
	write("1", "v1")
	index := filepath.Join(dir, indexFile)
	raw, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, index, strings.Replace(string(raw), `{"manifests":[{`, `{"x":{"y":1},"manifests":[{"z":2,`, 1))
	write("2", "v2")
	write("3", "v3")
	write("3b", "v3")
	write("4", "")
	write("4", "")
	for tag, want := range map[string]string{":v1": "1", ":v2": "2", ":v3": "3b"} {
		if got := readBack(t, "oci:"+dir+tag); got != want {
			t.Errorf("%s: got %q, want %q", tag, got, want)
		}
	}
	if got := readBack(t, "oci:"+dir+"@"+digestOf(t, oneFile(t, "4"))); got != "4" {
		t.Errorf("without a tag: got %q", got)
	}
	if raw, err = os.ReadFile(index); err != nil {
		t.Fatal(err)
	}
	for want, n := range map[string]int{`"x":{"y":1}`: 1, `"z":2`: 1, `"digest"`: 4} {
		if strings.Count(string(raw), want) != n {
			t.Errorf("%s has not %d of %s", raw, n, want)
		}
	}
}

func TestWriteLayoutRepairs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	img := oneFile(t, "1")
	if err := WriteLayout(img, dir, "v1"); err != nil {
		t.Fatal(err)
	}
	blobs := listFiles(t, filepath.Join(dir, "blobs"))
	if len(blobs) != 3 {
		t.Fatalf("got blobs %v", blobs)
	}
	for name := range blobs {
		writeFile(t, filepath.Join(dir, "blobs", name), "damaged")
	}
	if err := WriteLayout(img, dir, "v1"); err != nil {
		t.Fatal(err)
	}
	if got := listFiles(t, filepath.Join(dir, "blobs")); !maps.Equal(got, blobs) {
		t.Errorf("got  %q\nwant %q", got, blobs)
	}
}

// listFiles returns all files below a directory with their contents.
func listFiles(t testing.TB, dir string) map[string]string {
	t.Helper()
	return contents(t, os.DirFS(dir))
}

// TestWriteLayoutConcurrently creates one layout from several goroutines.
func TestWriteLayoutConcurrently(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	var group sync.WaitGroup
	const images = 12
	for n := range images {
		img := oneFile(t, fmt.Sprint(n))
		group.Go(func() {
			if err := WriteLayout(img, dir, fmt.Sprintf("v%d", n)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for n := range images {
		if got := readBack(t, fmt.Sprintf("oci:%s:v%d", dir, n)); got != fmt.Sprint(n) {
			t.Errorf("v%d: got %q", n, got)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// A brokenLayer fails before the end of its content.
type brokenLayer struct{ v1.Layer }

var errBroken = errors.New("broken")

func (l brokenLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader("some"), failingReader{})), nil
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errBroken }

// brokenImage returns an image with a layer that cannot be read, though its descriptor is correct.
func brokenImage(t testing.TB) v1.Image {
	t.Helper()
	layers, err := oneFile(t, "x").Layers()
	if err != nil {
		t.Fatal(err)
	}
	return withLayers(t, nil, mutate.Addendum{Layer: brokenLayer{layers[0]}})
}

// TestFailedLayout checks that a failed write leaves no files.
func TestFailedLayout(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "layout")
	if err := WriteLayout(brokenImage(t), dir, "v1"); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	if err := WriteLayout(oneFile(t, "1"), dir, "v1"); err != nil {
		t.Fatal(err)
	}
	before := listFiles(t, dir)
	if err := WriteLayout(brokenImage(t), dir, "v1"); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if got := listFiles(t, dir); !maps.Equal(got, before) {
		t.Errorf("got  %q\nwant %q", slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(before)))
	}
	if err := WriteArchive(io.Discard, brokenImage(t), "v1"); !errors.Is(err, errBroken) {
		t.Errorf("got %v for an archive", err)
	}
}

func TestWriteLayoutErrors(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "other", "file"), "mine")
	writeFile(t, filepath.Join(dir, "file"), "mine")
	writeFile(t, filepath.Join(dir, "broken", layoutFile), layoutVersion)
	writeFile(t, filepath.Join(dir, "broken", indexFile), "{")
	writeFile(t, filepath.Join(dir, "list", layoutFile), layoutVersion)
	writeFile(t, filepath.Join(dir, "list", indexFile), `{"manifests":[1]}`)
	outside := t.TempDir()
	leads := filepath.Join(dir, "leads")
	writeFile(t, filepath.Join(leads, layoutFile), layoutVersion)
	if err := os.Symlink(outside, filepath.Join(leads, "blobs")); err != nil {
		t.Fatal(err)
	}
	before := listFiles(t, dir)
	for _, tt := range []struct{ dir, tag, want string }{
		{"other", "v1", "neither empty nor an OCI layout: it has no file oci-layout"},
		{"file", "v1", "not a directory"},
		{"broken", "v1", "index.json is broken: "},
		{"list", "v1", "index.json is broken: "},
		{"none/layout", "v1", "create a directory next to it: no such file or directory"},
		{"new", "v 1", `the tag "v 1" has other characters`},
		{"leads", "v1", "something else of that name is in the way"},
	} {
		err := WriteLayout(oneFile(t, "1"), filepath.Join(dir, tt.dir), tt.tag)
		if err == nil || !strings.HasPrefix(err.Error(), "write OCI layout "+dir) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.dir, err, tt.want)
		}
	}
	if got := listFiles(t, dir); !maps.Equal(got, before) {
		t.Errorf("got  %q\nwant %q", got, before)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("written outside: %v, %v", left, err)
	}
}

func TestLayoutIndexNames(t *testing.T) {
	for tag, ok := range map[string]bool{"": true, "v1": true, "1.2.3-rc.1": true, "quay.io:443/org/image:v1": true,
		"a--b": true, "-a": false, "a b": false, "a..b": false, "ä": false, "a\n": false} {
		if err := checkTag(tag); (err == nil) != ok {
			t.Errorf("%q: got %v", tag, err)
		}
	}
	raw, err := newLayoutIndex().with(v1.Descriptor{Annotations: map[string]string{annotationRef: "v1"}})
	if err != nil || !json.Valid(raw) {
		t.Errorf("got %s, %v", raw, err)
	}
}

// realBundles returns the directories of published bundles.
func realBundles(t testing.TB) []string {
	t.Helper()
	return shared.Sample(shared.Glob(t, "data/operators/*/*"), 15)
}

func realBundleOptions(dir string) BuildOptions {
	source := os.DirFS(dir)
	return BuildOptions{Contents: []Content{
		{Source: source, Dir: "manifests", Target: "manifests"}, {Source: source, Dir: "metadata", Target: "metadata"},
	}}
}

// TestRealBundles builds images of published bundles and opens them.
func TestRealBundles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bundle.tar")
	for _, dir := range realBundles(t) {
		img := mustBuild(t, realBundleOptions(dir))
		var archive bytes.Buffer
		if err := WriteArchive(&archive, img, ""); err != nil {
			t.Fatal(err)
		}
		writeFile(t, file, archive.String())
		fsys, err := mustOpen(t, file, testOptions(t)).Files(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		want := contents(t, os.DirFS(dir))
		maps.DeleteFunc(want, func(name, _ string) bool {
			return !strings.HasPrefix(name, "manifests/") && !strings.HasPrefix(name, "metadata/")
		})
		wantFiles(t, fsys, want)
	}
}
