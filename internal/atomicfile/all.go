package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// WriteAll writes the files at paths, with the content that fill writes for each, over existing files, and creates
// missing directories. The files get their names once all of them are on disk. After any failure, everything is as it
// was before. An error from fill is returned unchanged.
func WriteAll(paths []string, fill func(path string, w io.Writer) error) (err error) {
	var b batch
	defer func() { b.end(err) }()
	for _, path := range paths {
		made, err := makeDirs(filepath.Dir(path))
		b.made = append(b.made, made...)
		if err != nil {
			return err
		}
		f, err := begin(path, Options{Replace: true})
		if err != nil {
			return err
		}
		b.files = append(b.files, &batchFile{file: f})
		if err := fill(path, f); err != nil {
			return err
		}
	}
	for _, f := range b.files {
		if err := f.finish(); err != nil {
			return err
		}
	}
	for _, f := range b.files {
		if err := f.replace(); err != nil {
			return errors.Join(pathError("create", f.path, err), b.restore())
		}
	}
	return nil
}

// A batch is a set of files written together.
type batch struct {
	made  []string // created directories
	files []*batchFile
}

// A batchFile is a file whose previous content can be restored.
type batchFile struct {
	*file
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
		f.abort()
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

// replace gives the file its name, and keeps an existing file of that name.
func (f *batchFile) replace() error {
	switch info, err := f.root.Lstat(f.name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return ErrInTheWay
	default:
		if err := f.keep(); err != nil {
			return err
		}
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
