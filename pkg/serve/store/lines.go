package store

import (
	"cmp"
	"slices"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// frameSize is about how many bytes of lines are in one frame: all that has to be decompressed for one line.
const frameSize = 32 << 10

// A line is one object as JSON, with a line feed at its end.
type line struct {
	text  []byte // from the buffers of the packer; nil where there is a frame
	size  int
	frame *record // of a large line, which has a frame for itself
}

func (p *packer) line(o *declcfg.Object) line {
	text := append(format.AppendCompact(p.buffers.Get(), o.JSON()), '\n')
	l := line{text: text, size: len(text)}
	if l.size >= frameSize/2 {
		frame := p.frame(text)
		p.buffers.Put(text)
		l.text, l.frame = nil, &frame
	}
	return l
}

// A lineWriter gathers lines into frames. Small ones share a frame.
type lineWriter struct {
	pending    []byte // lines of the next frame
	firstFrame int    // of the catalog, as below
	size       uint64
	zstdSize   uint64
	lines      []metaLine
}

type metaLine struct {
	ref               lineRef
	schema, pkg, name string
}

// begin begins a catalog.
func (w *lineWriter) begin(b *builder) {
	*w = lineWriter{firstFrame: len(b.data.Frames)}
}

// add adds the line of an object.
func (w *lineWriter) add(b *builder, m *declcfg.Meta, l line) error {
	if l.frame != nil {
		if err := w.flush(b); err != nil {
			return err
		}
	}
	row := add(&b.data.Lines, lineRow{
		Frame: id[frameRow](len(b.data.Frames)), Offset: uint32(len(w.pending)), Size: uint32(l.size),
		Schema: b.names.id(m.Schema), Package: b.names.id(m.Package), Name: b.names.id(m.Name),
	})
	w.lines = append(w.lines, metaLine{lineRef{row}, m.Schema, m.Package, m.Name})
	if l.frame != nil {
		if err := w.write(b, *l.frame); err != nil {
			return at(m, err)
		}
		return nil
	}
	w.pending = append(w.pending, l.text...)
	b.packer.buffers.Put(l.text)
	if len(w.pending) < frameSize {
		return nil
	}
	return w.flush(b)
}

// flush writes the pending lines.
func (w *lineWriter) flush(b *builder) error {
	if len(w.pending) == 0 {
		return nil
	}
	err := w.write(b, b.packer.frame(w.pending))
	w.pending = w.pending[:0]
	return err
}

func (w *lineWriter) write(b *builder, frame record) error {
	record, err := b.records.add(frame)
	if err != nil {
		return err
	}
	add(&b.data.Frames, frameRow{Record: record, Offset: w.size, ZstdOffset: w.zstdSize})
	w.size += uint64(frame.content)
	w.zstdSize += uint64(len(frame.data))
	return nil
}

// end ends a catalog.
func (w *lineWriter) end(b *builder) error {
	if !b.opts.HTTP {
		return nil
	}
	if err := w.flush(b); err != nil {
		return err
	}
	add(&b.data.Catalogs, catalogRow{
		Frames: rowsFrom(b.data.Frames, w.firstFrame), Lines: rowsFrom(b.data.Lines, len(b.data.Lines)-len(w.lines)),
		Size: w.size, ZstdSize: w.zstdSize,
	})
	w.sort(&b.data.BySchema, func(l metaLine) string { return l.schema })
	w.sort(&b.data.ByPackage, func(l metaLine) string { return l.pkg })
	w.sort(&b.data.ByName, func(l metaLine) string { return l.name })
	return nil
}

// sort enters the lines of the catalog into a table by what by returns, and in their order where that is alike.
func (w *lineWriter) sort(table *[]lineRef, by func(metaLine) string) {
	slices.SortFunc(w.lines, func(x, y metaLine) int {
		return cmp.Or(cmp.Compare(by(x), by(y)), cmp.Compare(x.ref.Line, y.ref.Line))
	})
	for _, l := range w.lines {
		add(table, l.ref)
	}
}
