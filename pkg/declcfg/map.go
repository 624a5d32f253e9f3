package declcfg

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// Map calls fn for every object of the sources, on several goroutines, and yields its results: source by source, by
// file name, and then by position in the file. The object is valid until fn returns; its [Meta] may be kept. An object
// with a part that is not I-JSON (equal keys, broken UTF-8) is read as upstream reads it; see [Object.Flaws].
//
// For an object that cannot be read, Map yields an [*Error] and continues with the next document or, after a syntax
// error in a JSON file, with the next file. Errors of fn are yielded in the same way. When ctx is done, its error comes
// last.
func Map[T any](ctx context.Context, fn func(*Object) (T, error), sources ...Source) iter.Seq2[T, error] {
	work := func(c *chunk) batch[T] {
		if known, ok := c.known.(batch[T]); ok {
			return known.moved(Twin{c.file})
		}
		if c.Chunk != nil {
			defer c.Recycle() // no part of its text is used after this
		}
		return readBatch(c, fn)
	}
	return func(yield func(T, error) bool) {
		var skip *file
		var keep memoWriter[T]
		expanded := 0
		for b := range parallel.Map(ctx, 0, allChunks(ctx, sources), work) {
			if b.file != nil && b.file == skip {
				continue
			}
			if expanded += b.expanded; expanded > yamljson.MaxExpansion {
				var none T
				yield(none, fmt.Errorf("%s: YAML aliases of the catalog expand beyond 64 MB", b.file.label))
				return
			}
			b.reportNotes()
			keep.add(b)
			for _, r := range b.results {
				if !yield(r.value, r.err) {
					return
				}
			}
			if b.broken {
				skip = b.file
			}
		}
		if err := ctx.Err(); err != nil {
			var none T
			yield(none, err)
			return
		}
		keep.end()
	}
}

type batch[T any] struct {
	results []result[T]
	file    *file // nil for an error or a note of the walk
	broken  bool  // the rest of the file cannot be read
	known   bool  // from a memo

	note     *note             // of the walk
	refused  []*document.Error // see [document.Chunk]
	expanded int               // size of expanded YAML aliases in bytes
}

type result[T any] struct {
	value T
	err   error
}

func readBatch[T any](c *chunk, fn func(*Object) (T, error)) batch[T] {
	b := batch[T]{file: c.file, note: c.note}
	err := c.read(func(o *Object, err error) {
		if isWithheld(c.withheld(), o, err) {
			return
		}
		var v T
		if err == nil {
			v, err = fn(o)
		}
		b.results = append(b.results, result[T]{v, err})
	})
	if err != nil {
		b.broken = true
		if !isWithheld(c.withheld(), nil, err) {
			b.results = append(b.results, result[T]{err: err})
		}
	}
	if c.Chunk != nil {
		b.refused, b.expanded = c.Refused, c.Expanded
	}
	return b
}

// reportNotes calls [Source].Note for the differences to upstream in b.
func (b *batch[T]) reportNotes() {
	if b.note != nil && b.note.to != nil {
		b.note.to(b.note.err)
	}
	if b.file == nil || b.file.note == nil {
		return
	}
	for _, e := range b.refused {
		b.file.note(&Error{Pos: b.file.pos(e.Place), Err: e.Err})
	}
}

// allChunks yields the chunks of all files of the sources. An error of the walk is a chunk without documents.
func allChunks(ctx context.Context, sources []Source) iter.Seq[*chunk] {
	return func(yield func(*chunk) bool) {
		for _, s := range sources {
			more := true
			report := func(err error) {
				more = more && (isWithheld(s.Withheld, nil, err) || yield(&chunk{err: err}))
			}
			addNote := func(err *Error) { more = more && yield(&chunk{note: &note{s.Note, err}}) }
			for f := range parallel.Map(ctx, 0, slices.Values(s.files(report, addNote)), (*file).identified) {
				for c := range f.chunks() {
					if more = more && yield(c); !more {
						return
					}
				}
			}
			if !more {
				return
			}
		}
	}
}
