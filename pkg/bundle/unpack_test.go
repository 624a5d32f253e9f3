package bundle

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/atomicfile"
)

// outRoot opens a new directory.
func outRoot(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// tree returns the content of files and the targets of links below a directory, by name.
func tree(t *testing.T, root *os.Root) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch entry.Type() {
		case fs.ModeDir:
			all[name] = "/"
		case fs.ModeSymlink:
			target, err := root.Readlink(name)
			all[name] = "-> " + target
			return err
		default:
			text, err := root.ReadFile(name)
			all[name] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func link(target string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
}

func TestUnpack(t *testing.T) {
	out := outRoot(t)
	if err := errors.Join(out.WriteFile("mine", []byte("mine"), 0o666), out.WriteFile("a", []byte("old"), 0o666)); err != nil {
		t.Fatal(err)
	}
	fsys := mapFS("a", "new", "b/c", "c")
	fsys["b/run"] = &fstest.MapFile{Data: []byte("run"), Mode: 0o755}
	fsys["b/up"] = link("../a")
	fsys["b/here"] = link("./c")
	if err := Unpack(t.Context(), fsys, out); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		".": "/", "mine": "mine", "a": "new", "b": "/", "b/c": "c", "b/run": "run", "b/up": "-> ../a", "b/here": "-> ./c"}
	if got := tree(t, out); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if info, err := out.Stat("b/run"); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("got %v, %v, want a file that can be run", info, err)
	}
}

// TestUnpackLinks checks that all links that leave the directory are reported, and that nothing is written.
func TestUnpackLinks(t *testing.T) {
	for _, target := range []string{
		"/etc/passwd", "..", "../..", "../x/../../y", "x/..", "x/../y", "../../b/x", "./../../y", "..//../y", `..\..\y`,
	} {
		out := outRoot(t)
		fsys := mapFS("a", "a", "b/d/file", "file")
		fsys["link"] = link("../y")
		fsys["b/link"] = link(target)
		if target == ".." {
			fsys["b/link"] = link("../../b")
		}
		err := Unpack(t.Context(), fsys, out)
		if err == nil || !strings.HasPrefix(err.Error(), "b/link: a link to ") || !strings.Contains(err.Error(), "\nlink: a link to") {
			t.Errorf("link to %s: got error %v", target, err)
		}
		if got := tree(t, out); len(got) > 1 {
			t.Errorf("link to %s: got %q", target, got)
		}
	}
	out := outRoot(t)
	fsys := mapFS("b/file", "file")
	fsys["b/top"] = link("..")
	if err := Unpack(t.Context(), fsys, out); err != nil {
		t.Errorf("link to the top: %v", err)
	}
}

// TestUnpackTraps checks that links in a directory do not make Unpack write outside of it.
func TestUnpackTraps(t *testing.T) {
	elsewhere := t.TempDir()
	for _, trap := range []struct{ name, target string }{
		{"b", elsewhere}, {"b", "."}, {"b", "dir"}, {"b/c", elsewhere + "/c"},
	} {
		out := outRoot(t)
		err := errors.Join(out.Mkdir("dir", 0o777), out.MkdirAll(filepath.Dir(trap.name), 0o777), out.Symlink(trap.target, trap.name))
		if err != nil {
			t.Skip(err)
		}
		err = Unpack(t.Context(), mapFS("a", "a", "b/c", "c"), out)
		replaced := trap.name == "b/c" // the file replaces the link
		if (err == nil) != replaced {
			t.Errorf("%s -> %s: got error %v", trap.name, trap.target, err)
		}
		if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
			t.Errorf("%s -> %s: elsewhere are %v, %v", trap.name, trap.target, entries, err)
		}
		if got := tree(t, out); !replaced && len(got) > 3 {
			t.Errorf("%s -> %s: got %q", trap.name, trap.target, got)
		}
	}
}

// TestUnpackFails checks that an error leaves no new files behind.
func TestUnpackFails(t *testing.T) {
	out := outRoot(t)
	if err := out.MkdirAll("z/dir", 0o777); err != nil {
		t.Fatal(err)
	}
	err := Unpack(t.Context(), mapFS("a", "a", "b/c/d", "d", "z/dir", "a file"), out)
	if !errors.Is(err, atomicfile.ErrInTheWay) {
		t.Errorf("got error %v, want %v", err, atomicfile.ErrInTheWay)
	}
	if got := tree(t, out); !maps.Equal(got, map[string]string{".": "/", "z": "/", "z/dir": "/"}) {
		t.Errorf("got %q", got)
	}
	fifo := fstest.MapFS{"a": {Mode: fs.ModeNamedPipe}}
	if err := Unpack(t.Context(), fifo, out); err == nil || !strings.Contains(err.Error(), "unpack a: neither") {
		t.Errorf("a pipe: got error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Unpack(ctx, mapFS("a", "a"), out); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got error %v", err)
	}
}
