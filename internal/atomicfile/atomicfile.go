// Package atomicfile writes files that appear as a whole or not at all. The bytes go to a file next to the target,
// which takes the target's name once all of them are on the disk.
//
//	err := atomicfile.Write("catalog.Dockerfile", atomicfile.Options{}, func(w io.Writer) error {
//		_, err := catalog.WriteTo(w)
//		return err
//	})
package atomicfile

import (
	"cmp"
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
	// Root is the directory that path is in, and that nothing is written outside of. Nil takes path as the system does.
	Root *os.Root
	// Mode is that of the file, less the umask; zero is 0666.
	Mode fs.FileMode
}

// Write creates the file at path with what fill writes. If fill or anything else fails, there is no new file and an old
// one is unchanged. An error of fill is returned as it is.
func Write(path string, opts Options, fill func(io.Writer) error) error {
	f, err := create(path, opts)
	if err != nil {
		return err
	}
	defer f.abort()
	if err := fill(f); err != nil {
		return err
	}
	return f.commit()
}

// Symlink creates a symbolic link to target. It replaces what has that name in root, unless that is a directory.
func Symlink(root *os.Root, target, name string) error {
	tmp, err := createBeside(name, func(tmp string) error { return root.Symlink(target, tmp) })
	if err != nil {
		return pathError("create", name, err)
	}
	if err := root.Rename(tmp, name); err != nil {
		return errors.Join(pathError("create", name, err), root.Remove(tmp))
	}
	return nil
}

// A file is written and then committed or aborted. It is for one goroutine.
type file struct {
	path   string // for errors
	opts   Options
	root   *os.Root // closed at the end, unless it is that of the options
	name   string   // in root
	tmp    string
	file   *os.File // called tmp
	failed error    // the first failure of Write
	done   bool
}

// create begins a file at path. The directory must exist.
func create(path string, opts Options) (*file, error) {
	f := &file{path: path, opts: opts, root: opts.Root, name: path}
	err := f.create()
	if err != nil {
		f.closeRoot()
		return nil, pathError("create", path, err)
	}
	return f, nil
}

func (f *file) create() (err error) {
	if f.root == nil {
		dir, name := filepath.Split(f.path)
		if f.root, err = os.OpenRoot(cmp.Or(dir, ".")); err != nil {
			return err
		}
		f.name = name
	}
	if !f.opts.Replace {
		// Only to fail before the work is done: commit is what decides.
		if _, err := f.root.Lstat(f.name); err == nil {
			return fs.ErrExist
		}
	}
	f.tmp, err = createBeside(f.name, func(tmp string) (err error) {
		f.file, err = f.root.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, cmp.Or(f.opts.Mode, 0o666))
		return err
	})
	return err
}

func (f *file) closeRoot() {
	if f.root != nil && f.root != f.opts.Root {
		_ = f.root.Close() // nothing was written to it
	}
}

// createBeside calls create with a new name in the directory of path, and returns it. The name owes nothing to that of
// path, which may be as long as a name can be.
func createBeside(path string, create func(tmp string) error) (string, error) {
	for {
		tmp := filepath.Join(filepath.Dir(path), ".opm-"+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
		if err := create(tmp); !errors.Is(err, fs.ErrExist) {
			return tmp, err
		}
	}
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
	if f.failed != nil {
		return f.failed
	}
	if err := f.file.Sync(); err != nil {
		return pathError("write", f.path, err)
	}
	if err := f.file.Close(); err != nil {
		return pathError("write", f.path, err)
	}
	if err := f.rename(); err != nil {
		return pathError("create", f.path, err)
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
	f.closeRoot()
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
