//go:build unix

package regular

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pipe creates a named pipe, and shortens the timeout for its other end.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	before := waitForPipe
	t.Cleanup(func() { waitForPipe = before })
	waitForPipe = 50 * time.Millisecond
	return path
}

func TestReadNamed(t *testing.T) {
	path := pipe(t)
	waitForPipe = time.Minute
	go os.WriteFile(path, []byte("text"), 0o666)
	if text, err := ReadNamed(path); string(text) != "text" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := ReadNamed("/dev/zero"); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "/dev/zero: ") {
		t.Errorf("without an end: got %v", err)
	}
	if _, err := ReadPath("/dev/zero"); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), "/dev/zero: ") {
		t.Errorf("as a file that another one names: got %v", err)
	}
}

func TestPipeWithoutOtherEnd(t *testing.T) {
	path := pipe(t)
	if text, err := ReadNamed(path); err == nil || !strings.Contains(err.Error(), path+": a named pipe that nobody writes to") {
		t.Errorf("read: got %q, %v", text, err)
	}
	if _, err := CreateNamed(path, os.O_WRONLY, 0); err == nil ||
		!strings.Contains(err.Error(), path+": a named pipe that nobody reads from") {
		t.Errorf("write: got %v", err)
	}
}
