package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
)

// Unpack copies all that fsys holds, such as the files of an image, into the directory out. What is there stays, but
// for files and links of the same names.
//
// Nothing outside of out is touched. Links in fsys that are absolute, that lead out of it or that go up after they went
// down are errors, all of which are reported, and so is a link in out where fsys has a directory. Files are put in
// their places once all of them are on the disk; an error leaves behind what was there before.
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
			return copyEntry(stage, fsys, name, entry)
		})
	})
}

// copyEntry copies one file, link or directory, which are walked in lexical order.
func copyEntry(out *os.Root, fsys fs.FS, name string, entry fs.DirEntry) error {
	switch entry.Type() {
	case fs.ModeDir:
		return out.MkdirAll(name, 0o777)
	case fs.ModeSymlink:
		target, err := fs.ReadLink(fsys, name)
		if err != nil {
			return err
		}
		return out.Symlink(target, name)
	case 0:
		f, info, err := regular.Open(fsys, name)
		if err != nil {
			return err
		}
		defer f.Close()
		return writeFile(out, name, info.Mode(), f)
	}
	return &fs.PathError{Op: "unpack", Path: name, Err: errors.New("neither a file nor a directory nor a link")}
}

// checkLinks refuses links that do not stay in fsys.
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

// staysInside reports whether a link leads to somewhere inside, whatever other links it leads through. From a name on
// that may be a link, .. may lead anywhere.
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
