// Package atomicfile writes files and directories that appear as a whole or not at all. They are written next to the
// target, under a name such as .opm-1a2b3c.tmp, and take the target's name once all of them is on the disk.
//
//	err := atomicfile.Write("catalog.Dockerfile", atomicfile.Options{}, func(w io.Writer) error {
//		_, err := catalog.WriteTo(w)
//		return err
//	})
//
// What a killed process leaves behind is removed by the next one that writes to the same directory. A lock (flock) says
// that a process is alive: it ends with the process, works across containers, and between hosts as far as the file
// system has locks. Where it has none, what was not modified for an hour counts as left behind.
package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Options say how a file is written. The zero value is the default.
type Options struct {
	// Replace puts the new file in the place of one that is there. Without it, a target that exists, be it a dangling
	// link, is an error that wraps fs.ErrExist, also when it came into being while the new file was written.
	Replace bool

	// Mode is the mode of the file, whatever the umask is. 0 means 0666 less the umask.
	Mode fs.FileMode

	// Root is the directory that path is in, and that nothing is written outside of. Nil takes path as the system does.
	Root *os.Root
}

// Write creates the file at path with what fill writes. If fill or anything else fails, there is no new file and an old
// one is unchanged. An error of fill is returned as it is.
func Write(path string, opts Options, fill func(io.Writer) error) error {
	f, err := begin(path, opts)
	if err != nil {
		return err
	}
	defer f.abort()
	if err := fill(f); err != nil {
		return err
	}
	return f.commit()
}

// MkdirAll creates a directory and those above it that are missing, with a mode, whatever the umask is.
func MkdirAll(dir string, mode fs.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := MkdirAll(filepath.Dir(dir), mode); err != nil {
			return err
		}
		err = os.Mkdir(dir, mode)
	}
	switch info, found := os.Stat(dir); {
	case err == nil:
		return os.Chmod(dir, mode)
	case found == nil && info.IsDir():
		return nil // and its mode is that of whoever created it
	}
	return err
}

// A file is written and then committed or aborted. It is for one goroutine.
type file struct {
	path   string // for errors
	opts   Options
	root   *os.Root
	name   string // in root
	tmp    string
	file   *os.File // called tmp
	unlock func()
	failed error // the first failure of Write
	done   bool
}

// begin begins a file at path. The directory must exist.
func begin(path string, opts Options) (*file, error) {
	dir, name := filepath.Split(path)
	open := os.OpenRoot
	if opts.Root != nil {
		open = opts.Root.OpenRoot
	}
	root, err := open(cmp.Or(dir, "."))
	if err != nil {
		return nil, pathError("create", path, err)
	}
	f := &file{path: path, opts: opts, root: root, name: name}
	if !opts.Replace {
		// Only to fail before the work is done: commit is what decides.
		if _, err = f.root.Lstat(f.name); err == nil {
			err = fs.ErrExist
		} else {
			err = nil
		}
	}
	if err == nil {
		f.tmp, f.file, f.unlock, err = tempFile(f.root, 0o666)
	}
	if err != nil {
		_ = f.root.Close() // nothing was written to it
		return nil, pathError("create", path, err)
	}
	return f, nil
}

// Write implements io.Writer. After a Write that failed, commit fails too.
func (f *file) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	if err != nil {
		err = pathError("write", f.path, err)
		f.failed = errors.Join(f.failed, err)
	}
	return n, err
}

// commit gives the file its name. If it fails, the file is removed, as after abort.
func (f *file) commit() error {
	if f.done {
		return pathError("write", f.path, fs.ErrClosed)
	}
	defer f.abort()
	if err := f.finish(); err != nil {
		return err
	}
	if err := f.rename(); err != nil {
		return pathError("create", f.path, err)
	}
	return nil
}

// finish puts all of the file on the disk.
func (f *file) finish() error {
	if f.failed != nil {
		return f.failed
	}
	if f.opts.Mode != 0 {
		if err := f.file.Chmod(f.opts.Mode); err != nil {
			return pathError("create", f.path, err)
		}
	}
	if err := f.file.Sync(); err != nil {
		return pathError("write", f.path, err)
	}
	if err := f.file.Close(); err != nil {
		return pathError("write", f.path, err)
	}
	return nil
}

func (f *file) rename() error {
	if f.opts.Replace {
		return f.root.Rename(f.tmp, f.name)
	}
	// A link, unlike a rename, never takes a name that is taken.
	err := f.root.Link(f.tmp, f.name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.claim()
}

// claim renames where the file system has no links: it takes the name with an empty file, which only one can do, and
// renames over that.
func (f *file) claim() error {
	empty, err := f.root.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = empty.Close()
	if err == nil {
		err = f.root.Rename(f.tmp, f.name)
	}
	if err != nil {
		return errors.Join(err, f.root.Remove(f.name))
	}
	return nil
}

// abort drops the file. After commit or abort it does nothing, so it can be deferred.
func (f *file) abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.file.Close()       // commit closed it already
	_ = f.root.Remove(f.tmp) // renamed already after a commit that replaced
	f.unlock()
	_ = f.root.Close() // nothing was written to it
}

// pathError replaces the operation and path of err, which are those of the temporary file, by those of the target.
func pathError(doing, path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		err = linkErr.Err
	}
	return fmt.Errorf("%s %s: %w", doing, path, err)
}
