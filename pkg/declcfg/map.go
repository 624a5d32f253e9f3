package declcfg

import (
	"context"
	"fmt"
	"iter"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/memo"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/place"
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
	return results(ctx, func(c *chunk) batch[T] { return readBatch(c, fn) }, sources)
}

// A Converted is the result of a function for an object.
type Converted[T any] struct {
	Meta  *Meta
	Value T
}

// Convert is [Map] for results that do not depend on the position of the object, and yields them with their [Meta].
// They must not be changed: several objects may share one.
func Convert[T any](
	ctx context.Context, fn func(*Object) (T, error), sources ...Source,
) iter.Seq2[Converted[T], error] {
	one := func(o *Object) (Converted[T], error) {
		v, err := fn(o)
		return Converted[T]{o.Meta, v}, err
	}
	read := func(c *chunk) batch[Converted[T]] { return readBatch(c, one) }
	known := memo.From(ctx)
	return results(ctx, func(c *chunk) batch[Converted[T]] { return convert(known, c, read) }, sources)
}

// Collect passes the results of [Convert] to keep, one after the other. The error joins the errors of all objects that
// cannot be read or converted, sorted by position.
func Collect[T any](
	ctx context.Context, fn func(*Object) (T, error), keep func(*Meta, T), sources ...Source,
) error {
	var errs []error
	for o, err := range Convert(ctx, fn, sources...) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		keep(o.Meta, o.Value)
	}
	return place.JoinErrors(errs)
}

// Metas returns the identities of all objects of the sources, in the order of [Map]. The error is that of [Collect].
func Metas(ctx context.Context, sources ...Source) (metas []*Meta, err error) {
	nothing := func(*Object) (struct{}, error) { return struct{}{}, nil }
	keep := func(m *Meta, _ struct{}) { metas = append(metas, m) }
	return metas, Collect(ctx, nothing, keep, sources...)
}

// results yields the results of all chunks, each a batch of work.
func results[T any](ctx context.Context, work func(*chunk) batch[T], sources []Source) iter.Seq2[T, error] {
	recycling := func(c *chunk) batch[T] {
		if c.Chunk != nil {
			defer c.Recycle() // no part of its text is used after this
		}
		return work(c)
	}
	return func(yield func(T, error) bool) {
		var skip *file
		expanded := 0
		for b := range parallel.Map(ctx, 0, allChunks(sources), recycling) {
			if b.file != nil && b.file == skip {
				continue
			}
			if expanded += b.expanded; expanded > yamljson.MaxExpansion {
				var none T
				yield(none, fmt.Errorf("%s: YAML aliases of the catalog expand beyond 64 MB", b.file.label))
				return
			}
			b.reportNotes()
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
		}
	}
}

type batch[T any] struct {
	results []result[T]
	file    *file // nil for an error or a note of the walk
	broken  bool  // the rest of the file cannot be read

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
		if isWithheld(c.withheld(), o, err) || err == nil && c.file.omit != nil && c.file.omit(o.Meta) {
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
func allChunks(sources []Source) iter.Seq[*chunk] {
	return func(yield func(*chunk) bool) {
		for _, s := range sources {
			more := true
			report := func(err error) {
				more = more && (isWithheld(s.Withheld, nil, err) || yield(&chunk{err: err}))
			}
			addNote := func(err *Error) { more = more && yield(&chunk{note: &note{s.Note, err}}) }
			for _, f := range s.files(report, addNote) {
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
