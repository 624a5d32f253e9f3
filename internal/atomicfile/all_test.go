package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

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
