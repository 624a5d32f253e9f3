package edit

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A kind is what a node holds.
type kind byte

// The kinds.
const (
	scalar kind = iota
	list
	object
)

// A node is a value of a document and where it is in its text. Offsets are in bytes.
type node struct {
	kind     kind
	flow     bool // in brackets, as JSON is
	start    int  // of the key of a member, of the dash of an element, or else of the value
	from, to int  // of the value; to is behind its last character
	column   int  // of start, in block style

	name  string // of a member
	quote byte   // around a scalar: ', " or 0

	// shared is why the text must not be edited: an anchor, an alias, a merge or a tag. It is "" where it may be.
	shared string

	children []*node
}

// find returns the nodes on the way to the value at ptr, the root first. It ends early where there is no such value.
// The case of keys does not matter, as in reading.
func (n *node) find(ptr jsontext.Pointer) []*node {
	path := []*node{n}
	for token := range ptr.Tokens() {
		if n = n.child(token); n == nil {
			break
		}
		path = append(path, n)
	}
	return path
}

// child returns the element with an index, or the member with a name; nil for none.
func (n *node) child(token string) *node {
	if n.kind == list {
		if i, ok := index(token); ok && i < len(n.children) {
			return n.children[i]
		}
		return nil
	}
	var folded *node
	for _, c := range n.children {
		if c.name == token {
			return c
		}
		if strings.EqualFold(c.name, token) {
			folded = c
		}
	}
	return folded
}

// repeated returns a member that has the name of an earlier one; nil for none.
func (n *node) repeated() *node {
	if n.kind != object {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range n.children {
		name := strings.ToLower(c.name)
		if seen[name] {
			return c
		}
		seen[name] = true
	}
	return nil
}

// sharing returns the first node in n, or n itself, that must not be edited; nil for none.
func (n *node) sharing() *node {
	if n.shared != "" {
		return n
	}
	for _, c := range n.children {
		if s := c.sharing(); s != nil {
			return s
		}
	}
	return nil
}

// isSorted reports whether the members of n are in the order of their names.
func (n *node) isSorted() bool {
	return slices.IsSortedFunc(n.children, func(a, b *node) int { return strings.Compare(a.name, b.name) })
}

// last returns the last child; n must have one.
func (n *node) last() *node { return n.children[len(n.children)-1] }
