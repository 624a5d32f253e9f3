package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// WriteAll writes the files at paths, each with what fill writes for it, over those that are there, and makes missing
// directories. The files take their names once all of them are on the disk. If one cannot, or anything else fails, all
// is as it was before. An error of fill is returned as it is.
func WriteAll(paths []string, fill func(path string, w io.Writer) error) (err error) {
	var b batch
	defer func() { b.end(err) }()
	for _, path := range paths {
		if err := b.add(path, fill); err != nil {
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

// A batch is files that are written together.
type batch struct {
	made  []string // directories
	files []*batchFile
}

// A batchFile is a file that can become what it was.
type batchFile struct {
	*file
	old     string // the directory with the file that it replaces, "" if there is none
	unlock  func() // old
	renamed bool
}

// add writes a file, without its name.
func (b *batch) add(path string, fill func(path string, w io.Writer) error) error {
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
	return fill(path, f)
}

// end removes what is temporary and, after an error, the directories that were made.
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
		_ = os.Remove(name) // fails if someone else has written to it
	}
}

// restore makes the files what they were.
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

// replace gives the file its name, and keeps the one that had it.
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

// keep links or, where the file system has no links, moves the file that is replaced.
func (f *batchFile) keep() error {
	old, unlock, err := tempDir(f.root)
	if err != nil {
		return err
	}
	f.unlock, f.old = unlock, old
	if f.root.Link(f.name, f.kept()) == nil {
		return nil
	}
	if err = f.root.Rename(f.name, f.kept()); err == nil {
		return nil
	}
	f.old = ""
	err = errors.Join(err, f.root.RemoveAll(old))
	unlock()
	return err
}
