package image

import (
	"path"
	"strings"
)

// A wanted is the set of names of which the files are held, each with all that is below it. Names are clean, without a
// slash in front; "." is all of the image.
type wanted struct {
	roots   map[string]bool
	ways    map[string]bool // directories above the roots and the aliases, and the aliases
	aliases map[string]bool // links elsewhere that lead to what is wanted or above it
	links   *tree           // what is known of links so far: where aliases lead
}

func newWanted(names ...string) *wanted {
	w := &wanted{roots: map[string]bool{}, ways: map[string]bool{}, aliases: map[string]bool{}}
	for _, name := range names {
		w.add(name)
	}
	return w
}

// add reports whether the name was not in the set before.
func (w *wanted) add(name string) bool {
	if w.within(name) {
		return false
	}
	w.roots[name] = true
	w.addWay(name)
	return true
}

func (w *wanted) addWay(name string) {
	for dir := range ancestors(name) {
		w.ways[dir] = true
	}
}

// addAlias reports whether the link was not known to be an alias before.
func (w *wanted) addAlias(name string) bool {
	if w.aliases[name] {
		return false
	}
	w.aliases[name], w.ways[name] = true, true
	w.addWay(name)
	return true
}

// real returns the name without the aliases in it, for a layer may put files into a directory by any name that it has.
func (w *wanted) real(name string) string {
	for dir := range ancestors(name) {
		if w.aliases[dir] {
			_, actual, _ := w.links.follow(path.Dir(name)) // a directory that is missing has a path, too
			return path.Join(actual, path.Base(name))
		}
	}
	return name
}

// within reports whether name is held: it is one of the set, or below one.
func (w *wanted) within(name string) bool {
	if w.roots[name] {
		return true
	}
	for dir := range ancestors(name) {
		if w.roots[dir] {
			return true
		}
	}
	return false
}

// above reports whether name is on the way to something that is held, so that what replaces it counts.
func (w *wanted) above(name string) bool { return w.ways[name] }

// ancestors yields the directories above name, from the nearest to the root.
func ancestors(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name != "." {
			if i := strings.LastIndexByte(name, '/'); i >= 0 {
				name = name[:i]
			} else {
				name = "."
			}
			if !yield(name) {
				return
			}
		}
	}
}

// inside returns name as seen from the directory dir, and whether it is dir or below it.
func inside(dir, name string) (string, bool) {
	switch {
	case dir == ".":
		return name, true
	case name == dir:
		return ".", true
	case strings.HasPrefix(name, dir+"/"):
		return path.Clean(name[len(dir)+1:]), true
	}
	return "", false
}
