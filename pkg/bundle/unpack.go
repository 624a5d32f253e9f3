package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
)

// Unpack copies all files of fsys, such as the files of an image, into the directory out. It replaces existing files
// and links with the same names.
//
// It changes nothing outside of out. It reports every link in fsys that is absolute, that leaves fsys, or that has ..
// after a name, and a link in out at the place of a directory of fsys. All files are written before they are moved to
// their places; after an error, out is unchanged.
func Unpack(ctx context.Context, fsys fs.FS, out *os.Root) error {
	if err := checkLinks(fsys); err != nil {
		return err
	}
	return atomicfile.Merge(out, func(stage *os.Root) error {
		return fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			switch entry.Type() {
			case fs.ModeDir:
				return stage.MkdirAll(name, 0o777)
			case fs.ModeSymlink:
				target, err := fs.ReadLink(fsys, name)
				if err != nil {
					return err
				}
				return stage.Symlink(target, name)
			case 0:
				f, info, err := regular.Open(fsys, name)
				if err != nil {
					return err
				}
				defer f.Close()
				return writeFile(stage, name, info.Mode(), f)
			}
			return &fs.PathError{Op: "unpack", Path: name, Err: errors.New("neither a file nor a directory nor a link")}
		})
	})
}

// checkLinks returns an error for each link that leaves fsys.
func checkLinks(fsys fs.FS) error {
	var errs []error
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type() != fs.ModeSymlink {
			return err
		}
		target, err := fs.ReadLink(fsys, name)
		if err != nil {
			return err
		}
		if !staysInside(name, target) {
			errs = append(errs, fmt.Errorf("%s: a link to %q, which leaves the directory", name, target))
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// staysInside reports whether a link stays inside the file system, even if its target leads through other links. A ..
// after a name is not accepted, because the name may be a link to any directory.
func staysInside(name, target string) bool {
	if path.IsAbs(target) || strings.Contains(target, `\`) {
		return false
	}
	steps := strings.Split(target, "/")
	ups := 0
	for ups < len(steps) && (steps[ups] == ".." || steps[ups] == "." || steps[ups] == "") {
		ups++
	}
	if slices.Contains(steps[ups:], "..") {
		return false
	}
	end := path.Join(path.Dir(name), target)
	return end != ".." && !strings.HasPrefix(end, "../")
}

// writeFile writes a new file and creates its parent directories. The file is executable if mode is.
func writeFile(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666|mode&0o111)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
