package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func text(s string) func(io.Writer) error {
	return Text([]byte(s))
}

// holds checks that dir contains exactly these files: name, content, name, content.
func holds(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Error(err)
		}
		got = append(got, e.Name(), string(data))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("directory holds %q, want %q", got, want)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := Write(path, Options{}, text("one")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, "f", "one")
	called := false
	err := Write(path, Options{}, func(io.Writer) error { called = true; return nil })
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) || called {
		t.Errorf("over a file: error %v, work done %t", err, called)
	}
	holds(t, dir, "f", "one")
	if err := Write(path, Options{Replace: true}, text("two")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, "f", "two")
}

func TestModeIsThatOfAnyNewFile(t *testing.T) {
	dir := t.TempDir()
	plain, path := filepath.Join(dir, "plain"), filepath.Join(dir, "f")
	file, err := os.Create(plain)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if err := Write(path, Options{}, text("x")); err != nil {
		t.Fatal(err)
	}
	want, _ := os.Stat(plain)
	got, err := os.Stat(path)
	if err != nil || got.Mode() != want.Mode() {
		t.Errorf("mode %v, want %v (error %v)", got.Mode(), want.Mode(), err)
	}
}

func TestNothingLeftWhenFillFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	broken := errors.New("broken")
	fail := func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	}
	if err := Write(path, Options{}, fail); err != broken {
		t.Errorf("error %v, want %v", err, broken)
	}
	holds(t, dir)
	if err := Write(path, Options{}, text("old")); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, Options{Replace: true}, fail); err != broken {
		t.Errorf("error %v, want %v", err, broken)
	}
	holds(t, dir, "f", "old")
}

func TestNothingLeftWhenFillPanics(t *testing.T) {
	dir := t.TempDir()
	defer func() {
		_ = recover()
		holds(t, dir)
	}()
	_ = Write(filepath.Join(dir, "f"), Options{}, func(io.Writer) error { panic("x") })
}

// TestFailedWriteIsNotForgotten checks that Write fails if the fill function ignored a write error, such as the error of
// a full disk.
func TestFailedWriteIsNotForgotten(t *testing.T) {
	dir := t.TempDir()
	err := Write(filepath.Join(dir, "f"), Options{}, func(w io.Writer) error {
		f := w.(*file)
		f.file.Close() // simulates a full disk
		if _, err := f.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), f.path) {
			t.Errorf("Write = %v, want an error with the name of the target", err)
		}
		return nil
	})
	if err == nil {
		t.Error("no error")
	}
	holds(t, dir)
}

func TestTargetThatAppearsMeanwhile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	err := Write(path, Options{}, func(w io.Writer) error {
		return errors.Join(os.WriteFile(path, []byte("theirs"), 0o666), text("ours")(w))
	})
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want fs.ErrExist", err)
	}
	holds(t, dir, "f", "theirs")
}

func TestOneOfManyWins(t *testing.T) {
	for name, rename := range map[string]func(f *file) error{
		"link":  (*file).rename,
		"claim": (*file).claim,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			files := make([]*file, 8)
			for i := range files {
				var f *file
				to, err := find(path, Options{})
				if err == nil {
					f, err = to.begin(path, Options{})
				}
				if err == nil {
					_, err = f.Write([]byte("x"))
				}
				if err != nil {
					t.Fatal(err)
				}
				files[i] = f
			}
			var won atomic.Int32
			var wg sync.WaitGroup
			for _, f := range files {
				wg.Go(func() {
					defer f.abort()
					err := rename(f)
					if err == nil {
						won.Add(1)
					} else if !errors.Is(err, fs.ErrExist) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				t.Errorf("%d won, want 1", won.Load())
			}
			holds(t, dir, "f", "x")
		})
	}
}

func TestDanglingLinkIsAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.Symlink("nowhere", path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := Write(path, Options{}, text("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want fs.ErrExist", err)
	}
}

func TestErrorsNameTheTarget(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing", "f")
	if err := Write(missing, Options{}, text("x")); !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "create "+missing+": ") {
		t.Errorf("in a directory that is not there: %v", err)
	}
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Write(sub, Options{Replace: true}, text("x")); err == nil || !strings.Contains(err.Error(), sub) ||
		strings.Contains(err.Error(), ".tmp") {
		t.Errorf("over a directory: %v", err)
	}
}

func TestLongName(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("n", 255)
	if err := Write(filepath.Join(dir, name), Options{}, text("x")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, name, "x")
}
