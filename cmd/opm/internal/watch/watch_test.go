package watch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fsnotify/fsnotify"
)

// follow returns a Watcher of a new directory.
func follow(t *testing.T) (w *Watcher, dir string) {
	t.Helper()
	dir = t.TempDir()
	w, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.Follow(); err != nil {
		t.Fatal(err)
	}
	return w, dir
}

func wantChange(t *testing.T, w *Watcher, want string) {
	t.Helper()
	if got, err := w.Wait(t.Context()); got != want || err != nil {
		t.Errorf("got the change of %q, %v, want %q", got, err, want)
	}
}

// TestWait checks that a change of permissions is ignored and that the first changed file is reported, also below new
// directories.
func TestWait(t *testing.T) {
	w, dir := follow(t)
	name := filepath.Join(dir, "oak", "catalog.yaml")
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantChange(t, w, name)
}

// TestLostEvents checks that lost events count as a change, since any file may have changed.
func TestLostEvents(t *testing.T) {
	w, dir := follow(t)
	go func() { w.events.Errors <- fsnotify.ErrEventOverflow }()
	wantChange(t, w, dir)
}

// TestTemporaryFiles checks that the files that editors write beside the one they save are ignored.
func TestTemporaryFiles(t *testing.T) {
	w, dir := follow(t)
	for _, name := range []string{".c.yaml.swp", "4913", "c.yaml~", "#c.yaml#", ".#c.yaml", "c.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantChange(t, w, filepath.Join(dir, "c.yaml"))
}
