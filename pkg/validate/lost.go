package validate

import (
	"errors"
	"path"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A lost records the unreadable parts of a catalog. Objects that may be in them are not reported as missing.
type lost struct {
	everything bool            // anything may be missing from any package
	packages   map[string]bool // packages that unreadable documents mention
	dirs       map[string]bool // directories of files whose packages are unknown
}

// add records a read error.
func (l *lost) add(err error) {
	e, ok := errors.AsType[*declcfg.Error](err)
	switch {
	case !ok:
		l.everything = true
	case e.Lost == nil:
		l.dirs = with(l.dirs, path.Dir(e.Pos.File))
	default:
		for _, name := range e.Lost {
			l.packages = with(l.packages, name)
		}
	}
}

// settle decides which packages an unreadable file may belong to, once everything else is read: the packages with
// objects in its directory or, if the directory has no objects, all packages.
func (l *lost) settle(x *declcfg.Index) {
	if len(l.dirs) == 0 {
		return
	}
	known := map[string]bool{}
	for _, p := range x.Packages() {
		for _, m := range p.Metas() {
			dir := path.Dir(m.Pos.File)
			known[dir] = true
			if l.dirs[dir] {
				l.packages = with(l.packages, p.Name)
			}
		}
	}
	for dir := range l.dirs {
		if !known[dir] {
			l.everything = true
		}
	}
}

// from reports whether objects of the package may be in unreadable files or documents.
func (l *lost) from(pkg string) bool { return l.everything || l.packages[pkg] }

func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}
