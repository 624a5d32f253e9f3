//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// failing makes link and rename fail at the calls for which fails returns true, counted from 1.
func failing(t *testing.T, links bool, fails func(call int) bool) {
	t.Helper()
	linkBefore, renameBefore := link, rename
	t.Cleanup(func() { link, rename = linkBefore, renameBefore })
	if !links {
		link = func(*os.Root, string, string) error { return syscall.EPERM }
	}
	calls := 0
	rename = func(root *os.Root, from, to string) error {
		if calls++; fails(calls) {
			return syscall.EIO
		}
		return renameBefore(root, from, to)
	}
}

// TestWithoutLinks checks that a file is always there while it is being replaced, and that its backup is like it.
func TestWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	modified := time.Unix(1e9, 0)
	err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, 0o641), os.Chtimes(path, modified, modified))
	if err != nil {
		t.Fatal(err)
	}
	own := os.Getuid()
	if own == 0 {
		own = 1234
		if err := os.Chown(path, own, own); err != nil {
			t.Fatal(err)
		}
	}
	failing(t, false, func(call int) bool {
		text, err := os.ReadFile(path)
		if call == 1 && (err != nil || string(text) != "old") {
			t.Errorf("before it is replaced: %q, %v", text, err)
		}
		return call == 2
	})
	other := filepath.Join(dir, "b")
	if err := WriteAll([]string{path, other}, func(_ string, w io.Writer) error { return text("new")(w) }); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	holds(t, dir, "a", "old")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o641 || !info.ModTime().Equal(modified) || !isOwn(info, own) {
		t.Errorf("the restored file has mode %v, time %v, %+v", info.Mode(), info.ModTime(), info.Sys())
	}
}

// TestFaults makes each rename fail, or it and all later ones, with and without links. It checks that all files are then
// as before or, if they cannot be restored, have backups that stay until somebody deletes them.
func TestFaults(t *testing.T) {
	for _, links := range []bool{true, false} {
		for first := range 5 {
			for _, forever := range []bool{false, true} {
				t.Run(fmt.Sprintf("links %t, call %d, forever %t", links, first+1, forever), func(t *testing.T) {
					testFault(t, links, func(call int) bool { return call == first+1 || forever && call > first })
				})
			}
		}
	}
}

func testFault(t *testing.T, links bool, fails func(int) bool) {
	t.Helper()
	dir := t.TempDir()
	old := map[string]string{"a": "old a", "gone": "old gone", "c": "old c", "d": "old d"}
	for name, text := range old {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := list(t, dir)
	change := func() error {
		var all []Change
		for _, name := range []string{"a", "new/b", "gone", "c", "d"} {
			c := Change{Path: filepath.Join(dir, name), Fill: text("new " + name)}
			if name == "gone" {
				c.Fill = nil
			}
			all = append(all, c)
		}
		return ChangeAll(all)
	}
	t.Run("", func(t *testing.T) {
		failing(t, links, fails)
		err := change()
		if err == nil { // there are only four renames
			if got, want := list(t, dir), "a=new a c=new c d=new d new new/b=new new/b"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			return
		}
		lost := 0
		for name, text := range old {
			now, _ := os.ReadFile(filepath.Join(dir, name))
			if string(now) == text {
				continue
			}
			lost++
			_, backup, named := strings.Cut(err.Error(), "restore "+filepath.Join(dir, name)+": input/output error; its old content is in ")
			backup, _, _ = strings.Cut(backup, "\n")
			if kept, err := os.ReadFile(backup); !named || string(kept) != text {
				t.Errorf("%s has %q, and its backup %q has %q, %v", name, now, backup, kept, err)
			}
		}
		if got := list(t, dir); lost == 0 && got != before {
			t.Errorf("got %s, want %s; %v", got, before, err)
		}
		if kept, err := countKept(dir), RemoveStale(dir, true); kept != lost || (err != nil) != (lost > 0) {
			t.Errorf("of %d files, %d backups are kept: %v", lost, kept, err)
		}
	})
	kept := countKept(dir)
	if _, err := os.Stat(filepath.Join(dir, "gone")); err != nil {
		return // it was removed, which cannot be done again
	}
	if err := change(); err != nil {
		t.Fatal(err)
	}
	if again := countKept(dir); again != kept {
		t.Errorf("the next run leaves %d of %d backups", again, kept)
	}
}

// countKept returns the number of backups below a directory.
func countKept(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		if filepath.Base(path) == keepMark {
			n++
		}
		return nil
	})
	return n
}

// TestPutBackLost checks that the backup of a file that is gone is put back, unless the file was to be removed.
func TestPutBackLost(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".opm-1.old.tmp/gone": "old", ".opm-2.old.tmp/there": "old", "there": "new", ".opm-3.tmp/removed": "old", "sub/.opm-4.tmp": "old",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	want := filepath.Join(dir, "gone") + " was gone, and is put back from the backup of a killed process"
	if err := RemoveStale(dir, true); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got, want := list(t, dir), "gone=old sub there=new"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStaleStays checks that a leftover that cannot be removed is reported.
func TestStaleStays(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub", ".opm-1.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	defer func() { removeAll = (*os.Root).RemoveAll }()
	removeAll = func(_ *os.Root, name string) error {
		return &fs.PathError{Op: "unlinkat", Path: name, Err: syscall.EBUSY}
	}
	want := "remove what a killed process left: " + filepath.Join(dir, "sub", ".opm-1.tmp") + ": device or resource busy"
	if err := RemoveStale(dir, true); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := RemoveStale(dir, false); err != nil {
		t.Errorf("of the directory alone: got %v", err)
	}
}

func isOwn(info fs.FileInfo, uid int) bool { return info.Sys().(*syscall.Stat_t).Uid == uint32(uid) }
