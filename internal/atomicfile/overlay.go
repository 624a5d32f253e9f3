package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// FS returns the content that a directory has after the commit. The directory need not exist. The file system reads the
// staged files, so it is valid until Commit or Close. Only ReadDir lists directories correctly; a directory returned by
// Open does not.
func (t *Tx) FS(dir string) fs.FS {
	o := overlay{lower: os.DirFS(dir), changes: map[string]*change{}}
	if t.Root != nil {
		o.lower = os.DirFS(filepath.Join(t.Root.Name(), dir))
	}
	for _, c := range t.changes {
		if name, err := filepath.Rel(dir, c.path); err == nil && filepath.IsLocal(name) {
			o.changes[filepath.ToSlash(name)] = c
		}
	}
	return o
}

// An overlay is a directory in which changes replace the files of lower.
type overlay struct {
	lower   fs.FS
	changes map[string]*change // by path
}

// overlaid calls ofStaged for a staged file and, with the name ".", for a new directory of staged files. It calls
// ofLower for other files.
func overlaid[T any](
	o overlay, name string, ofLower func(fs.FS, string) (T, error), ofStaged func(*os.Root, string) (T, error),
) (T, error) {
	if c, ok := o.changes[name]; ok && c.remove {
		var none T
		return none, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	} else if ok {
		return ofStaged(c.root, c.tmp)
	}
	result, err := ofLower(o.lower, name)
	if errors.Is(err, fs.ErrNotExist) {
		for below, c := range o.changes {
			if !c.remove && (name == "." || strings.HasPrefix(below, name+"/")) {
				return ofStaged(c.root, ".")
			}
		}
	}
	return result, err
}

// Open opens a file.
func (o overlay) Open(name string) (fs.File, error) {
	return overlaid(o, name, fs.FS.Open, func(root *os.Root, staged string) (fs.File, error) { return root.Open(staged) })
}

// Stat implements [fs.StatFS].
func (o overlay) Stat(name string) (fs.FileInfo, error) {
	info, err := overlaid(o, name, fs.Stat, (*os.Root).Stat)
	return namedInfo{info, path.Base(name)}, err
}

// Lstat implements [fs.ReadLinkFS].
func (o overlay) Lstat(name string) (fs.FileInfo, error) {
	info, err := overlaid(o, name, fs.Lstat, (*os.Root).Lstat)
	return namedInfo{info, path.Base(name)}, err
}

// A namedInfo is the info of a file under another name.
type namedInfo struct {
	fs.FileInfo
	name string
}

func (i namedInfo) Name() string { return i.name }

// ReadDir implements [fs.ReadDirFS].
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.lower, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names := map[string]bool{}
	for below := range o.changes {
		if rest, ok := strings.CutPrefix(path.Join("/", below), strings.TrimSuffix(path.Join("/", name), "/")+"/"); ok {
			child, _, _ := strings.Cut(rest, "/")
			names[child] = true
		}
	}
	if err != nil && len(names) == 0 {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return names[e.Name()] || IsTemp(e.Name()) })
	for child := range names {
		info, err := o.Lstat(path.Join(name, child))
		switch {
		case err == nil:
			entries = append(entries, fs.FileInfoToDirEntry(info))
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// ReadLink implements [fs.ReadLinkFS].
func (o overlay) ReadLink(name string) (string, error) {
	if _, ok := o.changes[name]; ok {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return fs.ReadLink(o.lower, name)
}
