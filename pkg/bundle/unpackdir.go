package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
)

// An outDir writes into a directory, never outside of it. What it made can be taken back.
type outDir struct {
	root *os.Root
	made []string // files, links and directories
}

// errInTheWay is about what is in the place of what is to be written.
var errInTheWay = errors.New("something else of that name is in the way")

// directory makes a directory and those above it. Links to directories do not count as such, since what links to
// places above them would lead elsewhere.
func (d *outDir) directory(name string) error {
	if name == "." {
		return nil
	}
	if err := d.directory(path.Dir(name)); err != nil {
		return err
	}
	err := d.root.Mkdir(name, 0o777)
	if errors.Is(err, fs.ErrExist) {
		info, err := d.root.Lstat(name)
		if err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "make directory", Path: name, Err: errInTheWay}
		}
		return err
	}
	if err == nil {
		d.made = append(d.made, name)
	}
	return err
}

// file puts a file in the place of an old one, once all of it is on the disk.
func (d *outDir) file(name string, mode fs.FileMode, content io.Reader) error {
	return d.replace(name, func() error {
		opts := atomicfile.Options{Root: d.root, Replace: true, Mode: 0o666 | mode&0o111}
		return atomicfile.Write(name, opts, func(w io.Writer) error {
			_, err := io.Copy(w, content)
			return err
		})
	})
}

func (d *outDir) link(name, target string) error {
	return d.replace(name, func() error { return atomicfile.Symlink(d.root, target, name) })
}

// replace calls write, which puts something in the place of what is there, but not of a directory.
func (d *outDir) replace(name string, write func() error) error {
	if err := d.directory(path.Dir(name)); err != nil {
		return err
	}
	old, err := d.root.Lstat(name)
	if err == nil && old.IsDir() {
		return &fs.PathError{Op: "write", Path: name, Err: errInTheWay}
	}
	if failed := write(); failed != nil {
		return failed
	}
	if err != nil {
		d.made = append(d.made, name)
	}
	return nil
}

// undo removes what was made; what took the place of something old stays. It returns the error that was the reason.
func (d *outDir) undo(err error) error {
	for _, name := range slices.Backward(d.made) {
		if failed := d.root.Remove(name); failed != nil {
			err = errors.Join(err, fmt.Errorf("clean up: %w", failed))
		}
	}
	d.made = nil
	return err
}

// differs reports whether a file of that name holds something else than content.
func (d *outDir) differs(name string, content []byte) (bool, error) {
	old, err := regular.ReadFile(d.root.FS(), name, maxFileSize)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !bytes.Equal(old, content), err
}
