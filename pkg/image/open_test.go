package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ggcrlayout "github.com/google/go-containerregistry/pkg/v1/layout"
	ggcrremote "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"go.uber.org/goleak"
)

// TestSameEverywhere checks that an image is the same from every kind of source.
func TestSameEverywhere(t *testing.T) {
	labels := map[string]string{LabelConfigs: "/configs"}
	img := imageOf(t, labels,
		tarOf(t, "usr/bin/x=y", "configs/a/catalog.yaml=a: 1", "configs/b/catalog.yaml=b: 1"),
		tarOf(t, "configs/.wh.b=", "configs/c->a"),
		tarOf(t, "configs/.indexignore=x", "configs/big="+strings.Repeat("0123456789", 200_000)))
	want := filesOf("a/catalog.yaml=a: 1", ".indexignore=x", "big="+strings.Repeat("0123456789", 200_000))

	dir := t.TempDir()
	registry := newRegistry(t)
	byTag := registry.push(t, "org/catalog:v1", img)
	byDigest := registry.host + "/org/catalog@" + digestOf(t, img)
	layoutDir := filepath.Join(dir, "layout")
	path, err := ggcrlayout.Write(layoutDir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(img, ggcrlayout.WithAnnotations(map[string]string{annotationRef: "v1"})); err != nil {
		t.Fatal(err)
	}
	ociTar := filepath.Join(dir, "oci.tar")
	tarDir(t, layoutDir, ociTar)
	ociGzip := filepath.Join(dir, "oci.tar.gz")
	data, err := os.ReadFile(ociTar)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, ociGzip, string(gzipOf(t, data)))
	dockerTar := filepath.Join(dir, "docker.tar")
	tag, err := name.NewTag("example.com/org/catalog:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(dockerTar, tag, img); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{
		byTag, byDigest,
		"oci:" + layoutDir, "oci:" + layoutDir + ":v1", "oci:" + layoutDir + "@" + digestOf(t, img),
		ociTar, ociTar + ":v1", ociGzip, dockerTar, dockerTar + ":v1", dockerTar + ":example.com/org/catalog:v1",
	} {
		t.Run(strings.NewReplacer(dir, "", registry.host, "").Replace(ref), func(t *testing.T) {
			opened := mustOpen(t, ref, testOptions(t))
			if opened.Ref != ref || opened.Platform != "linux/amd64" || !maps.Equal(opened.Labels, labels) {
				t.Errorf("got %q, %q, %v", opened.Ref, opened.Platform, opened.Labels)
			}
			if digest := opened.Digest; digest != digestOf(t, img) && !strings.HasPrefix(ref, dockerTar) {
				t.Errorf("got digest %q", digest)
			}
			_, configs, err := opened.Kind()
			if err != nil {
				t.Fatal(err)
			}
			fsys, err := opened.Files(t.Context(), configs)
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, fsys, want)
		})
	}
}

// tarDir writes a directory to an archive.
func tarDir(t testing.TB, dir, file string) {
	t.Helper()
	var entries []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		entries = append(entries, filepath.ToSlash(rel)+"="+string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, string(tarOf(t, entries...)))
}

func TestReferences(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	writeFile(t, "plain", "not an archive")
	writeFile(t, "catalog.tar", string(tarOf(t, "catalog.yaml=x")))
	writeFile(t, "empty.tar", string(tarOf(t, "oci-layout={}", `index.json={"schemaVersion":2,"manifests":[]}`)))
	if err := os.Mkdir("dir", 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ ref, want string }{
		{"", "the reference is empty"},
		{"redis", "as in docker.io/library/redis:latest"},
		{"redis:7", "as in docker.io/library/redis:7"},
		{"org/image:v1", "as in docker.io/org/image:v1"},
		{"::::", "must begin with the host of a registry"},
		{"Not An Image", "not a full image reference"},
		{"docker.io/redis:7", "write docker.io/library/redis:7"},
		{"docker://quay.io/a/b:v1", `remove "docker://": write quay.io/a/b:v1`},
		{"quay.io/a/b", "neither a tag nor a digest: add one, as in quay.io/a/b:latest"},
		{"localhost:5000/b", "neither a tag nor a digest"},
		{"quay.io/a/b:v1@sha256:" + strings.Repeat("0", 64), "remove the tag, as in quay.io/a/b@sha256:"},
		{"quay.io/A/b:v1", "quay.io/A/b:v1: "},
		{"quay.io/a/b@sha256:123", "sha256:123"},
		{"dir", "it is a directory: write oci:DIR for an OCI layout"},
		{"oci:dir", "not an OCI layout: it has no file oci-layout"},
		{"oci:missing", "directory missing does not exist"},
		{"oci:plain", "plain is a file: name an archive without oci:"},
		{"plain", "not a tar archive"},
		{"catalog.tar", "not an image archive: it has neither oci-layout nor manifest.json"},
		{"empty.tar", "it contains no image"},
		{"empty.tar:v1", "it contains no image"},
	}
	for _, tt := range tests {
		t.Run(tt.ref, func(t *testing.T) {
			_, err := Open(t.Context(), tt.ref, testOptions(t))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if !strings.HasPrefix(err.Error(), "failed to pull image "+tt.ref+": ") && !strings.HasPrefix(err.Error(), "open image "+tt.ref+": ") {
				t.Errorf("%v does not begin with the reference", err)
			}
		})
	}
	opts := testOptions(t)
	opts.Platform = "linux"
	if _, err := Open(t.Context(), "quay.io/a/b:v1", opts); err == nil || !strings.Contains(err.Error(), "os/arch") {
		t.Errorf("got %v for a bad platform", err)
	}
}

