//go:build unix

package regular

import (
	"errors"
	"fmt"
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
	if _, err := OpenRoot(path); !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), path+": ") {
		t.Errorf("as a directory: got %v", err)
	}
}

// TestCreateDescriptor checks that a file that the process has open is neither truncated nor written from its beginning.
func TestCreateDescriptor(t *testing.T) {
	if _, err := os.Stat("/dev/fd"); err != nil {
		t.Skip("needs /dev/fd")
	}
	own, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(fmt.Sprintf("/dev/fd/%d", own.Fd()), link); err != nil {
		t.Fatal(err)
	}
	for _, write := range []string{"before ", "", " after"} {
		if write != "" {
			if _, err := own.WriteString(write); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f, err := CreateNamed(link, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("text"); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if got, err := os.ReadFile(own.Name()); string(got) != "before text after" {
		t.Errorf("the file has %q, %v", got, err)
	}
	const closed = 1<<31 - 1
	if _, err := CreateNamed(fmt.Sprintf("/dev/fd/%d", closed), os.O_WRONLY, 0); err == nil {
		t.Error("a descriptor that is not open was opened")
	}
	if _, ok := Descriptor(own.Name()); ok {
		t.Error("a file is taken for a descriptor")
	}
}
