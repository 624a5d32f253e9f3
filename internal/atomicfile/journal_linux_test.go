package atomicfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestKilledTxOfMount checks that a directory with two paths has one journal for the files of both paths.
func TestKilledTxOfMount(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "v1"), filepath.Join(dir, "mount")
	startTx(t, dir)
	if err := os.Mkdir(second, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(first, second, "", syscall.MS_BIND, ""); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := syscall.Unmount(second, 0); err != nil {
			t.Error(err)
		}
	}()
	killed := filepath.Join(t.TempDir(), "killed")
	t.Run("", func(t *testing.T) {
		step := remove
		t.Cleanup(func() { remove = step })
		remove = func(root *os.Root, name string) error {
			remove = step
			copyTree(t, first, killed)
			return step(root, name)
		}
		err := ChangeAll([]Change{
			{Path: filepath.Join(second, "b"), Fill: text("newer")}, {Path: filepath.Join(first, "a"), Fill: text("newer")},
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	_ = RemoveStale(killed, false) // it reports the files it rolled back
	if got, want := list(t, killed), "a=old b=old"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
