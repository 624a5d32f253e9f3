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

// MaxInput is the maximum size in bytes of input files other than catalogs and images.
const MaxInput = 64 << 20

// waitForPipe is the timeout for the other end of a named pipe to be opened. Tests set it.
var waitForPipe = 5 * time.Second

// ReadPath returns the content of a file that another file names, or that opm looks for itself. It must be a regular
// file of at most [MaxInput] bytes. The errors are the same as from [ReadFile].
func ReadPath(path string) ([]byte, error) {
	text, err := ReadFile(os.DirFS(filepath.Dir(path)), filepath.Base(path), MaxInput)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = path
	}
	return text, err
}

// ReadNamed returns the content of a file that the user named. It may be a pipe, such as <(command), and must have at
// most [MaxInput] bytes.
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

// OpenNamed opens a file that the user named, for reading. It returns an error if no process opens a named pipe for
// writing within a few seconds.
func OpenNamed(path string) (*os.File, error) {
	return open(path, os.O_RDONLY, 0, "writes to")
}

// CreateNamed opens a file that the user named, for writing, with the flags of [os.OpenFile]. It returns an error if no
// process opens a named pipe for reading within a few seconds. For a [Descriptor] it returns a duplicate: opened again,
// a file would be written from its beginning, and a socket cannot be opened.
func CreateNamed(path string, flags int, perm fs.FileMode) (*os.File, error) {
	if fd, ok := Descriptor(path); ok {
		f, err := duplicate(fd, path)
		return f, pathError(path, err)
	}
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

// OpenRoot is [os.OpenRoot] that does not wait for a named pipe in place of the directory.
func OpenRoot(dir string) (*os.Root, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, pathError(dir, syscall.ENOTDIR)
	}
	return os.OpenRoot(dir)
}

// Directory returns the file info of an existing directory.
func Directory(name string) (fs.FileInfo, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("directory %q does not exist", name)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%q is not a directory", name)
	}
	return info, nil
}
