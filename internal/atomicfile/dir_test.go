package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fill writes files: name, content, name, content.
func fill(files ...string) func(*os.Root) error {
	return func(root *os.Root) error {
		for file := range slices.Chunk(files, 2) {
			err := errors.Join(root.MkdirAll(filepath.Dir(file[0]), 0o777), root.WriteFile(file[0], []byte(file[1]), 0o666))
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// list returns all entries below dir, files with their content.
func list(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if text, failed := os.ReadFile(path); failed == nil {
			name += "=" + string(text)
		}
		all = append(all, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestNewDir(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name, before, dir, want string
	}{
		{"new", "", "d", "d d/a d/a/b=1"},
		{"directories above", "", "x/y/d/", "x x/y x/y/d x/y/d/a x/y/d/a/b=1"},
		{"empty", "d/", "d", "d d/a d/a/b=1"},
		{"empty but for what was left behind", "d/.opm-1.tmp/", "d", "d d/a d/a/b=1"},
		{"not empty", "d/x/", "d", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parent := t.TempDir()
			if err := os.MkdirAll(filepath.Join(parent, tt.before), 0o700); err != nil {
				t.Fatal(err)
			}
			before := strings.TrimSuffix(list(t, parent), " d/.opm-1.tmp")
			dir := filepath.Join(parent, tt.dir)
			fails := func(root *os.Root) error { return errors.Join(fill("a/b", "1")(root), broken) }
			if err := NewDir(dir, fails); (tt.want != "") != errors.Is(err, broken) {
				t.Errorf("error %v, want %v", err, broken)
			}
			if got := list(t, parent); got != before {
				t.Errorf("after an error: %s, want %s", got, before)
			}
			err := NewDir(dir, fill("a/b", "1"))
			if tt.want == "" {
				tt.want = before
				if !errors.Is(err, ErrNotEmpty) {
					t.Errorf("error %v, want ErrNotEmpty", err)
				}
			} else if err != nil {
				t.Error(err)
			}
			if got := list(t, parent); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if info, err := os.Stat(filepath.Join(parent, "d")); err == nil && tt.before != "" && info.Mode().Perm() != 0o700 {
				t.Errorf("mode %v", info.Mode())
			}
		})
	}
}

// TestNewDirHere fills the current directory, which must remain the same directory.
func TestNewDirHere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	for n, path := range []string{".", dir} {
		if n > 0 {
			if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
				t.Fatal(err)
			}
		}
		if err := NewDir(path, fill("a/b", "1")); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(dir)
		if got := list(t, dir); err != nil || got != "a a/b=1" || !os.SameFile(before, after) {
			t.Errorf("%s: got %s, %v", path, got, err)
		}
	}
}

func TestMerge(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	broken := errors.New("broken")
	for _, tt := range []struct {
		fill func(*os.Root) error
		err  error
		want string
	}{
		{fill("a/b", "1", "c", "2"), nil, "a a/b=1 c=2"},
		{fill("a/b", "3", "a/d/e", "4"), nil, "a a/b=3 a/d a/d/e=4 c=2"},
		{fill("a/n", "5", "c/d", "6"), ErrInTheWay, "a a/b=3 a/d a/d/e=4 c=2"},
		{fill("a/d", "5"), ErrInTheWay, "a a/b=3 a/d a/d/e=4 c=2"},
		{func(root *os.Root) error { return errors.Join(fill("z", "1")(root), broken) }, broken, "a a/b=3 a/d a/d/e=4 c=2"},
	} {
		if err := Merge(root, tt.fill); !errors.Is(err, tt.err) {
			t.Errorf("error %v, want %v", err, tt.err)
		}
		if got := list(t, dir); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	m := merger{root: root}
	if err := m.plan(root, []string{"a", "c"}); err != nil || m.moves[len(m.moves)-1].name != "c" {
		t.Errorf("moves %v, %v: want c last", m.moves, err)
	}
}

// TestStale checks that leftovers are removed, and that files being written by others are not.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".opm-file.tmp", ".opm-dir.tmp/x", ".opm-other", "opm.tmp"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	f, unlock, err := Temp(dir)
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Base(f.Name())
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	err = Merge(root, func(*os.Root) error {
		for range 2 {
			if err := Write(filepath.Join(dir, "f"), Options{Replace: true}, text("1")); err != nil {
				return err
			}
		}
		if got := strings.Fields(list(t, dir)); len(got) != 5 {
			t.Errorf("while two write: %q", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := list(t, dir), mine+"= .opm-other= f=1 opm.tmp="; !sameWords(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := io.WriteString(f, "x"); err != nil {
		t.Error(err)
	}
	f.Close()
	unlock()
	if err := Write(filepath.Join(dir, "f"), Options{Replace: true}, text("2")); err != nil {
		t.Error(err)
	}
	if got := list(t, dir); got != ".opm-other= f=2 opm.tmp=" {
		t.Errorf("after unlock: %s", got)
	}
}

func sameWords(a, b string) bool {
	return slices.Equal(slices.Sorted(strings.FieldsSeq(a)), slices.Sorted(strings.FieldsSeq(b)))
}
