// Package updates detects update loops: updates that lead back to an earlier state, as a skip range can do again and
// again.
package updates

import "slices"

// A Trail is the states that updates lead to, in order. The zero value is empty.
type Trail struct {
	states []string
	index  map[string]int // in states
}

// Add adds the state that an update leads to, such as the name of the installed bundle, or the first state.
func (t *Trail) Add(state string) {
	if t.index == nil {
		t.index = map[string]int{}
	}
	t.index[state] = len(t.states)
	t.states = append(t.states, state)
}

// Loop returns the loop that an update to a state would close, beginning and ending with that state, or nil.
func (t *Trail) Loop(state string) []string {
	i, ok := t.index[state]
	if !ok {
		return nil
	}
	return append(slices.Clone(t.states[i:]), state)
}

// States returns the states in the order in which they were added. It must not be changed.
func (t *Trail) States() []string { return t.states }
