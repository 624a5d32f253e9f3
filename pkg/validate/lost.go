package validate

import (
	"errors"
	"path"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A lost is what could not be read: what it may contain is not reported as missing.
type lost struct {
	everything bool            // anything may be missing from any package
	packages   map[string]bool // that unreadable documents mention
	dirs       map[string]bool // that hold files of which nothing is known
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

// settle decides, once everything else was read, to which packages unreadable files belong: to those with objects in
// the same directory or, in a directory without objects, to all.
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

// from reports whether objects of the package may be missing because they could not be read.
func (l *lost) from(pkg string) bool { return l.everything || l.packages[pkg] }

func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}
