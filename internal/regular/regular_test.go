package regular_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/tarfs"
	"github.com/opm-toolchain/opm/internal/testing/tartest"
)

// views returns the directory dir of base as each kind of file system.
func views(t *testing.T, base, dir string) map[string]fs.FS {
	t.Helper()
	path := filepath.Join(base, dir)
	root, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	sub, err := fs.Sub(os.DirFS(base), dir)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]fs.FS{"DirFS": os.DirFS(path), "Root": root.FS(), "Sub": sub}
}

func TestOpen(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "d")
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	write("file", "text")
	write("sub/file", "text")
	link("file", "link")
	link("sub/../link", "long")
	link("sub", "to directory")
	link("loop", "loop")
	link("missing", "dangling")
	want := map[string]string{
		"file": "", "sub/file": "", "link": "", "long": "",
		"sub": "found a directory", ".": "found a directory", "to directory": "found a directory",
		"loop": "too many levels of symbolic links", "dangling": "no such file", "missing": "no such file",
	}
	special(t, dir, want)
	for view, fsys := range views(t, base, "d") {
		for name, problem := range want {
			t.Run(view+"/"+name, func(t *testing.T) {
				text, err := readInTime(t, fsys, name)
				switch {
				case problem == "" && (err != nil || string(text) != "text"):
					t.Errorf("read %q, error %v", text, err)
				case problem == "":
				case view == "Root" && filepath.IsAbs(linkTarget(dir, name)):
					if err == nil {
						t.Error("no error, though the link leads out of the root")
					}
				case view == "Sub" && filepath.IsAbs(linkTarget(dir, name)):
					if !errors.Is(err, regular.ErrNotRegular) {
						t.Errorf("error %v", err)
					}
				case err == nil || runtime.GOOS != "windows" && !strings.Contains(err.Error(), problem):
					t.Errorf("error %v, want %q", err, problem)
				case strings.HasPrefix(problem, "found ") != errors.Is(err, regular.ErrNotRegular):
					t.Errorf("%v wraps ErrNotRegular or not", err)
				}
			})
		}
	}
}

func linkTarget(dir, name string) string {
	target, _ := os.Readlink(filepath.Join(dir, name))
	return target
}

// readInTime reads a file, which must not take time.
func readInTime(t *testing.T, fsys fs.FS, name string) ([]byte, error) {
	t.Helper()
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := regular.ReadFile(fsys, name, 100)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-time.After(time.Minute):
		t.Fatal("still reading after a minute")
		return nil, nil
	}
}

// listen makes a socket in dir.
func listen(t *testing.T, dir string) {
	t.Helper()
	t.Chdir(dir) // whose path may be too long for a socket
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Skip("no sockets here:", err)
	}
	t.Cleanup(func() { l.Close() })
}

func TestReadFileLimit(t *testing.T) {
	fsys := fstest.MapFS{"f": {Data: []byte("12345")}, "empty": {}}
	for limit, want := range map[int64]string{5: "12345", 6: "12345", 4: "", 0: ""} {
		text, err := regular.ReadFile(fsys, "f", limit)
		if string(text) != want || (want == "") != errors.Is(err, regular.ErrTooLarge) {
			t.Errorf("limit %d: read %q, error %v", limit, text, err)
		}
	}
	if text, err := regular.ReadFile(fsys, "empty", 0); err != nil || len(text) > 0 {
		t.Errorf("empty file: read %q, error %v", text, err)
	}
}

// A growing file has more than Stat says.
type growing struct {
	fs.File
	text *strings.Reader
}

func (g growing) Read(p []byte) (int, error) { return g.text.Read(p) }

type growingFS struct {
	fstest.MapFS
	text string
}

func (g growingFS) Open(name string) (fs.File, error) {
	f, err := g.MapFS.Open(name)
	return growing{f, strings.NewReader(g.text)}, err
}

func TestReadFileThatGrows(t *testing.T) {
	fsys := growingFS{fstest.MapFS{"f": {Data: []byte("1")}}, "12345"}
	if text, err := regular.ReadFile(fsys, "f", 5); string(text) != fsys.text || err != nil {
		t.Errorf("read %q, error %v", text, err)
	}
	if text, err := regular.ReadFile(fsys, "f", 4); !errors.Is(err, regular.ErrTooLarge) {
		t.Errorf("read %q, error %v", text, err)
	}
}

func TestOpenInArchive(t *testing.T) {
	data := tartest.Tar(t, "d/f=text", "d/l->f")
	fsys, err := tarfs.Open(t.Context(), bytes.NewReader(data), int64(len(data)), tarfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"d/f": true, "d/l": true, "d": false, ".": false} {
		text, err := regular.ReadFile(fsys, name, 100)
		if want != (string(text) == "text") || want == errors.Is(err, regular.ErrNotRegular) {
			t.Errorf("%s: read %q, error %v", name, text, err)
		}
	}
}

// TestOpenSwapped puts another file in place of the one that Stat saw.
func TestOpenSwapped(t *testing.T) {
	swapped := swappedFS{fstest.MapFS{"f": {Data: []byte("1")}, "dev": {Mode: fs.ModeDevice}}}
	f, _, err := regular.Open(swapped, "f")
	if f != nil || !errors.Is(err, regular.ErrNotRegular) || !strings.Contains(err.Error(), "found a device") {
		t.Errorf("file %v, error %v", f, err)
	}
}

type swappedFS struct{ fstest.MapFS }

func (s swappedFS) Open(string) (fs.File, error) { return s.MapFS.Open("dev") }
