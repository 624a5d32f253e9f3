package resolve

import "slices"

// deadEnds are what cannot be chosen, whatever else is: deprecated bundles, and those that require what nothing
// provides or only such bundles do.
type deadEnds struct {
	question *question
	entries  map[*entry]bool
}

func (q *question) deadEnds() *deadEnds {
	s := &deadEnds{q, map[*entry]bool{}}
	for found := true; found; {
		found = false
		for e, v := range q.variables {
			if !s.entries[e] && (e.deprecated || s.blocks(v)) {
				s.entries[e], found = true, true
			}
		}
	}
	return s
}

// blocks reports whether a variable has a dependency that cannot be satisfied.
func (s *deadEnds) blocks(v *variable) bool {
	for _, d := range v.dependencies {
		if s.all(d.candidates) {
			return true
		}
	}
	return false
}

// explains reports whether there are candidates and all of them are dead ends. It can be asked of nil.
func (s *deadEnds) explains(candidates []*entry) bool {
	return s != nil && len(candidates) > 0 && s.all(candidates)
}

// all reports whether all entries are dead ends, of which there may be none.
func (s *deadEnds) all(entries []*entry) bool {
	for _, e := range entries {
		if !s.entries[e] {
			return false
		}
	}
	return true
}

// roots calls blame with the variables for which entries are dead ends in the end, and with the dependency that nothing
// provides, or nil if the bundle is deprecated.
func (s *deadEnds) roots(entries []*entry, blame func(*variable, *dependency)) {
	seen := map[*entry]bool{}
	for todo := entries; len(todo) > 0; {
		e := todo[0]
		todo = todo[1:]
		if seen[e] {
			continue
		}
		seen[e] = true
		v := s.question.variables[e]
		if e.deprecated {
			blame(v, nil)
		}
		for i := range v.dependencies {
			switch d := &v.dependencies[i]; {
			case len(d.candidates) == 0:
				blame(v, d)
			case s.all(d.candidates):
				todo = append(slices.Clip(todo), d.candidates...)
			}
		}
	}
}
