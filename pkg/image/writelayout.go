package image

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// WriteLayout writes img into an OCI layout, in which it is called by tag; it may have no tag. dir is made where there
// is none, in a directory that exists. In a layout that is there, the image takes the name of one that has it, and
// nothing is removed.
//
// It appears as a whole or not at all: a new layout is written beside dir and renamed, and in an old one the index is
// replaced last. Processes that write to one layout at once wait for each other, where the system can lock a directory.
// A directory that holds anything else is an error.
func WriteLayout(img v1.Image, dir, tag string) error {
	if err := writeLayout(img, filepath.Clean(dir), tag); err != nil {
		return fmt.Errorf("write OCI layout %s: %w", dir, err)
	}
	return nil
}

func writeLayout(img v1.Image, dir, tag string) error {
	blobs, entry, err := layoutBlobs(img, tag)
	if err != nil {
		return err
	}
	_, err = os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = newLayoutDir(dir, blobs, entry)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return addToLayoutDir(dir, blobs, entry) // which may have come into being just now
}

// newLayoutDir makes a layout. Where dir exists by then, the error wraps fs.ErrExist.
func newLayoutDir(dir string, blobs []layoutBlob, entry v1.Descriptor) error {
	tmp := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+"."+rand.Text())
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return fmt.Errorf("make a directory beside it: %w", cmp.Or(errors.Unwrap(err), err))
	}
	defer os.RemoveAll(tmp) // which has another name where all went well
	if err := addToLayoutDir(tmp, blobs, entry); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// addToLayoutDir adds an image to the layout in a directory, which is empty or has one.
func addToLayoutDir(dir string, blobs []layoutBlob, entry v1.Descriptor) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	defer unlock()
	w := &layoutWriter{root: root}
	if err := w.add(blobs, entry); err != nil {
		return errors.Join(err, w.undo())
	}
	return nil
}

// A layoutWriter writes files of a layout.
type layoutWriter struct {
	root *os.Root
	made []string // files and directories
}

func (w *layoutWriter) add(blobs []layoutBlob, entry v1.Descriptor) error {
	index, err := readLayoutIndex(w.root.FS())
	if err != nil {
		return err
	}
	raw, err := index.with(entry)
	if err != nil {
		return err
	}
	// With this file it is a layout, though one without images, should the process be killed.
	if err := w.write(layoutFile, fromBytes([]byte(layoutVersion))); err != nil {
		return err
	}
	for _, b := range blobs {
		if err := w.blob(b); err != nil {
			return err
		}
	}
	return w.write(indexFile, fromBytes(raw))
}

// readLayoutIndex returns the index of a layout, a new one for an empty directory.
func readLayoutIndex(fsys fs.FS) (*layoutIndex, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return newLayoutIndex(), nil
	}
	if _, err := fs.Stat(fsys, layoutFile); err != nil {
		return nil, fmt.Errorf("the directory is neither empty nor an OCI layout: it has no file %s", layoutFile)
	}
	raw, err := readSmall(fsys, indexFile, Limits{})
	if errors.Is(err, fs.ErrNotExist) {
		return newLayoutIndex(), nil
	}
	if err != nil {
		return nil, err
	}
	index, err := parseLayoutIndex(raw)
	if err != nil {
		return nil, fmt.Errorf("%s is broken: %w", indexFile, err)
	}
	return index, nil
}

// blob writes a blob, unless it is there.
func (w *layoutWriter) blob(b layoutBlob) error {
	name := blobPath(b.digest)
	if err := w.directory(path.Dir(name)); err != nil {
		return err
	}
	if w.has(b) {
		return nil
	}
	return w.write(name, func(out io.Writer) error {
		return b.read(func(r io.Reader) error {
			_, err := io.Copy(out, r)
			return err
		})
	})
}

// has reports whether the layout has a blob that is undamaged.
func (w *layoutWriter) has(b layoutBlob) bool {
	l := &layout{fsys: w.root.FS()}
	r, err := l.blob(context.Background(), v1.Descriptor{Digest: b.digest, Size: b.size})
	if err != nil {
		return false
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err == nil
}

// directory makes a directory and those above it.
func (w *layoutWriter) directory(name string) error {
	if above := path.Dir(name); above != "." {
		if err := w.directory(above); err != nil {
			return err
		}
	}
	err := w.root.Mkdir(name, 0o777)
	if err == nil {
		w.made = append(w.made, name)
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return err
}

func fromBytes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	}
}

// write puts what fill writes in the place of a file, once all of it is on the disk.
func (w *layoutWriter) write(name string, fill func(io.Writer) error) error {
	tmp := ".tmp." + rand.Text()
	f, err := w.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	w.made = append(w.made, tmp)
	if err := fill(f); err != nil {
		return closing(err, f)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	_, old := w.root.Lstat(name)
	if err := w.root.Rename(tmp, name); err != nil {
		return err
	}
	w.made = w.made[:len(w.made)-1]
	if errors.Is(old, fs.ErrNotExist) {
		w.made = append(w.made, name)
	}
	return nil
}

// undo removes what was made.
func (w *layoutWriter) undo() error {
	var errs []error
	for _, name := range slices.Backward(w.made) {
		errs = append(errs, w.root.Remove(name))
	}
	return errors.Join(errs...)
}
