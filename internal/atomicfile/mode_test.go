//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMode sets modes that the umask would mask.
func TestMode(t *testing.T) {
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	defer syscall.Umask(syscall.Umask(0o277))
	dir := filepath.Join(parent, "a", "b")
	for range 2 {
		err := errors.Join(MkdirAll(dir, 0o755),
			Write(filepath.Join(dir, "f"), Options{Replace: true, Mode: 0o644}, text("1")))
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]fs.FileMode{"": 0o700, "a": 0o755, "a/b": 0o755, "a/b/f": 0o644} {
		info, err := os.Stat(filepath.Join(parent, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%q has mode %o, want %o", name, got, want)
		}
	}
	if err := MkdirAll(filepath.Join(dir, "f", "d"), 0o755); err == nil {
		t.Error("a directory in a file: no error")
	}
	if err := MkdirAll(filepath.Join(dir, "f"), 0o755); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory in place of a file: got %v", err)
	}
}
