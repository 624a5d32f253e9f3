package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullTarget runs each command that writes files on a full disk.
func TestFullTarget(t *testing.T) {
	disk := smallDisk(t)
	if err := os.CopyFS(filepath.Join(disk, "catalog"), os.DirFS(filepath.Join(examples, "catalog"))); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(disk, "ballast"))
	before := strings.Join(names(t, disk), "\n")
	for _, line := range []string{
		"migrate catalog out/deep",
		"generate dockerfile catalog",
		"validate catalog --baseline known.json --write-baseline",
	} {
		got := opm(t, disk, line)
		if got.code != 1 || got.stdout != "" || !strings.HasSuffix(got.stderr, ": no space left on device\n") {
			t.Errorf("opm %s: %+v", line, got)
		}
		if after := strings.Join(names(t, disk), "\n"); after != before {
			t.Errorf("opm %s leaves files: there are now\n%s", line, after)
		}
	}
}

// smallDisk mounts a file system of 64 KB, or skips the test if that is not permitted.
func smallDisk(t *testing.T) string {
	t.Helper()
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// fill writes a file that uses all free space of the disk.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
}
