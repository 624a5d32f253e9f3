package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/opm-toolchain/opm/internal/regular"
)

// ErrNotEmpty is wrapped by the error about a directory that is not empty.
var ErrNotEmpty = errors.New("the directory is not empty")

// NewDir creates the directory dir, and its parents, with the content that fill writes into root. An existing directory
// must be empty. After any failure, everything is as it was before. An error from fill is returned without added
// context.
//
// An empty directory that cannot be replaced, such as the mount point of a volume, is filled as by [Merge].
func NewDir(dir string, fill func(root *os.Root) error) (err error) {
	dir = filepath.Clean(dir)
	made, err := makeDirs(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			for _, name := range slices.Backward(made) {
				_ = os.Remove(name) // fails if another process has written to it
			}
		}
	}()
	old, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newDir(dir, 0, fill)
	case err != nil:
		return err
	}
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := checkEmpty(root); err != nil {
		return err
	}
	if canReplace(dir, old) {
		return newDir(dir, old.Mode().Perm(), fill)
	}
	return Merge(root, fill)
}

// makeDirs creates a directory and its parents, and returns the directories it created, the innermost last.
func makeDirs(dir string) (made []string, err error) {
	for above := dir; ; above = filepath.Dir(above) {
		if _, err := os.Lstat(above); err == nil || above == filepath.Dir(above) {
			break
		}
		made = append(made, above)
	}
	slices.Reverse(made)
	return made, os.MkdirAll(dir, 0o777)
}

func checkEmpty(root *os.Root) error {
	_ = removeStale(root) // what cannot be removed is found below
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	_, err = dir.ReadDir(1)
	if err == nil {
		return fmt.Errorf("%q: %w", root.Name(), ErrNotEmpty)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// canReplace reports whether an empty directory can be replaced by one created next to it. The working directory of the
// process must not be replaced.
func canReplace(dir string, old fs.FileInfo) bool {
	here, err := os.Stat(".")
	if err != nil || !old.IsDir() || os.SameFile(here, old) {
		return false
	}
	above, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return false
	}
	defer above.Close()
	// A directory can be moved out of dir only within one file system.
	base := filepath.Base(dir)
	probe, unlock, err := tempDir(above, tempSuffix)
	if err != nil {
		return false
	}
	defer unlock()
	inside := filepath.Join(base, probe)
	ok := above.Rename(probe, inside) == nil
	return errors.Join(above.RemoveAll(probe), above.RemoveAll(inside)) == nil && ok
}

// newDir creates the directory next to its target and renames it. Replaces is the mode of the empty directory it
// replaces, or 0 if there is none.
func newDir(dir string, replaces fs.FileMode, fill func(root *os.Root) error) error {
	above, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer above.Close()
	tmp, unlock, err := tempDir(above, tempSuffix)
	if err != nil {
		return pathError("create", dir, err)
	}
	defer unlock()
	defer func() { _ = above.RemoveAll(tmp) }() // already renamed on success
	root, err := above.OpenRoot(tmp)
	if err != nil {
		return err
	}
	if err := errors.Join(fill(root), root.Close()); err != nil {
		return err
	}
	base := filepath.Base(dir)
	if replaces != 0 {
		if err := errors.Join(above.Chmod(tmp, replaces), above.Remove(base)); err != nil {
			return err
		}
	}
	if err := rename(above, tmp, base); err != nil {
		err = pathError("create", dir, err)
		if replaces != 0 {
			err = errors.Join(err, above.Mkdir(base, replaces), above.Chmod(base, replaces))
		}
		return err
	}
	return nil
}

// ErrInTheWay is wrapped by the error about something that is not replaced by a file: a directory, a device, a named
// pipe or a socket. [Merge] also returns it for a file in place of a directory.
var ErrInTheWay = errors.New("something else of that name is in the way")

// Merge moves the files, links and directories that fill writes into stage to root, over files and links of the same
// names, once all of them are on disk: in lexical order, but the names in last after all others. If fill fails, root is
// as it was before. After any other failure, entries that already replaced old ones remain.
func Merge(root *os.Root, fill func(stage *os.Root) error, last ...string) error {
	tmp, unlock, err := tempDir(root, tempSuffix)
	if err != nil {
		return err
	}
	defer unlock()
	defer func() { _ = root.RemoveAll(tmp) }() // the first error is more useful
	stage, err := root.OpenRoot(tmp)
	if err != nil {
		return err
	}
	defer stage.Close()
	if err := fill(stage); err != nil {
		return err
	}
	m := merger{root: root}
	if err := m.plan(stage, last); err != nil {
		return err
	}
	for i, move := range m.moves {
		if err := root.Rename(filepath.Join(tmp, move.name), move.name); err != nil {
			for _, done := range m.moves[:i] {
				if done.new {
					err = errors.Join(err, root.RemoveAll(done.name))
				}
			}
			return err
		}
	}
	return nil
}

// A merger has the moves of the content of a directory into root.
type merger struct {
	root  *os.Root
	moves []move
}

// A move is the move of one file, or of a directory with its content.
type move struct {
	name string
	new  bool // the target does not exist
}

// CheckReplaceable returns an error that wraps [ErrInTheWay] if a directory of files has something else than a file or
// a link of this name. A link is replaced, not followed.
func CheckReplaceable(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err == nil && !isReplaceable(info.Mode()) {
		return &fs.PathError{Op: "write", Path: name, Err: ErrInTheWay}
	}
	return nil // other errors are found when it is written
}

func isReplaceable(mode fs.FileMode) bool { return mode.IsRegular() || mode.Type() == fs.ModeSymlink }

// plan determines the moves before any of them is made.
func (m *merger) plan(stage *os.Root, last []string) error {
	err := fs.WalkDir(stage.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		old, err := m.root.Lstat(name)
		isNew := errors.Is(err, fs.ErrNotExist)
		switch {
		case err != nil && !isNew:
			return err
		case isNew && e.IsDir():
			m.moves = append(m.moves, move{name, true})
			return fs.SkipDir
		case isNew, !e.IsDir() && isReplaceable(old.Mode()):
			m.moves = append(m.moves, move{name, isNew})
		case !e.IsDir() || !old.IsDir():
			return &fs.PathError{Op: "write", Path: name, Err: ErrInTheWay}
		}
		return nil
	})
	slices.SortStableFunc(m.moves, func(a, b move) int {
		return slices.Index(last, a.name) - slices.Index(last, b.name)
	})
	return err
}

// InDir calls fn with a directory. A directory that does not exist is created as a whole once fn has succeeded.
func InDir(dir string, fn func(*os.Root) error) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return NewDir(dir, fn)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%q is not a directory", dir)
	case err != nil:
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(fn(root), root.Close())
}
