package compose

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// An overlay is the future content of a directory after a run: the files of upper, and the files of lower that are
// neither hidden nor in upper. Only ReadDir lists directories correctly; a directory returned by Open does not.
type overlay struct {
	upper, lower fs.FS
	hidden       []string // files of lower that the overlay does not have
}

// fromEither returns the result of fn for a file of upper or else of lower.
func fromEither[T any](o overlay, name string, fn func(fs.FS, string) (T, error)) (T, error) {
	result, err := fn(o.upper, name)
	if errors.Is(err, fs.ErrNotExist) && !slices.Contains(o.hidden, name) {
		return fn(o.lower, name)
	}
	return result, err
}

// Open opens a file.
func (o overlay) Open(name string) (fs.File, error) { return fromEither(o, name, fs.FS.Open) }

// Stat implements [fs.StatFS].
func (o overlay) Stat(name string) (fs.FileInfo, error) { return fromEither(o, name, fs.Stat) }

// Lstat implements [fs.ReadLinkFS].
func (o overlay) Lstat(name string) (fs.FileInfo, error) { return fromEither(o, name, fs.Lstat) }

// ReadDir implements [fs.ReadDirFS].
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.upper, name)
	lower, lowerErr := fs.ReadDir(o.lower, name)
	if err != nil && lowerErr != nil || lowerErr != nil && !errors.Is(lowerErr, fs.ErrNotExist) {
		return nil, lowerErr
	}
	for _, e := range lower {
		inUpper := slices.ContainsFunc(entries, func(u fs.DirEntry) bool { return u.Name() == e.Name() })
		if !inUpper && !slices.Contains(o.hidden, path.Join(name, e.Name())) {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// ReadLink implements [fs.ReadLinkFS]. There are no links in upper.
func (o overlay) ReadLink(name string) (string, error) {
	if _, err := fs.Lstat(o.upper, name); err == nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return fs.ReadLink(o.lower, name)
}
