package validate

import (
	"errors"
	"path"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// unreadableParts are the unreadable files and documents of a catalog. Objects that may be in them are not reported as
// missing.
type unreadableParts struct {
	everything bool            // objects may be missing from any package
	packages   map[string]bool // packages that unreadable documents mention
	dirs       map[string]bool // directories of files whose packages are unknown
}

func (u *unreadableParts) add(err error) {
	e, ok := errors.AsType[*declcfg.Error](err)
	switch {
	case !ok:
		u.everything = true
	case e.Lost == nil:
		u.dirs = with(u.dirs, path.Dir(e.Pos.File))
	default:
		for _, name := range e.Lost {
			u.packages = with(u.packages, name)
		}
	}
}

// assignDirs assigns each unreadable file to the packages that it may belong to, once everything else is read: the
// packages with objects in its directory or, if the directory has no objects, all packages.
func (u *unreadableParts) assignDirs(x *declcfg.Index) {
	if len(u.dirs) == 0 {
		return
	}
	known := map[string]bool{}
	for _, p := range x.Packages() {
		for _, m := range p.Metas() {
			dir := path.Dir(m.Pos.File)
			known[dir] = true
			if u.dirs[dir] {
				u.packages = with(u.packages, p.Name)
			}
		}
	}
	for dir := range u.dirs {
		if !known[dir] {
			u.everything = true
		}
	}
}

// mayHave reports whether objects of the package may be in unreadable files or documents.
func (u *unreadableParts) mayHave(pkg string) bool { return u.everything || u.packages[pkg] }

func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}
