// Package regular opens files that must be regular, such as the files inside a catalog, a bundle or an image. Opening a
// named pipe waits until another process writes to it, and a device may have no end.
//
//	text, err := regular.ReadFile(fsys, ".indexignore", 1<<20)
//	if errors.Is(err, regular.ErrNotRegular) {
//		// a directory, a named pipe, a socket or a device, or a link to one
//	}
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"syscall"
)

// ErrNotRegular is in the chain of errors about a file that is not regular. Their text names the type of the file.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge is in the chain of errors about a file that is larger than the limit.
var ErrTooLarge = errors.New("the file is too large")

// Open opens a file of fsys, following links, if it is a regular one. It does not wait for a named pipe, and does not
// open a device. The caller closes the file.
//
// The mode is checked by Stat of fsys, and again after opening. In a file system without Stat, such as the result of
// [fs.Sub], a link that leads out of it is ErrNotRegular.
func Open(fsys fs.FS, name string) (fs.File, fs.FileInfo, error) {
	info, err := stat(fsys, name)
	if err == nil {
		err = pathError(name, Check(info.Mode()))
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = pathError(name, Check(info.Mode()))
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// ReadFile returns the content of a regular file of at most limit bytes. The error is from [Open], or ErrTooLarge.
func ReadFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	return ReadFileIn(nil, fsys, name, limit)
}

// ReadFileIn is ReadFile that overwrites buf if the file fits.
func ReadFileIn(buf []byte, fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, info, err := Open(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size := info.Size(); size > limit {
		return nil, pathError(name, fmt.Errorf("%w: it has %d bytes, at most %d are read", ErrTooLarge, size, limit))
	}
	text, err := readAll(buf[:0], io.LimitReader(f, limit+1), info.Size())
	if err == nil && int64(len(text)) > limit { // it grew
		return nil, pathError(name, fmt.Errorf("%w: at most %d bytes are read", ErrTooLarge, limit))
	}
	return text, err
}

// readAll is io.ReadAll into an empty buffer, for a file of about the given size.
func readAll(text []byte, r io.Reader, size int64) ([]byte, error) {
	if int64(cap(text)) <= size {
		text = make([]byte, 0, size+1) // one more to see the end
	}
	for {
		n, err := r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case err == io.EOF:
			return text, nil
		case err != nil:
			return nil, err
		case len(text) == cap(text):
			text = slices.Grow(text, 1)
		}
	}
}

// WithoutPath returns err without the operation and the path of an [fs.PathError], for errors that name the file
// themselves.
func WithoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// Check returns nil for the mode of a regular file, otherwise an ErrNotRegular that names the type of the file.
func Check(mode fs.FileMode) error {
	if mode.IsRegular() {
		return nil
	}
	return kindError(mode.Type())
}

// A kindError is the type of a file that is not regular.
type kindError fs.FileMode

func (e kindError) Is(target error) bool { return target == ErrNotRegular }

func (e kindError) Error() string {
	kind := "a special file"
	switch mode := fs.FileMode(e); {
	case mode.IsDir():
		kind = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return "want a file, found " + kind
}

var errOut = fmt.Errorf("%w: the link leads out of the directory", ErrNotRegular)

// maxLinks is the maximum number of links that are followed, as on Linux.
const maxLinks = 40

// stat is [fs.Stat]. If fsys has links but no Stat method, it follows the links by their targets instead of opening the
// file.
func stat(fsys fs.FS, name string) (fs.FileInfo, error) {
	_, hasStat := fsys.(fs.StatFS)
	links, hasLinks := fsys.(fs.ReadLinkFS)
	if hasStat || !hasLinks {
		return fs.Stat(fsys, name) // a file system with pipes and devices has either
	}
	at := name
	for range maxLinks {
		info, err := links.Lstat(at)
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			return info, err
		}
		target, err := links.ReadLink(at)
		if err != nil {
			return nil, err
		}
		at = path.Join(path.Dir(at), target)
		if path.IsAbs(target) || !fs.ValidPath(at) {
			return nil, pathError(name, errOut)
		}
	}
	return nil, pathError(name, syscall.ELOOP)
}

// pathError adds the name to err, unless that is nil.
func pathError(name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "open", Path: name, Err: err}
}
