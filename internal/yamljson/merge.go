package yamljson

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// mergeCost is what each mapping and each member that a merge key brings in counts as bytes, used or not, so that the
// limit on bytes is one on time.
const mergeCost = 16

// A member is a key of a mapping with its value.
type member struct {
	key     string
	value   *yaml.Node
	merged  bool // brought in by a merge key
	hidden  bool // another member counts in its place
	earlier int  // the index of the member before it with the same key, or -1
}

// members are those of one mapping, in the order in which upstream sets them.
type members struct {
	list   []member
	latest map[string]int // the index of the last member with a key
	kinds  map[string]kind
}

// set adds a member. It hides the equal ones before it, unless the mapping itself repeats a key.
func (m *members) set(key string, value *yaml.Node, merged bool) {
	earlier, ok := m.latest[key]
	if !ok {
		earlier = -1
	}
	for i := earlier; i >= 0 && !m.list[i].hidden; i = m.list[i].earlier {
		m.list[i].hidden = merged || m.list[i].merged
	}
	m.latest[key] = len(m.list)
	m.list = append(m.list, member{key: key, value: value, merged: merged, earlier: earlier})
}

// mergedMapping writes a mapping that has merge keys: first what they bring in, then its own members.
func (w *walker) mergedMapping(n *yaml.Node) error {
	m := members{latest: make(map[string]int), kinds: make(map[string]kind)}
	if err := w.collect(&m, n, false); err != nil {
		return err
	}
	w.out = append(w.out, '{')
	for _, merged := range []bool{true, false} {
		for i := range m.list {
			if m.list[i].hidden || m.list[i].merged != merged {
				continue
			}
			if w.out[len(w.out)-1] != '{' {
				w.out = append(w.out, ',')
			}
			if err := w.member(m.list[i].key, m.list[i].value); err != nil {
				return err
			}
		}
	}
	w.out = append(w.out, '}')
	return w.spend(n, 0)
}

// collect sets the members of n, with those that its merge keys bring in set where the merge key stands.
func (w *walker) collect(m *members, n *yaml.Node, merged bool) error {
	for i := 0; i < len(n.Content); i += 2 {
		if isMerge(n.Content[i]) {
			if err := w.merge(m, n.Content[i+1]); err != nil {
				return err
			}
			continue
		}
		key, k, err := w.key(n.Content[i])
		if err != nil {
			return err
		}
		if merged {
			if err := w.spend(n, mergeCost+len(key)); err != nil {
				return err
			}
		}
		w.note(m.kinds, key, k)
		m.set(key, n.Content[i+1], merged)
	}
	return nil
}

// merge sets what the value of a merge key brings in: a mapping, or a list of them of which the first counts most.
func (w *walker) merge(m *members, value *yaml.Node) error {
	if value.Kind != yaml.SequenceNode {
		return w.mergeOne(m, value)
	}
	for _, merged := range slices.Backward(value.Content) {
		if err := w.mergeOne(m, merged); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) mergeOne(m *members, value *yaml.Node) error {
	source := value
	if value.Kind == yaml.AliasNode {
		source = value.Alias
	}
	if source.Kind != yaml.MappingNode {
		return w.fail(value, "a merge key takes a mapping or a list of mappings")
	}
	if w.open[source] {
		return w.fail(value, "anchor %q holds itself", source.Anchor)
	}
	if err := w.enter(source); err != nil {
		return err
	}
	defer w.leave(source)
	if err := w.spend(value, mergeCost); err != nil {
		return err
	}
	return w.collect(m, source, true)
}
