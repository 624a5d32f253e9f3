// Package indexignore decides which files of a tree are excluded from the catalog by its .indexignore files.
//
// The patterns look like git's, but have opm's semantics: they are only tested on files, so a later pattern can
// re-include a file even below an ignored directory.
//
//	var m indexignore.Matcher
//	m.Add(".", []byte("**/*\n!*.yaml\n"))
//	m.Ignored("foo/README.md") // true
//	m.Ignored("foo/catalog.yaml") // false
package indexignore

import (
	"bytes"
	"cmp"
	"path"
	"slices"
)

// Filename is the name of the pattern files. They are never part of a catalog.
const Filename = ".indexignore"

// MaxSize is the maximum size of a pattern file in bytes. Its readers must check it.
const MaxSize = 1 << 20

// A Matcher decides which files are ignored. The zero value ignores nothing.
//
// All calls of Add must come before the first call of Ignored. It caches results for directories, so it is not safe for
// concurrent use.
type Matcher struct {
	patterns map[string][]*pattern // by directory of the pattern file
	count    int
	scopes   map[string]scope
}

// A scope has the data that all entries of one directory share.
type scope struct {
	patterns []*pattern // patterns that can match an entry, the weakest first
	decided  *pattern   // the strongest pattern that matches the directory or one above it; nil if none does
}

// Add parses the patterns of an .indexignore file in dir, slash separated, "." for the root.
//
// Of two files, the one added later wins: call it in the lexical order of a walk, with every .indexignore file of the
// tree, including files below ignored directories. Add accepts any content; a malformed pattern matches nothing.
func (m *Matcher) Add(dir string, content []byte) {
	if m.patterns == nil {
		m.patterns = make(map[string][]*pattern)
	}
	dir = path.Clean(dir)
	for line := range bytes.Lines(content) {
		p, ok := parse(string(bytes.TrimSpace(line)))
		if !ok {
			continue
		}
		p.rank = m.count
		p.below = prefix(dir)
		m.count++
		m.patterns[dir] = append(m.patterns[dir], p)
	}
	m.scopes = nil
}

// Ignored reports whether a file is ignored. Its name is slash separated and relative to the root.
func (m *Matcher) Ignored(name string) bool {
	if m.count == 0 {
		return false
	}
	last := m.scope(path.Dir(name)).last(name, false)
	return last != nil && !last.negated
}

// scope returns the scope of a directory. A pattern that matches a directory matches everything below it, so a
// directory is tested once, regardless of the number of its files.
func (m *Matcher) scope(dir string) scope {
	if s, ok := m.scopes[dir]; ok {
		return s
	}
	var s scope
	if parent := path.Dir(dir); parent != dir {
		s = m.scope(parent)
		s.decided = s.last(dir, true)
	}
	if own := m.patterns[dir]; len(own) > 0 {
		s.patterns = slices.Concat(s.patterns, own)
		slices.SortFunc(s.patterns, func(a, b *pattern) int { return cmp.Compare(a.rank, b.rank) })
	}
	if m.scopes == nil {
		m.scopes = make(map[string]scope)
	}
	m.scopes[dir] = s
	return s
}

// last returns the strongest pattern that matches an entry of the directory or the directory itself; nil if none does.
func (s scope) last(name string, isDir bool) *pattern {
	for _, p := range slices.Backward(s.patterns) {
		if s.decided != nil && p.rank < s.decided.rank {
			break
		}
		if p.matches(name, isDir) {
			return p
		}
	}
	return s.decided
}

// prefix returns the common prefix of the names of all files below dir.
func prefix(dir string) string {
	if dir == "." {
		return ""
	}
	return dir + "/"
}
