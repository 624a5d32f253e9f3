package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
// as by [Write] without Stream. The files are changed in the order of changes once all content is on disk. They may be on several file systems. After any failure,
// everything is as it was before. An error from Fill is returned unchanged.
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
	old     string // temporary directory with the replaced file; "" if there is none
	unlock  func() // unlocks old
	renamed bool
}

// end removes temporary files and, after an error, the created directories.
func (b *batch) end(err error) {
	for _, f := range b.files {
		if f.old != "" {
			_ = f.root.RemoveAll(f.old)
			f.unlock()
		}
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
		case f.old != "":
			errs = append(errs, f.root.Rename(f.kept(), f.name))
		case f.renamed:
			errs = append(errs, f.root.Remove(f.name))
		}
	}
	return errors.Join(errs...)
}

func (f *batchFile) kept() string { return filepath.Join(f.old, "old") }

// replace gives the file its name, or removes it. It keeps an existing file of that name.
func (f *batchFile) replace() error {
	switch info, err := f.root.Lstat(f.name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return ErrInTheWay
	default:
		if err := f.keep(); err != nil {
			return err
		}
	}
	if f.remove {
		return f.root.Remove(f.name)
	}
	err := f.rename()
	f.renamed = err == nil
	return err
}

// keep links the file to be replaced into a temporary directory, or moves it there if the file system has no links.
func (f *batchFile) keep() error {
	old, unlock, err := tempDir(f.root)
	if err != nil {
		return err
	}
	f.unlock, f.old = unlock, old
	if f.root.Link(f.name, f.kept()) == nil {
		return nil
	}
	if err = f.root.Rename(f.name, f.kept()); err != nil {
		f.old = ""
		err = errors.Join(err, f.root.RemoveAll(old))
		unlock()
	}
	return err
}
