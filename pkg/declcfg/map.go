package declcfg

import (
	"context"
	"fmt"
	"iter"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// Map calls fn for every object of the sources, on several goroutines, and yields what it returns: source by source, by
// file name, and then by place in the file. The object is valid until fn returns; its [Meta] may be kept. An object
// with a part that is not I-JSON (equal keys, broken UTF-8) is read as upstream reads it; see [Object.Flaws].
//
// What cannot be read yields an [*Error] instead, and what follows it is the next document; after a syntax error in a
// JSON file, the next file. The errors of fn are yielded alike. When ctx is done, its error comes last.
func Map[T any](ctx context.Context, fn func(*Object) (T, error), sources ...Source) iter.Seq2[T, error] {
	type result struct {
		value T
		err   error
	}
	type batch struct {
		results []result
		file    *file
		broken  bool // the rest of the file cannot be read
		notes   []note

		expanded int // bytes that YAML aliases became
	}
	work := func(c *chunk) batch {
		b := batch{file: c.file}
		err := c.read(func(o *Object, err error) {
			if leavesOut(c.withheld(), o, err) {
				return
			}
			var v T
			if err == nil {
				v, err = fn(o)
			}
			b.results = append(b.results, result{v, err})
		})
		if err != nil {
			b.broken = true
			if !leavesOut(c.withheld(), nil, err) {
				b.results = append(b.results, result{err: err})
			}
		}
		if c.Chunk != nil {
			b.expanded = c.Expanded
		}
		b.notes = c.notes()
		c.recycle()
		return b
	}
	return func(yield func(T, error) bool) {
		var skip *file
		expanded := 0
		for b := range parallel.Map(ctx, 0, allChunks(sources), work) {
			if b.file != nil && b.file == skip {
				continue
			}
			if expanded += b.expanded; expanded > yamljson.MaxExpansion {
				var none T
				yield(none, fmt.Errorf("%s: YAML aliases of the catalog expand beyond 64 MB", b.file.label))
				return
			}
			for _, n := range b.notes {
				n.to(n.err)
			}
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

// allChunks yields the chunks of all files of the sources; what the walk cannot reach comes as a chunk with an error.
func allChunks(sources []Source) iter.Seq[*chunk] {
	return func(yield func(*chunk) bool) {
		for _, s := range sources {
			more := true
			report := func(err error) {
				more = more && (leavesOut(s.Withheld, nil, err) || yield(&chunk{err: err}))
			}
			tell := func(err *Error) { more = more && yield(&chunk{note: &note{s.Note, err}}) }
			for _, f := range s.files(report, tell) {
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
