package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A Change is a file that ChangeAll writes or, if Fill is nil, removes.
type Change struct {
	Path string
	Mode fs.FileMode
	Fill func(io.Writer) error
}

// ChangeAll makes the changes in one transaction.
func ChangeAll(changes []Change) error {
	var tx Tx
	defer tx.Close()
	for _, c := range changes {
		var err error
		if c.Fill == nil {
			err = tx.Remove(c.Path)
		} else {
			err = tx.Write(c.Path, c.Mode, c.Fill)
		}
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

// WriteAll writes files in one transaction.
func WriteAll(paths []string, fill func(path string, w io.Writer) error) error {
	var changes []Change
	for _, path := range paths {
		changes = append(changes, Change{Path: path, Fill: func(w io.Writer) error { return fill(path, w) }})
	}
	return ChangeAll(changes)
}

func TestWriteAll(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "a", "b", "new")
	write := func(fill func(string, io.Writer) error, paths ...string) error {
		t.Helper()
		if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		return WriteAll(paths, fill)
	}
	base := func(path string, w io.Writer) error { return text("the " + filepath.Base(path))(w) }

	if err := write(base, old, fresh); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Dir(fresh), "new", "the new")
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, "old", "the old")

	broken := errors.New("broken")
	err := write(func(path string, w io.Writer) error {
		if path == fresh {
			return broken
		}
		return base(path, w)
	}, old, fresh)
	if err != broken {
		t.Errorf("got %v", err)
	}
	holds(t, dir, "old", "old")
	if err := write(base, old, filepath.Join(old, "x")); err == nil {
		t.Error("a file in a file was written")
	}
	holds(t, dir, "old", "old")
}

// TestWriteAllRestores checks that files already renamed are restored if a later one cannot be renamed.
func TestWriteAllRestores(t *testing.T) {
	dir := t.TempDir()
	old, fresh, taken := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		want error
		take func() error
	}{
		{"a directory", ErrInTheWay, func() error { return os.Mkdir(taken, 0o700) }},
		{"a temporary file that is gone", os.ErrNotExist, func() error {
			entries, err := os.ReadDir(dir)
			for _, e := range entries {
				if IsTemp(e.Name()) {
					if text, _ := os.ReadFile(filepath.Join(dir, e.Name())); string(text) == taken {
						err = os.Remove(filepath.Join(dir, e.Name()))
					}
				}
			}
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			last := filepath.Join(dir, "d")
			err := WriteAll([]string{old, fresh, taken, last}, func(path string, w io.Writer) error {
				if path == last {
					return tt.take()
				}
				return text(path)(w)
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			_ = os.Remove(taken)
			holds(t, dir, "a", "old")
		})
	}
}

// TestChangeAll checks that files are written and removed together, and restored after a failure.
func TestChangeAll(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(at(name), []byte("old "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := ChangeAll([]Change{
		{Path: at("a"), Fill: text("new")}, {Path: at("b")}, {Path: at("d/e"), Fill: text("new")}, {Path: at("missing")},
	})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want an error about a missing file", err)
	}
	if got, want := list(t, dir), "a=old a b=old b c=old c"; got != want {
		t.Errorf("after a failure: got %s, want %s", got, want)
	}
	err = ChangeAll([]Change{{Path: at("a"), Mode: 0o640, Fill: text("new")}, {Path: at("b")}})
	if got, want := list(t, dir), "a=new c=old c"; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if info, err := os.Stat(at("a")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
}

// TestEmptyDirectoryStays checks that a failed transaction removes the directories that it created, and no others.
func TestEmptyDirectoryStays(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "empty", "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	tx := Tx{Root: root}
	defer tx.Close()
	err = errors.Join(tx.Write("empty/below/a", 0, text("new")), tx.Write("empty/fresh/a", 0, text("new")),
		tx.Write("empty/fresh/b/c", 0, text("new")), tx.Write("taken", 0, text("new")))
	step := rename
	defer func() { rename = step }()
	rename = func(root *os.Root, from, to string) error {
		if to == "taken" {
			return os.ErrPermission
		}
		return step(root, from, to)
	}
	if err := errors.Join(err, tx.Commit()); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if got, want := list(t, dir), "empty empty/below"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
