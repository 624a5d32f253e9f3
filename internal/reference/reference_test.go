package reference_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/reference"
)

func TestOf(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"dir", "layout", "a:b"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "layout/oci-layout", "image.tar"} {
		if err := os.WriteFile(filepath.FromSlash(name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		text       string
		kind       reference.Kind
		path, name string
		err        string
	}{
		{text: "-", kind: reference.StandardInput},
		{text: "dir", kind: reference.Directory, path: "dir"},
		{text: "./dir/", kind: reference.Directory, path: "./dir/"},
		{text: "a:b", kind: reference.Directory, path: "a:b"},
		{text: "layout", kind: reference.LayoutDirectory, path: "layout"},
		{text: "file", kind: reference.File, path: "file"},
		{text: os.DevNull, kind: reference.Pipe, path: os.DevNull},
		{text: "oci:layout", kind: reference.Layout, path: "layout"},
		{text: "oci:layout:v1", kind: reference.Layout, path: "layout", name: "v1"},
		{text: "oci:layout@sha256:0", kind: reference.Layout, path: "layout", name: "sha256:0"},
		{text: "oci:layout:quay.io/a/b:v1", kind: reference.Layout, path: "layout", name: "quay.io/a/b:v1"},
		{text: "oci:a:b:v1", kind: reference.Layout, path: "a:b", name: "v1"},
		{text: "oci:new/one:v1", kind: reference.Layout, path: "new/one", name: "v1", err: "directory new/one:v1 does not exist"},
		{text: "oci:file", kind: reference.Layout, path: "file", err: "file is a file: name an archive without oci:"},
		{text: "image.tar:v1", kind: reference.Archive, path: "image.tar", name: "v1"},
		{text: "image.tar@sha256:0", kind: reference.Archive, path: "image.tar", name: "sha256:0"},
		{text: "quay.io/a/b:v1", kind: reference.Registry},
		{text: "docker://quay.io/a/b:v1", kind: reference.Registry},
		{text: "file/x:v1", kind: reference.Registry},
		{text: strings.Repeat("long", 2000) + ":v1", kind: reference.Registry},
		{text: "", err: "no such file or directory"},
		{text: "none", path: "none", err: "no such file or directory"},
		{text: "./fiel", path: "./fiel", err: `no such file or directory (did you mean "./file"?)`},
		{
			text: "quay.io/a/b", path: "quay.io/a/b",
			err: "no such file or directory; an image needs a tag or a digest, as in quay.io/a/b:latest",
		},
		{text: "file/x", path: "file/x", err: "not a directory"},
		{text: `C:\catalog`, path: `C:\catalog`, err: "no such file or directory"},
		{text: `catalogs\v1:2`, path: `catalogs\v1:2`, err: "no such file or directory"},
		{text: `registry.example\crafts@sha256:0`, path: `registry.example\crafts@sha256:0`, err: "no such file or directory"},
		{text: `oci:C:\new`, kind: reference.Layout, path: `C:\new`, err: `directory C:\new does not exist`},
		{text: `oci:C:\new:v1`, kind: reference.Layout, path: `C:\new`, name: "v1", err: `directory C:\new:v1 does not exist`},
	} {
		got := reference.Of(tt.text)
		err := ""
		if got.Err != nil {
			err = got.Err.Error()
		}
		if got.Kind != tt.kind || got.Path != tt.path || got.Name != tt.name || err != tt.err {
			t.Errorf("%q: got %+v", tt.text, got)
		}
	}
	if err := reference.Of("none").Err; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

func TestPinned(t *testing.T) {
	for name, want := range map[string]string{
		"registry:5000/pottery/kiln":             "registry:5000/pottery/kiln@sha256:a",
		"registry:5000/pottery/kiln:v1":          "registry:5000/pottery/kiln@sha256:a",
		"registry:5000/pottery/kiln:v1@sha256:b": "registry:5000/pottery/kiln@sha256:a",
		"registry:5000/pottery/kiln@sha256:b":    "registry:5000/pottery/kiln@sha256:a",
		"kiln:v1":                                "kiln@sha256:a",
	} {
		if got := reference.Pinned(name, "sha256:a"); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
