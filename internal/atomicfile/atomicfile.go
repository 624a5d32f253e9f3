// Package atomicfile writes files that appear as a whole or not at all. The bytes go to a file beside the target,
// which takes the target's name once all of them are on the disk.
//
//	err := atomicfile.Write("catalog.Dockerfile", atomicfile.Options{}, func(w io.Writer) error {
//		_, err := catalog.WriteTo(w)
//		return err
//	})
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// Options say how a file is written. The zero value is the default.
type Options struct {
	// Replace puts the new file in the place of one that is there. Without it, a target that exists, be it a dangling
	// link, is an error that wraps fs.ErrExist, also when it came into being while the new file was written.
	Replace bool
}

// Write makes the file at path out of what fill writes. Where fill or anything else fails there is no new file, an
// old one is as it was, and the error of fill comes back as it is.
func Write(path string, opts Options, fill func(io.Writer) error) error {
	f, err := Create(path, opts)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := fill(f); err != nil {
		return err
	}
	return f.Commit()
}

// A File is written and then committed or aborted. It is for one goroutine.
type File struct {
	tmp    *os.File
	path   string
	opts   Options
	failed error // the first failure of Write
	done   bool
}

// Create begins a file that is to stand at path. Its mode is 0666 less the umask. The directory must exist.
func Create(path string, opts Options) (*File, error) {
	if !opts.Replace {
		// Only to fail before the work is done: Commit is what decides.
		if _, err := os.Lstat(path); err == nil {
			return nil, pathError("create", path, fs.ErrExist)
		}
	}
	tmp, err := createBeside(path)
	if err != nil {
		return nil, pathError("create", path, err)
	}
	return &File{tmp: tmp, path: path, opts: opts}, nil
}

// createBeside opens a new file in the directory of path. The name owes nothing to that of path, which may be as long
// as a name can be.
func createBeside(path string) (*os.File, error) {
	for {
		name := filepath.Join(filepath.Dir(path), ".opm-"+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Write implements io.Writer. After a Write that failed, Commit fails too.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.tmp.Write(p)
	if err != nil {
		err = pathError("write", f.path, err)
		f.failed = errors.Join(f.failed, err)
	}
	return n, err
}

// Commit gives the file its name. Where it fails the file is gone, as after Abort.
func (f *File) Commit() error {
	if f.done {
		return pathError("write", f.path, fs.ErrClosed)
	}
	defer f.Abort()
	if f.failed != nil {
		return f.failed
	}
	if err := f.tmp.Sync(); err != nil {
		return pathError("write", f.path, err)
	}
	if err := f.tmp.Close(); err != nil {
		return pathError("write", f.path, err)
	}
	if err := f.rename(); err != nil {
		return pathError("create", f.path, err)
	}
	return nil
}

func (f *File) rename() error {
	if f.opts.Replace {
		return os.Rename(f.tmp.Name(), f.path)
	}
	// A link, unlike a rename, never takes a name that is taken.
	err := os.Link(f.tmp.Name(), f.path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return claim(f.tmp.Name(), f.path)
}

// claim renames where the file system has no links: it takes the name with an empty file, which only one can do, and
// renames over that.
func claim(tmp, path string) error {
	empty, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = empty.Close()
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// Abort drops the file. After Commit or Abort it does nothing, so it can be deferred.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.tmp.Close()           // closed already on the way through Commit
	_ = os.Remove(f.tmp.Name()) // renamed already after a Commit that replaced
}

// pathError says what was being done to the target, in place of what the system was doing to the file beside it.
func pathError(doing, path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		err = linkErr.Err
	}
	return fmt.Errorf("%s %s: %w", doing, path, err)
}
