package yamljson

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// maxExpansion is how many bytes of JSON the aliases of a document may become, in all.
const maxExpansion = 64 << 20

// A walker writes the nodes of a document as JSON. Its zero value with a text and a map is ready.
type walker struct {
	out  []byte
	text []byte // what the nodes were parsed from, for places

	limited bool // a limit has been hit, so nothing else should try
	clash   bool // of two keys that only JSON does not tell apart, as 8 and "8", upstream takes any

	depth int                 // of the collections around the node
	open  map[*yaml.Node]bool // those of them that have an anchor

	alias    *yaml.Node // the outermost alias around the node, or nil
	start    int        // where its JSON begins in out
	expanded int        // what aliases have become so far, but for this one
}

func (w *walker) fail(n *yaml.Node, format string, args ...any) error {
	return errorAt(w.text, offsetOf(w.text, n.Line, n.Column), fmt.Sprintf(format, args...))
}

// value writes any node.
func (w *walker) value(n *yaml.Node) error {
	switch n.Kind {
	case yaml.AliasNode:
		return w.expand(n)
	case yaml.ScalarNode:
		return w.scalar(n)
	}
	if err := w.enter(n); err != nil {
		return err
	}
	defer w.leave(n)
	return w.collection(n)
}

// enter goes one level deeper, into the collection n.
func (w *walker) enter(n *yaml.Node) error {
	if w.depth == maxDepth {
		w.limited = true
		return w.fail(n, "%v", errDepth)
	}
	w.depth++
	if n.Anchor != "" {
		w.open[n] = true
	}
	return nil
}

func (w *walker) leave(n *yaml.Node) {
	w.depth--
	delete(w.open, n)
}

func (w *walker) collection(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		return w.mapping(n)
	}
	w.out = append(w.out, '[')
	for i, item := range n.Content {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(item); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return w.spend(n, 0)
}

// expand writes what an alias stands for.
func (w *walker) expand(n *yaml.Node) error {
	if w.open[n.Alias] {
		return w.fail(n, "anchor %q holds itself", n.Value)
	}
	if w.alias != nil {
		return w.value(n.Alias)
	}
	w.alias, w.start = n, len(w.out)
	if err := w.value(n.Alias); err != nil {
		return err
	}
	if err := w.spend(n, 0); err != nil {
		return err
	}
	w.expanded += len(w.out) - w.start
	w.alias = nil
	return nil
}

// spend adds n bytes to what aliases have become, and fails at node when that is too much. Every collection passes
// here, so that the limit on bytes limits the work too.
func (w *walker) spend(node *yaml.Node, n int) error {
	w.expanded += n
	total := w.expanded
	if w.alias != nil {
		node, total = w.alias, total+len(w.out)-w.start
	}
	if total > maxExpansion {
		w.limited = true
		return w.fail(node, "aliases expand beyond 64 MB")
	}
	return nil
}

func (w *walker) mapping(n *yaml.Node) error {
	for i := 0; i < len(n.Content); i += 2 {
		if isMerge(n.Content[i]) {
			return w.mergedMapping(n)
		}
	}
	seen := make(map[string]kind, len(n.Content)/2)
	w.out = append(w.out, '{')
	for i := 0; i < len(n.Content); i += 2 {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		key, k, err := w.key(n.Content[i])
		if err != nil {
			return err
		}
		w.note(seen, key, k)
		if err := w.member(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return w.spend(n, 0)
}

// note looks for keys that are equal in JSON only. Seen are the keys of a mapping so far.
func (w *walker) note(seen map[string]kind, key string, k kind) {
	if before, ok := seen[key]; ok && before != k {
		w.clash = true
	}
	seen[key] = k
}

func (w *walker) member(key string, value *yaml.Node) error {
	w.out = append(appendString(w.out, []byte(key)), ':')
	return w.value(value)
}

// key returns what the node n is as a key, and of which kind it was.
func (w *walker) key(n *yaml.Node) (string, kind, error) {
	scalar := n
	if n.Kind == yaml.AliasNode {
		scalar = n.Alias
	}
	if scalar.Kind != yaml.ScalarNode {
		return "", 0, w.fail(n, "a key must be a scalar")
	}
	k, s, number, err := w.resolve(scalar)
	if err != nil {
		return "", 0, err
	}
	key, ok := keyText(k, s, number)
	if !ok {
		return "", 0, w.fail(n, "%s cannot be a key", describe(k, s))
	}
	return key, k, nil
}

func (w *walker) scalar(n *yaml.Node) error {
	k, s, number, err := w.resolve(n)
	if err != nil {
		return err
	}
	if k == kindInfinite {
		return w.fail(n, "%s has no form in JSON", s)
	}
	w.out = appendKind(w.out, k, []byte(s), number)
	return nil
}

func describe(k kind, s string) string {
	if k == kindNull {
		return "null"
	}
	return "the number " + s
}
