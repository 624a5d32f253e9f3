package position

// A tree remembers the objects and arrays of a document that were asked for, by where they start.
type tree struct {
	read  func(at int) container
	known map[int]container
}

func newTree(read func(at int) container) *tree {
	return &tree{read, make(map[int]container)}
}

func (t *tree) container(at int) container {
	c, ok := t.known[at]
	if !ok {
		c = t.read(at)
		t.known[at] = c
	}
	return c
}

// A container is an object or an array, as far as it can be read. Other values are empty ones.
type container struct {
	members  map[string]member // of equal keys the last
	elements []int             // where they start
}

// A member is where a key and its value start.
type member struct{ key, value int }

// A node is the value of a tree that starts at an offset.
type node struct {
	tree *tree
	at   int
}

func (n node) offset() int { return n.at }

func (n node) child(token string) (int, value, bool) {
	c := n.tree.container(n.at)
	if i, ok := element(token, len(c.elements)); ok {
		return c.elements[i], node{n.tree, c.elements[i]}, true
	}
	m, ok := c.members[token]
	return m.key, node{n.tree, m.value}, ok
}