// TestNoGoroutineLeaks checks that no goroutine is left after closing.
func TestNoGoroutineLeaks(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	registry := newRegistry(t)
	defer registry.Server.Close()
	ref := registry.push(t, "org/image:v1", imageOf(t, nil, tarOf(t, "a="+strings.Repeat("x", 3<<20)), tarOf(t, "b=1")))
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	defer ggcrremote.DefaultTransport.(*http.Transport).CloseIdleConnections()
	opts := testOptions(t)
	defer (&http.Client{Transport: opts.Transport}).CloseIdleConnections()
	img, err := Open(t.Context(), ref, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := img.Files(ctx, "/"); err != nil {
		t.Error(err)
	}
	cancel()
	if _, err := img.Files(ctx, "/"); err == nil {
		t.Error("a context that has ended ends nothing")
	}
	if err := img.Close(); err != nil {
		t.Error(err)
	}
}

// resize adds n to the sizes in some descriptors of a layout, and updates the digests accordingly.
func resize(t *testing.T, dir string, root, config, layer int64) {
	t.Helper()
	var index v1.IndexManifest
	readJSON(t, filepath.Join(dir, indexFile), &index)
	entry := &index.Manifests[0]
	var m v1.Manifest
	readJSON(t, filepath.Join(dir, blobPath(entry.Digest)), &m)
	m.Config.Size += config
	m.Layers[0].Size += layer
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if entry.Digest, entry.Size, err = v1.SHA256(bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, blobPath(entry.Digest)), string(raw))
	entry.Size += root
	if raw, err = json.Marshal(index); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, indexFile), string(raw))
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWrongSize checks that a wrong size in a descriptor is an error when a layout is opened, before its files are
// read or an image with the same wrong sizes is built on it.
func TestWrongSize(t *testing.T) {
	for name, sizes := range map[string][3]int64{
		"manifest": {1, 0, 0}, "short manifest": {-1, 0, 0}, "negative size": {-1 << 10, 0, 0}, "config": {0, 1, 0},
		"layer": {0, 0, 1}, "short layer": {0, 0, -1}, "right": {0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "layout")
			if err := WriteLayout(oneFile(t, "1"), dir, "v1"); err != nil {
				t.Fatal(err)
			}
			resize(t, dir, sizes[0], sizes[1], sizes[2])
			archive := filepath.Join(t.TempDir(), "archive.tar")
			tarDir(t, dir, archive)
			for _, ref := range []string{"oci:" + dir, archive} {
				img, err := Open(t.Context(), ref, testOptions(t))
				if name == "right" && err == nil {
					err = img.Close()
				}
				if name == "right" && err != nil || name != "right" &&
					(!errors.Is(err, errDigest) || !strings.Contains(err.Error(), " bytes; its descriptor says ")) {
					t.Errorf("%s: got %v", ref, err)
				}
			}
		})
	}
}

type rawManifest []byte

func (m rawManifest) RawManifest() ([]byte, error)        { return m, nil }
func (m rawManifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// TestWrongSizeInCache checks that a wrong size is an error even if the content was downloaded for another image.
func TestWrongSizeInCache(t *testing.T) {
	registry := newRegistry(t)
	img := oneFile(t, "1")
	opener := NewOpener(testOptions(t))
	defer opener.Close()
	read := func(ref string) error {
		opened, err := opener.Open(t.Context(), ref)
		if err != nil {
			return err
		}
		_, err = opened.Files(t.Context(), "/")
		return closing(err, opened)
	}
	if err := read(registry.push(t, "org/right:v1", img)); err != nil {
		t.Fatal(err)
	}
	for tag, change := range map[string]func(m *v1.Manifest){
		"config": func(m *v1.Manifest) { m.Config.Size++ },
		"layer":  func(m *v1.Manifest) { m.Layers[0].Size++ },
	} {
		m, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		m = m.DeepCopy()
		change(m)
		ref := registry.host + "/org/right:" + tag
		to, err := name.ParseReference(ref)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := ggcrremote.Put(to, rawManifest(raw)); err != nil {
			t.Fatal(err)
		}
		if err := read(ref); !errors.Is(err, errDigest) || !strings.Contains(err.Error(), "its descriptor says") {
			t.Errorf("%s: got %v", tag, err)
		}
	}
}
