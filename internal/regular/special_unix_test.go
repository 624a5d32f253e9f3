//go:build unix

package regular_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// special creates a named pipe, a socket and links to devices in dir, and adds the expected error of Open for each to
// want.
func special(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	listen(t, dir)
	want["pipe"], want["socket"] = "found a named pipe", "found a socket"
	for name, target := range map[string]string{
		"to pipe": "pipe", "to socket": "sub/../socket", "to device": os.DevNull, "endless": "/dev/zero",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	want["to pipe"], want["to socket"] = "found a named pipe", "found a socket"
	want["to device"], want["endless"] = "found a device", "found a device"
}
