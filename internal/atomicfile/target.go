package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/opm-toolchain/opm/internal/regular"
)

// A target is what a path leads to: a file to create or replace, or a stream to write to.
type target struct {
	root   *os.Root // directory of the file; nil for a stream
	name   string   // in root
	linked bool     // the path is a link
	stream *os.File // nil for a file
}

// find returns the target of a path, without changing anything. The caller closes root or stream.
func find(path string, opts Options) (t target, err error) {
	open, lstat := os.OpenRoot, os.Lstat
	var named fs.FileInfo // of the file at path, as the system follows links
	if opts.Root != nil {
		open, lstat = opts.Root.OpenRoot, opts.Root.Lstat
	} else {
		_, isDescriptor := regular.Descriptor(path)
		switch named, err = os.Stat(path); {
		case isDescriptor && !opts.Stream:
			return t, errDescriptor
		case isDescriptor, opts.Stream && err == nil && isStream(named.Mode()):
			t.stream, err = openStream(path, isDescriptor)
			return t, err
		}
	}
	if !opts.Replace {
		if _, err := lstat(path); err == nil {
			return t, fs.ErrExist // early, before the content is produced: rename decides
		}
	}
	t, found, err := follow(path, open)
	if err != nil {
		return t, err
	}
	switch {
	case found != nil && !found.Mode().IsRegular():
		err = regular.Check(found.Mode())
	case t.linked && named != nil && (found == nil || !os.SameFile(named, found)):
		// Another process may have replaced the file meanwhile.
		if again, statErr := os.Stat(path); statErr == nil && os.SameFile(named, again) {
			err = errMagic
		}
	}
	if err != nil {
		_ = t.root.Close() // nothing was written to it
	}
	return t, err
}

var errDescriptor = fmt.Errorf("%w: a descriptor of the process", regular.ErrNotRegular)

// errMagic is the error for a link whose text does not lead where the link does, such as one in /proc/1/fd.
var errMagic = fmt.Errorf("%w: a link of the system to an open file", regular.ErrNotRegular)

// maxLinks is the maximum number of links that are followed, as on Linux.
const maxLinks = 40

// follow returns the file that a path leads to, and its file info, which is nil if the file does not exist.
func follow(path string, open func(dir string) (*os.Root, error)) (t target, found fs.FileInfo, err error) {
	for links := range maxLinks {
		dir, name := filepath.Split(path)
		root, err := open(cmp.Or(dir, "."))
		if err != nil {
			return t, nil, err
		}
		found, err := root.Lstat(name)
		t := target{root: root, name: name, linked: links > 0}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return t, nil, nil
		case err == nil && found.Mode().Type() != fs.ModeSymlink:
			return t, found, nil
		case err == nil:
			path, err = root.Readlink(name)
		}
		if err = errors.Join(err, root.Close()); err != nil {
			return t, nil, err
		}
		if !filepath.IsAbs(path) {
			path = dir + path // not cleaned: dir may end with a link, and path begin with ".."
		}
	}
	return t, nil, syscall.ELOOP
}

// isStream reports whether a file can only be written to: a device or a named pipe.
func isStream(mode fs.FileMode) bool { return mode&(fs.ModeDevice|fs.ModeNamedPipe) != 0 }

// openStream opens a device, a named pipe or a descriptor of the process for writing.
func openStream(path string, isDescriptor bool) (*os.File, error) {
	f, err := regular.CreateNamed(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !isDescriptor && !isStream(info.Mode()) { // it was replaced
		err = fs.ErrExist
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// writeStream writes to a stream what fill produces, once fill has succeeded, and closes the stream.
func writeStream(path string, stream *os.File, fill func(io.Writer) error) (err error) {
	defer func() {
		if closeErr := stream.Close(); err == nil && closeErr != nil {
			err = pathError("write", path, closeErr)
		}
	}()
	spool, err := NewUnnamed("")
	if err != nil {
		return pathError("write", path, err)
	}
	defer spool.Close()
	f := &file{path: path, file: spool.File}
	if err := fill(f); err != nil {
		return err
	}
	if f.failed != nil {
		return f.failed
	}
	if _, err = spool.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(stream, spool.File)
	}
	if err != nil {
		return pathError("write", path, err)
	}
	return nil
}
