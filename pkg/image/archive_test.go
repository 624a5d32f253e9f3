package image

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ggcrlayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/opm-toolchain/opm/internal/tarfs"
)

func TestSeveralInArchive(t *testing.T) {
	dir := t.TempDir()
	a, b := imageOf(t, nil, tarOf(t, "a=1")), imageOf(t, nil, tarOf(t, "b=1"))
	layoutDir := filepath.Join(dir, "layout")
	path, err := ggcrlayout.Write(layoutDir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for tag, img := range map[string]v1.Image{"a": a, "example.com:5000/org/b:v2": b} {
		if err := path.AppendImage(img, ggcrlayout.WithAnnotations(map[string]string{annotationRef: tag})); err != nil {
			t.Fatal(err)
		}
	}
	ref := func(s string) name.Tag {
		tag, err := name.NewTag(s)
		if err != nil {
			t.Fatal(err)
		}
		return tag
	}
	docker := filepath.Join(dir, "docker.tar")
	if err := tarball.MultiWriteToFile(docker, map[name.Tag]v1.Image{
		ref("example.com/a:a"): a, ref("example.com/b:v2"): b}); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"oci:" + layoutDir, docker} {
		fsys, err := mustOpen(t, place+":v2", testOptions(t)).Files(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, fsys, filesOf("b=1"))
		if _, err := Open(t.Context(), place, testOptions(t)); err == nil ||
			!strings.Contains(err.Error(), "there are 2 images in it: name one by :TAG") {
			t.Errorf("%s: got %v", place, err)
		}
		if _, err := Open(t.Context(), place+":v3", testOptions(t)); !errors.Is(err, ErrNotFound) ||
			!strings.Contains(err.Error(), "b:v2") {
			t.Errorf("%s: got %v", place, err)
		}
	}
}

func TestIsArchive(t *testing.T) {
	img := imageOf(t, nil, tarOf(t, "a=1"))
	var docker bytes.Buffer
	if err := tarball.Write(name.MustParseReference("example.com/a:a"), img, &docker); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		data []byte
		want bool
	}{
		{"oci", tarOf(t, "oci-layout={}"), true},
		{"docker", docker.Bytes(), true},
		{"catalog", tarOf(t, "catalog.yaml=x"), false},
		{"catalog with a file of that name", tarOf(t, `manifest.json={"schema":"olm.package"}`), false},
		{"catalog with a list of that name", tarOf(t, `manifest.json=[{"schema":"olm.package"}]`), false},
	} {
		fsys, err := tarfs.Open(t.Context(), bytes.NewReader(tt.data), int64(len(tt.data)), tarfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := IsArchive(fsys); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
		if err := fsys.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDamagedArchive checks that a damaged layer is detected in each kind of archive.
func TestDamagedArchive(t *testing.T) {
	dir := t.TempDir()
	img := imageOf(t, nil, tarOf(t, "a=good"))
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	layoutDir := filepath.Join(dir, "layout")
	path, err := ggcrlayout.Write(layoutDir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(img); err != nil {
		t.Fatal(err)
	}
	inLayout := digestOf(t, layers[0])
	blob := filepath.Join(layoutDir, "blobs", "sha256", strings.TrimPrefix(inLayout, "sha256:"))
	data, err := os.ReadFile(blob)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(blob, data, 0o644); err != nil {
		t.Fatal(err)
	}

	inDocker := "sha256:" + strings.Repeat("1", 64)
	docker := filepath.Join(dir, "docker.tar")
	writeFile(t, docker, string(tarOf(t,
		`manifest.json=[{"Config":"config.json","Layers":["1/layer.tar"]}]`,
		`config.json={"rootfs":{"diff_ids":["`+inDocker+`"]}}`,
		"1/layer.tar="+string(tarOf(t, "a=1")))))

	cut, err := os.ReadFile(docker)
	if err != nil {
		t.Fatal(err)
	}
	short := writeFile(t, filepath.Join(dir, "short.tar"), string(cut[:len(cut)/2]))
	if _, err := Open(t.Context(), short, testOptions(t)); err == nil ||
		!strings.HasPrefix(err.Error(), "open image "+short+": ") {
		t.Errorf("got %v for an archive that was cut", err)
	}

	for ref, layer := range map[string]string{"oci:" + layoutDir: inLayout, docker: inDocker} {
		_, err = mustOpen(t, ref, testOptions(t)).Files(t.Context(), "/")
		if !errors.Is(err, errDigest) || !strings.Contains(err.Error(), "layer "+layer) {
			t.Errorf("%s: got %v", ref, err)
		}
	}
}
