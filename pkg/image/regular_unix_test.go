//go:build unix

package image

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/opm-toolchain/opm/internal/regular"
)

// pipe replaces a file by a named pipe without a writer: opening it would block for ever.
func pipe(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o777), syscall.Mkfifo(path, 0o666)); err != nil {
		t.Fatal(err)
	}
}

func TestPipeInCertificates(t *testing.T) {
	certificate, _ := clientPair(t)
	for _, name := range []string{"ca.crt", "me.cert", "me.key"} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "me.cert"), certificate)
		pipe(t, filepath.Join(dir, name))
		_, err := NewTransport(TransportOptions{CertDir: dir})
		if name == "me.cert" { // read first
			writeFile(t, filepath.Join(dir, "me.key"), "")
			_, err = NewTransport(TransportOptions{CertDir: dir})
		}
		if !errors.Is(err, regular.ErrNotRegular) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestPipeInLayout(t *testing.T) {
	img := oneFile(t, "x")
	for _, place := range []string{"oci-layout", "index.json", "blobs/sha256/*"} {
		dir := filepath.Join(t.TempDir(), "layout")
		if err := WriteLayout(img, dir, "v1"); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, place))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pipe(t, file)
			o := NewOpener(Options{})
			img, err := o.Open(t.Context(), "oci:"+dir)
			if err == nil {
				_, err = img.Files(t.Context(), "/")
			}
			if place != "oci-layout" && !errors.Is(err, regular.ErrNotRegular) {
				t.Errorf("%s: got %v", file, err)
			}
			_ = os.Remove(file)
			writeFile(t, file, string(old))
		}
	}
}

func TestPipeInCache(t *testing.T) {
	dir := t.TempDir()
	data, h := content(t, 1, 1000)
	c := OpenCache(dir, CacheOptions{})
	defer c.Close()
	pipe(t, c.dir.path(h))
	if err := c.add(t.Context(), h, data); err != nil || !c.has(h) {
		t.Errorf("it is not replaced: %v", err)
	}
}
