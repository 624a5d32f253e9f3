package diff

import "iter"

// A grouped is a multimap with ordered keys. The zero value is empty.
type grouped[K comparable, V any] struct {
	keys []K // in the order of insertion
	of   map[K][]V
}

func (g *grouped[K, V]) add(k K, v V) {
	if g.of == nil {
		g.of = map[K][]V{}
	}
	if g.of[k] == nil {
		g.keys = append(g.keys, k)
	}
	g.of[k] = append(g.of[k], v)
}

// all yields the keys in order, with their values.
func (g *grouped[K, V]) all() iter.Seq2[K, []V] {
	return func(yield func(K, []V) bool) {
		for _, k := range g.keys {
			if !yield(k, g.of[k]) {
				return
			}
		}
	}
}
