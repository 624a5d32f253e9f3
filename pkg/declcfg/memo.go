package declcfg

import (
	"slices"

	"github.com/opm-toolchain/opm/internal/memo"
)

// A memoKey identifies the text of a chunk, and how it is read. Keys are equal in one process only.
type memoKey struct {
	sum     uint64
	ordered bool
}

// convert returns the result of read for a chunk, or the result for a chunk that is equal, at the same place in another
// file, and already in the memo. Results of chunks with an error are not kept.
func convert[T any](known *memo.Memo, c *chunk, read func(*chunk) batch[Converted[T]]) batch[Converted[T]] {
	if c.Chunk == nil || known == nil || c.file.withheld != nil || c.file.omit != nil {
		return read(c)
	}
	sum, ok := c.Sum(seed)
	if !ok {
		return read(c)
	}
	key := memoKey{sum, c.file.ordered}
	v, _ := known.Get(key)
	if b, ok := v.(batch[Converted[T]]); ok {
		return inFile(b, c.file)
	}
	b := read(c)
	if !b.broken && !slices.ContainsFunc(b.results, func(r result[Converted[T]]) bool { return r.err != nil }) {
		known.Keep(key, b)
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
