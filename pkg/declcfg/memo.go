package declcfg

import (
	"sync"

	"github.com/opm-toolchain/opm/internal/document"
)

// A Memo keeps the results of [Map], so that the same text at the same place of another file is not read and given to
// the function again. It is for catalogs with many equal files, such as those for several versions of a platform, and
// holds all results in memory. Only a [Movable] result is kept.
//
// A memo is for one function and one type of results. The zero value is empty. Goroutines may share a Memo.
type Memo struct {
	mu   sync.Mutex
	kept map[memoKey]any // the batch[T] of a chunk
}

// A memoKey identifies the text of a chunk, and how it is read.
type memoKey struct {
	document.Key
	ordered bool
}

// A Movable is a result of [Map] that holds for an equal object in another file, too.
type Movable interface {
	// Moved returns a copy of the result, with the [Meta] and the positions that t gives it.
	Moved(t Twin) any
}

// A Twin is a file in which the text of objects is equal to that of another file, and at the same place.
type Twin struct{ file *file }

// Meta returns the Meta of the object that is equal to m.
func (t Twin) Meta(m *Meta) *Meta {
	twin := *m
	twin.Pos, twin.src.file = t.Pos(m.Pos), t.file
	return &twin
}

// Pos returns the position that is equal to p.
func (t Twin) Pos(p Pos) Pos {
	p.File = t.file.label
	return p
}

// memoized returns what read returns for a chunk, or a copy of what it returned for a chunk of the same text.
func memoized[T any](c *chunk, read func() batch[T]) batch[T] {
	if c.Chunk == nil || c.file.memo == nil || c.file.withheld != nil {
		return read()
	}
	memo := c.file.memo
	key := memoKey{c.Key(), c.file.ordered}
	memo.mu.Lock()
	known, ok := memo.kept[key].(batch[T])
	memo.mu.Unlock()
	if ok {
		return known.moved(Twin{c.file})
	}
	b := read()
	if b.movable() {
		memo.mu.Lock()
		defer memo.mu.Unlock()
		if memo.kept == nil {
			memo.kept = map[memoKey]any{}
		}
		memo.kept[key] = b.moved(Twin{c.file}) // a copy: the caller of Map may change its results
	}
	return b
}

// movable reports whether b holds for another file with the same text. Errors are not moved: they are rare, and name
// their file in several ways.
func (b *batch[T]) movable() bool {
	for _, r := range b.results {
		if _, ok := any(r.value).(Movable); r.err != nil || !ok {
			return false
		}
	}
	return !b.broken
}

func (b batch[T]) moved(t Twin) batch[T] {
	b.file = t.file
	results := make([]result[T], len(b.results))
	for i, r := range b.results {
		results[i].value = any(r.value).(Movable).Moved(t).(T)
	}
	b.results = results
	return b
}
