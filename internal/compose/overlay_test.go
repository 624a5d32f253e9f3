package compose

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOverlay(t *testing.T) {
	upper, lower := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(upper, "a/index.yaml"): "new",
		filepath.Join(upper, "b/index.yaml"): "added",
		filepath.Join(lower, "a/index.yaml"): "old",
		filepath.Join(lower, "a/README.md"):  "kept",
		filepath.Join(lower, "c/index.yaml"): "removed",
		filepath.Join(lower, "d/index.yaml"): "other",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	o := overlay{upper: os.DirFS(upper), lower: os.DirFS(lower), hidden: []string{"c/index.yaml"}}
	var files []string
	err := fs.WalkDir(o, ".", func(name string, e fs.DirEntry, err error) error {
		if !e.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if got := strings.Join(files, " "); err != nil || got != "a/README.md a/index.yaml b/index.yaml d/index.yaml" {
		t.Errorf("the files are %s, %v", got, err)
	}
	for name, want := range map[string]string{"a/index.yaml": "new", "a/README.md": "kept", "b/index.yaml": "added"} {
		if got, err := fs.ReadFile(o, name); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := fs.ReadFile(o, "c/index.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed file: %v", err)
	}

	o.lower = os.DirFS(filepath.Join(lower, "none"))
	if entries, err := fs.ReadDir(o, "."); err != nil || len(entries) != 2 {
		t.Errorf("over nothing are %v, %v", entries, err)
	}
}
