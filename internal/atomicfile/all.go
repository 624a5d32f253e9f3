package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// WriteAll writes the files at paths, with the content that fill writes for each, over existing files. It is
// [ChangeAll] without removed files.
func WriteAll(paths []string, fill func(path string, w io.Writer) error) error {
	changes := make([]Change, len(paths))
	for i, path := range paths {
		changes[i] = Change{Path: path, Fill: func(w io.Writer) error { return fill(path, w) }}
	}
	return ChangeAll(changes)
}

// A Change is a file that [ChangeAll] writes or removes.
type Change struct {
	Path string
	Mode fs.FileMode           // as in [Options]
	Fill func(io.Writer) error // writes the content; nil removes the file
}

// ChangeAll writes files, over existing files, and removes files, and creates missing directories. Links are followed,
// as by [Write] without Stream. The files are changed in the order of changes once all content is on disk. They may be
// on several file systems. An error from Fill is returned unchanged.
//
// After a failure, everything is as it was before, unless the system also refuses to restore a file: the error then
// names the file, and the backup that has its old content. After a kill, each file has its old or its new content, or
// is removed; the files before it in the order are changed.
func ChangeAll(changes []Change) (err error) {
	var b batch
	defer func() { b.end(err) }()
	for _, c := range changes {
		if err := b.add(c); err != nil {
			return err
		}
	}
	for _, f := range b.files {
		if f.remove {
			continue
		}
		if err := f.finish(); err != nil {
			return err
		}
	}
	for _, f := range b.files {
		if err := f.replace(); err != nil {
			doing := "create"
			if f.remove {
				doing = "remove"
			}
			return errors.Join(pathError(doing, f.path, err), b.restore())
		}
	}
	return nil
}

// A batch is a set of files written together.
type batch struct {
	made  []string // created directories
	files []*batchFile
}

// add writes the content of a change to a temporary file.
func (b *batch) add(c Change) error {
	dir := filepath.Dir(c.Path)
	if c.Fill == nil {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return pathError("remove", c.Path, err)
		}
		f := &file{path: c.Path, root: root, name: filepath.Base(c.Path)}
		b.files = append(b.files, &batchFile{file: f, remove: true})
		return nil
	}
	made, err := makeDirs(dir)
	b.made = append(b.made, made...)
	if err != nil {
		return err
	}
	opts := Options{Replace: true, Mode: c.Mode}
	t, err := find(c.Path, opts)
	if err != nil {
		return pathError("create", c.Path, err)
	}
	f, err := t.begin(c.Path, opts)
	if err != nil {
		return err
	}
	b.files = append(b.files, &batchFile{file: f})
	return c.Fill(f)
}

// A batchFile is a file whose previous content can be restored.
type batchFile struct {
	*file
	remove  bool   // the file is removed; it has no temporary file
	old     string // temporary directory with a backup of the file; "" if there is none
	unlock  func() // unlocks old
	changed bool   // renamed or removed
}

// end removes temporary files and, after an error, the created directories.
func (b *batch) end(err error) {
	for _, f := range b.files {
		f.dropBackup()
		if f.remove {
			_ = f.root.Close() // nothing was written to it
		} else {
			f.abort()
		}
	}
	if err == nil {
		return
	}
	for _, name := range slices.Backward(b.made) {
		_ = os.Remove(name) // fails if another process has written to it
	}
}

// restore puts the previous files back and removes the new ones.
func (b *batch) restore() error {
	var errs []error
	for _, f := range slices.Backward(b.files) {
		switch {
		case !f.changed:
		case f.old != "":
			errs = append(errs, f.putBack())
		default:
			if err := f.root.Remove(f.name); err != nil {
				errs = append(errs, pathError("remove the new", f.path, err))
			}
		}
	}
	return errors.Join(errs...)
}

// putBack replaces the file by its backup. If that fails, the backup is kept, and the error names it.
func (f *batchFile) putBack() error {
	err := rename(f.root, f.backup(), f.name)
	if err == nil {
		return nil
	}
	err = pathError("restore", f.path, err)
	err = fmt.Errorf("%w; its old content is in %s", err, filepath.Join(f.root.Name(), f.backup()))
	mark, markErr := f.root.OpenFile(filepath.Join(f.old, keepMark), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if markErr == nil {
		markErr = mark.Close()
	}
	if markErr != nil {
		err = fmt.Errorf("%w, until the next command that writes to this directory: copy it at once", err)
	}
	f.unlock()
	f.old = ""
	return err
}

// backup returns the name of the backup in root.
func (f *batchFile) backup() string { return filepath.Join(f.old, f.name) }

// replace gives the file its name, or removes it. It keeps a backup of an existing file of that name.
func (f *batchFile) replace() error {
	switch info, err := f.root.Lstat(f.name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return ErrInTheWay
	default:
		if err := f.keep(info); err != nil {
			return err
		}
	}
	var err error
	if f.remove {
		err = f.root.Remove(f.name)
	} else {
		err = rename(f.root, f.tmp, f.name)
	}
	f.changed = err == nil
	return err
}

// keep makes a backup of the file: a link or, if the file system has no links, a copy. The file keeps its name, so that
// it is not lost if the process is killed.
func (f *batchFile) keep(info fs.FileInfo) error {
	suffix := backupSuffix
	if f.remove {
		suffix = tempSuffix
	}
	old, unlock, err := tempDir(f.root, suffix)
	if err != nil {
		return err
	}
	f.unlock, f.old = unlock, old
	if link(f.root, f.name, f.backup()) == nil {
		return nil
	}
	if err := f.copyTo(f.backup(), info); err != nil {
		f.dropBackup()
		return err
	}
	return nil
}

// copyTo copies the file, with its mode and, as far as possible, its owner and time.
func (f *batchFile) copyTo(name string, info fs.FileInfo) error {
	from, err := f.root.Open(f.name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	chownLike(to, info) // before the mode, some bits of which it may clear
	err = cmp.Or(err, to.Chmod(info.Mode()), to.Sync())
	if err = errors.Join(err, to.Close()); err == nil {
		_ = f.root.Chtimes(name, time.Time{}, info.ModTime()) // as far as possible
	}
	return err
}

// dropBackup removes the backup, if there is one.
func (f *batchFile) dropBackup() {
	if f.old != "" {
		_ = removeAll(f.root, f.old) // the next writer tries again
		f.unlock()
		f.old = ""
	}
}
