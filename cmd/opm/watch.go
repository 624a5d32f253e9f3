package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/indexignore"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// watch validates ref, and again whenever a file changes that the result depends on, until the command is interrupted.
// It returns the error of the last run.
func (f *validateFlags) watch(cmd *cobra.Command, ref string) error {
	if err := checkWatchable(ref); err != nil {
		return err
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", ref, err)
	}
	defer events.Close()
	w := watcher{Watcher: events, ref: ref}
	last := context.Canceled // if there is none
	for {
		if err := w.follow(f.inputs(ref)); err != nil { // before a run, so that no change is missed
			return fmt.Errorf("watch %s: %w", ref, err)
		}
		err := f.run(cmd, ref)
		if _, ok := errors.AsType[usageError](err); ok {
			return err
		}
		if cmd.Context().Err() != nil {
			return last
		}
		if errors.Is(err, declcfg.ErrChanged) { // while it was read
			time.Sleep(quiet)
			continue
		}
		last = reportRun(cmd, err)
		debug.FreeOSMemory() // it may be long until the next run
		changed, err := w.wait(cmd.Context())
		switch {
		case cmd.Context().Err() != nil:
			return last
		case err != nil:
			return fmt.Errorf("watch %s: %w", ref, err)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "\n--- %s %s changed ---\n", time.Now().Format(time.TimeOnly), legible.Name(changed))
	}
}

// reportRun prints the result of a run. If there was an error, it returns errReported.
func reportRun(cmd *cobra.Command, err error) error {
	if err == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "opm: valid; waiting for changes, Ctrl-C ends")
		return nil
	}
	printError(cmd.ErrOrStderr(), cmd, err)
	fmt.Fprintln(cmd.ErrOrStderr(), "opm: not valid; waiting for changes, Ctrl-C ends")
	return errReported
}

// checkWatchable returns an error unless ref is a path that can be read again.
func checkWatchable(ref string) error {
	var what string
	switch r := reference.Of(ref); r.Kind {
	case reference.Directory, reference.File:
		return nil
	case reference.Missing:
		return fmt.Errorf("open catalog %q: %w", ref, r.Err)
	case reference.StandardInput, reference.Pipe:
		what = "standard input or a pipe"
	default:
		what = "an image"
	}
	return usageError{fmt.Errorf("--watch needs a directory or a file, found %s", what)}
}

// inputs returns the files that a run reads apart from ref itself, whether or not they exist.
func (f *validateFlags) inputs(ref string) []string {
	files := slices.Concat(optional(configOf(f.config, ref)), f.schemas)
	if c, err := f.read(ref); err == nil { // else the run reports it
		files = slices.Concat(files, c.Schemas, optional(c.Baseline))
	}
	return files
}

// A watcher notices changes of files. It watches their directories, since many programs save a file by replacing it.
type watcher struct {
	*fsnotify.Watcher
	ref string // to a catalog or a template

	names   map[string]string      // of single files and ref, as the user calls them, by absolute path
	root    string                 // the absolute path of ref, without links, if it is a directory
	ignored func(name string) bool // by .indexignore, below root
}

// follow watches ref and other files, as they are now.
func (w *watcher) follow(inputs []string) error {
	w.names, w.root = map[string]string{}, ""
	for _, name := range append(inputs, w.ref) {
		target, _ := filepath.EvalSymlinks(name) // "" if it does not exist
		for _, path := range append([]string{name}, optional(target)...) {
			path, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			w.names[path] = name
			if err := w.add(filepath.Dir(path)); err != nil {
				return err
			}
			if info, err := os.Stat(path); name == w.ref && err == nil && info.IsDir() {
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
func (w *watcher) add(dir string) error {
	if err := w.Add(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// tree watches a directory and all below it, and returns the first file that matters, relative to root; "" for none.
func (w *watcher) tree(dir string) (first string, err error) {
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

// inCatalog returns a path relative to root, and whether a file there belongs to the catalog or is an .indexignore.
func (w *watcher) inCatalog(path string) (name string, ok bool) {
	name, err := filepath.Rel(w.root, path)
	if w.root == "" || err != nil || !filepath.IsLocal(name) {
		return "", false
	}
	return name, filepath.Base(name) == indexignore.Filename || !w.ignored(filepath.ToSlash(name))
}

// quiet is how long nothing may change before a change counts: programs save several files, or one in several steps.
const quiet = 100 * time.Millisecond

// wait waits for a change, and returns the name of the first file that changed.
func (w *watcher) wait(ctx context.Context) (changed string, err error) {
	var calm <-chan time.Time
	for {
		var name string
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-calm:
			return changed, nil
		case e := <-w.Events:
			name, err = w.nameOf(e)
		case err = <-w.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) { // events were lost
				name, err = w.ref, nil
			}
		}
		if err != nil {
			return "", err
		}
		if name != "" {
			changed, calm = cmp.Or(changed, name), time.After(quiet)
		}
	}
}

// nameOf returns the file of an event, as the user names it; "" if the event does not matter.
func (w *watcher) nameOf(e fsnotify.Event) (string, error) {
	if e.Op == fsnotify.Chmod {
		return "", nil
	}
	if name, ok := w.names[e.Name]; ok {
		return name, nil
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
	return filepath.Join(w.ref, name), nil
}
