package indexignore

import (
	"path"
	"strings"
)

// A pattern is one line of an .indexignore file.
type pattern struct {
	rank    int    // if two patterns match a file, the higher rank wins
	below   string // prefix of the names it can match: the directory of its file and a slash, or ""
	negated bool   // the line started with "!"
	dirOnly bool   // the line ended in "/"
	steps   []step // at least one
}

// A step matches one element of a path.
type step struct {
	element
	anywhere bool // matches the first matching element, not only the next one
}

// parse parses a trimmed line. It reports false for blank lines, comments, and lines that match nothing.
func parse(line string) (*pattern, bool) {
	if line == "" || line[0] == '#' {
		return nil, false
	}
	var p pattern
	line, p.negated = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")

	var ok bool
	if strings.Contains(line, "/") {
		p.steps, ok = parsePath(line)
	} else {
		p.steps, ok = parseName(line)
	}
	return &p, ok
}

// parseName parses a pattern of one element, which matches at any depth.
func parseName(name string) ([]step, bool) {
	e, ok := newElement(name)
	return []step{{element: e, anywhere: true}}, ok
}

// parsePath parses a pattern with a slash before its end, which anchors it at the directory of its file.
//
// As in opm, an empty element cancels the "**" before it, a "**" at the end has no effect, so "a/**" also matches a
// file "a", and a "**" inside an element makes the pattern match nothing.
func parsePath(line string) ([]step, bool) {
	var steps []step
	anywhere := false
	for text := range strings.SplitSeq(line, "/") {
		switch {
		case text == "":
			anywhere = false
		case text == "**":
			anywhere = true
		case strings.Contains(text, "**"):
			return nil, false
		default:
			e, ok := newElement(text)
			if !ok {
				return nil, false
			}
			steps = append(steps, step{element: e, anywhere: anywhere})
			anywhere = false
		}
	}
	return steps, len(steps) > 0
}

// matches reports whether the pattern matches an entry. It may miss matches of a directory above the entry.
func (p *pattern) matches(name string, isDir bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	rest, ok := strings.CutPrefix(name, p.below)
	if !ok {
		return false
	}
	if len(p.steps) == 1 && p.steps[0].anywhere {
		return p.steps[0].matches(path.Base(rest))
	}
	for _, s := range p.steps {
		if rest, ok = s.walk(rest); !ok {
			return false
		}
	}
	return true
}

// walk returns the rest of the path after the element that the step matches. It does not backtrack: "**/a/b" does not
// match "a/x/a/b", because the first "a" is taken. opm does the same.
func (s step) walk(rest string) (string, bool) {
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if s.matches(name) {
			return rest, true
		}
		if !s.anywhere {
			break
		}
	}
	return "", false
}
