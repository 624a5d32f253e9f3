// Package watch detects changes to the files of a catalog.
package watch

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/opm-toolchain/opm/internal/indexignore"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Watcher detects changes to files. It watches their directories, since many programs save a file by replacing it.
type Watcher struct {
	events *fsnotify.Watcher
	path   string // of a catalog or a template

	names   map[string]string      // absolute path of each single file and of path: the name as given by the user
	root    string                 // absolute path with links resolved, if path is a directory
	ignored func(name string) bool // by .indexignore files below root
}

// New returns a Watcher of a file or a catalog directory. It reports no changes before Follow is called. The caller
// closes it.
func New(path string) (*Watcher, error) {
	events, err := fsnotify.NewWatcher()
	return &Watcher{events: events, path: path}, err
}

// Close stops the watcher.
func (w *Watcher) Close() error { return w.events.Close() }

// Follow watches the path and other files in their current state. The files need not exist.
func (w *Watcher) Follow(others ...string) error {
	w.names, w.root = map[string]string{}, ""
	for _, name := range append(others, w.path) {
		target, _ := filepath.EvalSymlinks(name) // "" if it does not exist
		for _, path := range []string{name, cmp.Or(target, name)} {
			path, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			w.names[path] = name
			if err := w.add(filepath.Dir(path)); err != nil {
				return err
			}
			if info, err := os.Stat(path); name == w.path && err == nil && info.IsDir() {
				w.root = path // the target is the last
			}
		}
	}
	if w.root == "" {
		return nil
	}
	w.ignored = declcfg.Source{FS: os.DirFS(w.root)}.Ignored()
	_, err := w.tree(w.root)
	return err
}

// add watches a directory, if it exists.
func (w *Watcher) add(dir string) error {
	if err := w.events.Add(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// tree watches a directory and everything below it, and returns the first file that belongs to the catalog, relative to
// root, or "" for none.
func (w *Watcher) tree(dir string) (first string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission): // the next run reports it
			return nil
		case err != nil:
			return err
		case e.IsDir():
			return w.add(path)
		}
		if name, ok := w.inCatalog(path); ok && first == "" {
			first = name
		}
		return nil
	})
	return first, err
}

// inCatalog returns a path relative to root, and reports whether the file belongs to the catalog or is an .indexignore.
func (w *Watcher) inCatalog(path string) (name string, ok bool) {
	name, err := filepath.Rel(w.root, path)
	if w.root == "" || err != nil || !filepath.IsLocal(name) {
		return "", false
	}
	return name, filepath.Base(name) == indexignore.Filename || !w.ignored(filepath.ToSlash(name))
}

// Quiet is the time without further changes after which a change is reported: programs save several files, or one file
// in several steps.
const Quiet = 100 * time.Millisecond

// Wait waits for a change and returns the name of the first changed file.
func (w *Watcher) Wait(ctx context.Context) (changed string, err error) {
	var calm <-chan time.Time
	for {
		var name string
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-calm:
			return changed, nil
		case e := <-w.events.Events:
			name, err = w.nameOf(e)
		case err = <-w.events.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) { // events were lost
				name, err = w.path, nil
			}
		}
		if err != nil {
			return "", err
		}
		if name != "" {
			changed, calm = cmp.Or(changed, name), time.After(Quiet)
		}
	}
}

// isTemporary reports whether editors give this name to files that they remove again: Vim writes .NAME.swp, NAME~ and
// 4913, Emacs #NAME# and the link .#NAME. The file that they save has an event of its own.
func isTemporary(name string) bool {
	for _, pattern := range []string{".*.sw?", "*~", "4913", "#*#", ".#*"} {
		if ok, _ := filepath.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// nameOf returns the file of an event as the user names it, or "" if the event is irrelevant.
func (w *Watcher) nameOf(e fsnotify.Event) (string, error) {
	if e.Op == fsnotify.Chmod {
		return "", nil
	}
	if name, ok := w.names[e.Name]; ok {
		return name, nil
	}
	if isTemporary(filepath.Base(e.Name)) {
		return "", nil
	}
	name, ok := w.inCatalog(e.Name)
	if info, err := os.Lstat(e.Name); name != "" && err == nil && info.IsDir() {
		name, err = w.tree(e.Name)
		if ok = name != ""; err != nil {
			return "", err
		}
	}
	if !ok {
		return "", nil
	}
	return filepath.Join(w.path, name), nil
}
