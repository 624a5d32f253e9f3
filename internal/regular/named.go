package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// MaxInput is how many bytes are read of a file that is named to opm, other than a catalog or an image.
const MaxInput = 64 << 20

// waitForPipe is how long a named pipe may lack its other end. Tests set it.
var waitForPipe = 5 * time.Second

// ReadPath returns what the file at a path of the system contains, which must be a regular one of at most [MaxInput]
// bytes: a file that another file names, or that opm looks for itself. The errors are those of [ReadFile].
func ReadPath(path string) ([]byte, error) {
	text, err := ReadFile(os.DirFS(filepath.Dir(path)), filepath.Base(path), MaxInput)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = path
	}
	return text, err
}

// ReadNamed returns what a file contains that the user named. It may be a pipe, as of <(command), and at most
// [MaxInput] bytes are read.
func ReadNamed(path string) ([]byte, error) {
	f, err := OpenNamed(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := ReadLimited(f)
	if errors.Is(err, ErrTooLarge) {
		err = pathError(path, err)
	}
	return text, err
}

// ReadLimited returns all of r, or [ErrTooLarge] for more than [MaxInput] bytes.
func ReadLimited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxInput+1))
	if err == nil && len(text) > MaxInput {
		return nil, fmt.Errorf("%w: at most %d MB are read", ErrTooLarge, MaxInput>>20)
	}
	return text, err
}

// OpenNamed opens a file that the user named, for reading. For a named pipe that nobody opens for writing, the error
// says so after a time.
func OpenNamed(path string) (*os.File, error) {
	return open(path, os.O_RDONLY, 0, "writes to")
}

// CreateNamed opens a file that the user named, for writing with the flags of [os.OpenFile]. For a named pipe that
// nobody opens for reading, the error says so after a time.
func CreateNamed(path string, flags int, perm fs.FileMode) (*os.File, error) {
	return open(path, flags, perm, "reads from")
}

func open(path string, flags int, perm fs.FileMode, other string) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		return os.OpenFile(path, flags, perm)
	}
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result, 1)
	go func() {
		f, err := os.OpenFile(path, flags, perm) // waits for the other end
		opened <- result{f, err}
	}()
	select {
	case r := <-opened:
		return r.file, r.err
	case <-time.After(waitForPipe):
	}
	// Opening the other end lets the goroutine go.
	if f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
		defer f.Close()
		r := <-opened
		if r.err == nil {
			r.file.Close()
		}
	}
	return nil, pathError(path, fmt.Errorf("a named pipe that nobody %s, after %v", other, waitForPipe))
}
