package declcfg

import (
	"slices"
	"sync"
)

// A Memo keeps the results of [Convert], so that a part of a file that is equal to one read before, at the same place
// in its file, is not parsed and converted again. It is for catalogs with many equal files, such as those for several
// versions of a platform, and holds all results in memory. Results of parts with an error are not kept.
//
// A memo is for one function. The zero value is empty. Goroutines may share a Memo.
type Memo struct {
	mu   sync.Mutex
	kept map[memoKey]any // the batch of a chunk, or the Memo of another function
}

// A memoKey identifies the text of a chunk, and how it is read. Keys are equal in one process only.
type memoKey struct {
	sum     uint64
	ordered bool
	as      any
}

// As returns the part of m for a function that depends on key, which must be comparable. It returns nil if m is nil.
func (m *Memo) As(key any) *Memo {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	part, ok := m.kept[memoKey{as: key}].(*Memo)
	if !ok {
		part = new(Memo)
		m.keep(memoKey{as: key}, part)
	}
	return part
}

func (m *Memo) keep(key memoKey, v any) {
	if m.kept == nil {
		m.kept = map[memoKey]any{}
	}
	m.kept[key] = v
}

// convert returns the result of read for a chunk, or the result for an equal chunk.
func convert[T any](c *chunk, read func(*chunk) batch[Converted[T]]) batch[Converted[T]] {
	if c.Chunk == nil || c.file.memo == nil || c.file.withheld != nil || c.file.omit != nil {
		return read(c)
	}
	sum, ok := c.Sum(seed)
	if !ok {
		return read(c)
	}
	memo, key := c.file.memo, memoKey{sum: sum, ordered: c.file.ordered}
	memo.mu.Lock()
	known, ok := memo.kept[key].(batch[Converted[T]])
	memo.mu.Unlock()
	if ok {
		return inFile(known, c.file)
	}
	b := read(c)
	if !b.broken && !slices.ContainsFunc(b.results, func(r result[Converted[T]]) bool { return r.err != nil }) {
		memo.mu.Lock()
		defer memo.mu.Unlock()
		memo.keep(key, b)
	}
	return b
}

// inFile returns the results for an equal part of another file.
func inFile[T any](b batch[Converted[T]], f *file) batch[Converted[T]] {
	b.file = f
	b.results = slices.Clone(b.results)
	for i := range b.results {
		m := *b.results[i].value.Meta
		m.Pos.File, m.src.file = f.label, f
		b.results[i].value.Meta = &m
	}
	return b
}
