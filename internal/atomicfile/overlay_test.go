package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFS checks the future content of a directory that exists, of a new one, and of one in a root.
func TestFS(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/index.yaml": "old", "a/README.md": "kept", "c/index.yaml": "removed", "d/index.yaml": "other",
	} {
		path := filepath.Join(dir, "catalog", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	before := list(t, dir)
	for _, tx := range []*Tx{{}, {Root: root}, {Root: root, DryRun: true}} {
		at := func(name string) string {
			if tx.Root != nil {
				return name
			}
			return filepath.Join(dir, name)
		}
		err := errors.Join(tx.Write(at("catalog/a/index.yaml"), 0, text("new")), tx.Remove(at("catalog/c/index.yaml")),
			tx.Write(at("catalog/b/index.yaml"), 0, text("dropped")), tx.Write(at("catalog/b/index.yaml"), 0, text("added")),
			tx.Write(at("catalog/e/index.yaml"), 0, text("dropped")), tx.Write(at("new/sub/f"), 0, text("first")))
		if err != nil {
			t.Fatal(err)
		}
		tx.Select(at("new/sub/f"), at("catalog/a/index.yaml"), at("catalog/b/index.yaml"), at("catalog/c/index.yaml"))
		catalog := tx.FS(at("catalog"))
		var files []string
		err = fs.WalkDir(catalog, ".", func(name string, e fs.DirEntry, err error) error {
			if !e.IsDir() {
				files = append(files, name)
			}
			return err
		})
		if got := strings.Join(files, " "); err != nil || got != "a/README.md a/index.yaml b/index.yaml d/index.yaml" {
			t.Errorf("the files are %s, %v", got, err)
		}
		for name, want := range map[string]string{"a/index.yaml": "new", "a/README.md": "kept", "b/index.yaml": "added"} {
			if got, err := fs.ReadFile(catalog, name); err != nil || string(got) != want {
				t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
			}
		}
		if _, err := fs.ReadFile(catalog, "c/index.yaml"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a removed file: %v", err)
		}
		if entries, err := fs.ReadDir(tx.FS(at("none")), "."); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing directory: %v, %v", entries, err)
		}
		if err := fs.WalkDir(tx.FS(at("new")), ".", func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			t.Errorf("a new directory: %v", err)
		}
		if text, err := fs.ReadFile(tx.FS(at("new")), "sub/f"); err != nil || string(text) != "first" {
			t.Errorf("in a new directory: %q, %v", text, err)
		}
		if tx.DryRun {
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
		}
		if tx.Close(); list(t, dir) != before {
			t.Errorf("after Close: %s, want %s", list(t, dir), before)
		}
	}
}
