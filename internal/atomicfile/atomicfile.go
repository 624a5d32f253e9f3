// Package atomicfile writes files and directories that appear completely or not at all. They are written next to the
// target, under a name such as .opm-1a2b3c.tmp, and renamed to the target once they are completely on disk.
//
//	err := atomicfile.Write("catalog.Dockerfile", atomicfile.Options{}, func(w io.Writer) error {
//		_, err := catalog.WriteTo(w)
//		return err
//	})
//
// Several files that belong together change in a [Tx].
//
// Leftovers of a killed process are removed by the next one that writes to the same directory. A lock (flock) shows
// that the process is alive: it ends with the process and works across containers, and across hosts if the file system
// supports locks. Without locks, an entry that was not modified for an hour counts as a leftover.
//
// A path that a user named may also be a link, which is followed, or a device or a named pipe: see [Options].
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opm-toolchain/opm/internal/regular"
)

// Options control how a file is written. The zero value is the default.
type Options struct {
	// Replace allows the new file to replace an existing one. A symbolic link is followed: the link stays, and the file
	// that it leads to is replaced, or created if there is none. The new file has the owner and the group of the existing
	// one as far as the user may set them.
	//
	// Without Replace, an existing target, even a dangling link, is an error that wraps fs.ErrExist, also if it appears
	// while the new file is being written.
	Replace bool

	// Stream allows a target that is a device, a named pipe, a descriptor of the process such as /dev/stdout, or a link
	// to one. It is written to, with or without Replace, once fill has produced all content. Without Stream, such a
	// target is an error that wraps [regular.ErrNotRegular], and never replaced. So is a socket or a directory, always.
	Stream bool

	// Mode is the mode of the file, regardless of the umask. 0 means 0666 less the umask.
	Mode fs.FileMode

	// Root is the directory that path is relative to; nothing is written outside of it. If nil, path is resolved by the
	// operating system.
	Root *os.Root
}

// Write creates the file at path with the content that fill writes. After any failure there is no new file, and an
// existing one is unchanged; a stream that cannot be written to may have a part of the content. An error from fill is
// returned unchanged.
func Write(path string, opts Options, fill func(io.Writer) error) error {
	t, err := find(path, opts)
	if err != nil {
		return pathError("create", path, err)
	}
	if t.stream != nil {
		return writeStream(path, t.stream, fill)
	}
	f, err := t.begin(path, opts)
	if err != nil {
		return err
	}
	defer f.abort()
	if err := fill(f); err != nil {
		return err
	}
	if err := f.finish(); err != nil {
		return err
	}
	if err := f.rename(); err != nil {
		return pathError("create", path, err)
	}
	return nil
}

// Remove removes the file that [Write] created or replaced at path, and follows links as Write does. It does nothing if
// the target is a stream.
func Remove(path string) error {
	t, err := find(path, Options{Replace: true})
	if err != nil {
		if errors.Is(err, regular.ErrNotRegular) {
			err = nil
		}
		return err
	}
	return errors.Join(t.root.Remove(t.name), t.root.Close())
}

// Text returns a function for [Write] that writes a file with this content.
func Text(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// MkdirAll creates a directory and its missing parents, with a mode that ignores the umask.
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
		return nil // with the mode its creator chose
	}
	return err
}

// Tests replace these to make them fail, as they do on some file systems.
var (
	link      = (*os.Root).Link
	rename    = (*os.Root).Rename
	remove    = (*os.Root).Remove
	removeAll = (*os.Root).RemoveAll

	renameJournal = (*os.Root).Rename
)

// A file is a temporary file that is finished and renamed, or only aborted. It must be used by one goroutine only.
type file struct {
	path   string // for errors
	opts   Options
	root   *os.Root
	name   string // in root
	tmp    string
	file   *os.File // the open file tmp
	unlock func()
	failed error // the first failure of Write
}

// begin creates the temporary file for a target, which it takes over.
func (t target) begin(path string, opts Options) (*file, error) {
	tmp, opened, unlock, err := tempFile(t.root, 0o666)
	if err != nil {
		_ = t.root.Close() // nothing was written to it
		return nil, pathError("create", path, err)
	}
	return &file{path: path, opts: opts, root: t.root, name: t.name, tmp: tmp, file: opened, unlock: unlock}, nil
}

// Write implements io.Writer. After a failed Write, finish fails too.
func (f *file) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	if err != nil {
		err = pathError("write", f.path, err)
		f.failed = errors.Join(f.failed, err)
	}
	return n, err
}

// finish sets the owner, the group and the mode, and syncs the file to disk.
func (f *file) finish() error {
	if f.failed != nil {
		return f.failed
	}
	if old, err := f.root.Lstat(f.name); err == nil && f.opts.Replace {
		chownLike(f.file, old) // before the mode, some bits of which it may clear
	}
	if f.opts.Mode != 0 {
		if err := f.file.Chmod(f.opts.Mode); err != nil {
			return pathError("create", f.path, err)
		}
	}
	err := f.file.Sync()
	if err == nil {
		err = f.file.Close()
	}
	if err != nil {
		return pathError("write", f.path, err)
	}
	return nil
}

func (f *file) rename() error {
	if f.opts.Replace {
		return rename(f.root, f.tmp, f.name)
	}
	// Unlike a rename, a link never replaces an existing file.
	err := link(f.root, f.tmp, f.name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.claim()
}

// claim renames the file if the file system has no links: it creates an empty file of the target name, which only one
// process can do, and renames over it.
func (f *file) claim() error {
	empty, err := f.root.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = empty.Close()
	if err == nil {
		err = rename(f.root, f.tmp, f.name)
	}
	if err != nil {
		return errors.Join(err, f.root.Remove(f.name))
	}
	return nil
}

// abort removes the temporary file. It does not change a file that was renamed, so it can be deferred.
func (f *file) abort() {
	_ = f.file.Close()       // finish may have closed it
	_ = f.root.Remove(f.tmp) // not there if it was renamed, not linked
	f.unlock()
	_ = f.root.Close() // nothing was written to it
}

// pathError replaces the operation and the path in err, which name the temporary file: by doing, and by the path of the
// target.
func pathError(doing, path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		err = linkErr.Err
	}
	return fmt.Errorf("%s %s: %w", doing, path, err)
}
