package declcfg

import (
	"hash/maphash"
	"io"
	"slices"
	"sync"

	"github.com/opm-toolchain/opm/internal/document"
)

// A Memo keeps the results of [Map] by file, so that a file with the same content is not parsed and given to the
// function again. It is for catalogs with many equal files, such as those for several versions of a platform, and holds
// all results in memory. Only [Movable] results are kept, and only for files without errors.
//
// A memo is for one function and one type of results. The zero value is empty. Goroutines may share a Memo.
type Memo struct {
	mu   sync.Mutex
	kept map[memoKey]any // the batch[T] of a file
}

// A memoKey identifies the content of a file, and how it is read. Keys are equal in one process only.
type memoKey struct {
	sum             uint64
	size, maxObject int64
	ordered         bool
}

// A Movable is a result of [Map] that can be reused for an equal object in another file.
type Movable interface {
	// Moved returns a copy of the result, with the [Meta] and the positions that t gives it.
	Moved(t Twin) any
}

// A Twin is a file with the same content as another file.
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

// hashBlock is the number of bytes that are read and hashed at a time, few enough for the cache of the CPU.
const hashBlock = 128 << 10

// identified returns f, with the key of its content if f has a memo, and with the content if that fits into a buffer
// and is not in the memo. The key stays empty if the file cannot be read, so that reading it again returns the error.
func (f *file) identified() *file {
	if f.memo == nil || f.withheld != nil {
		return f
	}
	h, info, err := f.open()
	if err != nil {
		return f
	}
	defer h.Close()
	buf := document.Buffers.Get()
	buf = buf[:cap(buf)]
	key := memoKey{size: info.Size(), maxObject: f.maxObject, ordered: f.ordered}
	fits := key.size <= int64(len(buf))
	for off := int64(0); off < key.size; {
		to := buf[:min(key.size-off, hashBlock)]
		if fits {
			to = buf[off : off+int64(len(to))]
		}
		if n, err := h.ReadAt(to, off); n < len(to) || err != nil && err != io.EOF {
			document.Buffers.Put(buf)
			return f
		}
		key.sum = maphash.Comparable(seed, [2]uint64{key.sum, maphash.Bytes(seed, to)})
		off += int64(len(to))
	}
	f.key, f.info = key, info
	if fits && f.known() == nil {
		f.content = buf[:key.size]
	} else {
		document.Buffers.Put(buf)
	}
	return f
}

// known returns the results of earlier calls for the content of f, a batch[T], or nil.
func (f *file) known() any {
	if f.key == (memoKey{}) {
		return nil
	}
	f.memo.mu.Lock()
	defer f.memo.mu.Unlock()
	return f.memo.kept[f.key]
}

// A memoWriter puts the results of files into their memos.
type memoWriter[T any] struct {
	whole batch[T] // of the current file
	keeps bool
}

// add adds the next batch, before its results are used: the caller of Map may change them.
func (k *memoWriter[T]) add(b batch[T]) {
	if b.file != k.whole.file {
		k.end()
		k.whole, k.keeps = batch[T]{file: b.file}, b.file != nil && b.file.key != memoKey{} && !b.known
	}
	if k.keeps = k.keeps && b.movable(); !k.keeps {
		return
	}
	k.whole.results = append(k.whole.results, b.moved(Twin{b.file}).results...)
	k.whole.refused = append(k.whole.refused, b.refused...)
	k.whole.expanded += b.expanded
}

// end puts the results of the current file, which is complete, into its memo.
func (k *memoWriter[T]) end() {
	if !k.keeps {
		return
	}
	memo := k.whole.file.memo
	memo.mu.Lock()
	defer memo.mu.Unlock()
	if memo.kept == nil {
		memo.kept = map[memoKey]any{}
	}
	memo.kept[k.whole.file.key] = k.whole
}

// movable reports whether b can be reused for another file with the same content. Errors cannot: they are rare, and
// name their file in several ways.
func (b *batch[T]) movable() bool {
	for _, r := range b.results {
		if _, ok := any(r.value).(Movable); r.err != nil || !ok {
			return false
		}
	}
	return !b.broken
}

func (b batch[T]) moved(t Twin) batch[T] {
	b.file, b.known = t.file, true
	b.results = slices.Clone(b.results)
	for i, r := range b.results {
		b.results[i].value = any(r.value).(Movable).Moved(t).(T)
	}
	return b
}
