// Package tartest writes tar archives for tests, and reads the content of file systems.
//
//	data := tartest.Gzip(t, tartest.Tar(t, "configs/catalog.yaml=schema: olm.package", "latest->configs"))
package tartest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Tar returns an archive of entries such as
//
//	"dir/file=content"  "dir/"  "link->target"  "hard=>target"  "device%"
func Tar(t testing.TB, entries ...string) []byte {
	t.Helper()
	data, err := Make(entries)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Make is Tar for entries that may be invalid: it returns the error.
func Make(entries []string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		hdr, body := parse(e)
		if err := w.WriteHeader(hdr); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func parse(e string) (*tar.Header, string) {
	if name, target, ok := strings.Cut(e, "->"); ok && !strings.Contains(name, "=") {
		return &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}, ""
	}
	if name, target, ok := strings.Cut(e, "=>"); ok && !strings.Contains(name, "=") {
		return &tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: 0o644}, ""
	}
	if name, body, ok := strings.Cut(e, "="); ok {
		return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(body)), Mode: 0o644}, body
	}
	if name, ok := strings.CutSuffix(e, "%"); ok {
		return &tar.Header{Typeflag: tar.TypeChar, Name: name, Devmajor: 1, Devminor: 3}, ""
	}
	return &tar.Header{Typeflag: tar.TypeDir, Name: e, Mode: 0o755}, ""
}

// Gzip compresses data.
func Gzip(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Zstd compresses data.
func Zstd(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, nil)
}

// Contents returns the regular files of a file system with their content. Links to regular files are included.
func Contents(t testing.TB, fsys fs.FS) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(fsys, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := fs.Stat(fsys, name)
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // dangling links, and links to directories
		}
		data, err := fs.ReadFile(fsys, name)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// WantFiles compares Contents to the expected files.
func WantFiles(t testing.TB, fsys fs.FS, want map[string]string) {
	t.Helper()
	if got := Contents(t, fsys); !maps.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Files returns the expected files from entries such as "dir/file=content".
func Files(entries ...string) map[string]string {
	files := map[string]string{}
	for _, e := range entries {
		name, body, _ := strings.Cut(e, "=")
		files[path.Clean(name)] = body
	}
	return files
}
