package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"
)

// Catalogs returns a catalog for each source that the store was built from, in their order, or nil where it was built
// without [BuildOptions].HTTP.
func (s *Store) Catalogs() []*Catalog {
	var all []*Catalog
	for i := range s.index.rows(tCatalogs) {
		r := s.index.row(tCatalogs, uint32(i))
		all = append(all, &Catalog{
			store: s, firstFrame: r[0], frameCount: r[1], firstLine: r[2], lineCount: r[3],
			size: int64(wide(r[4:6])), zstdSize: int64(wide(r[6:8])),
		})
	}
	return all
}

// A Catalog is all objects of one source as JSON lines, as catalogd serves them: compact, keys sorted at every level,
// no escapes for HTML, in the order of the files by name and then of the documents in each. Any number of goroutines
// may use it as long as the store is open.
type Catalog struct {
	store                  *Store
	firstFrame, frameCount uint32
	firstLine, lineCount   uint32
	size, zstdSize         int64
}

// Len returns the number of lines.
func (c *Catalog) Len() int { return int(c.lineCount) }

// Size returns the number of bytes of all lines.
func (c *Catalog) Size() int64 { return c.size }

// ZstdSize returns the number of bytes of all lines as they are stored, in zstd.
func (c *Catalog) ZstdSize() int64 { return c.zstdSize }

// Plain returns a reader of all lines.
func (c *Catalog) Plain() *Reader {
	return &Reader{catalog: c, size: c.size, offset: frameOffset, load: c.store.record}
}

// Zstd returns a reader of all lines in zstd, as they are stored: nothing is compressed, or decompressed.
func (c *Catalog) Zstd() *Reader {
	load := func(dst []byte, id uint32) ([]byte, error) { return c.store.stored(dst, c.store.index.record(id)) }
	return &Reader{catalog: c, size: c.zstdSize, offset: frameZstdOffset, load: load}
}

// The columns of tFrames with the place of a frame in the catalog.
const (
	frameOffset     = 1
	frameZstdOffset = 3
)

// A Reader reads a catalog from any place. Its errors wrap ErrDataLoss. It is for one goroutine, and need not be
// closed.
type Reader struct {
	catalog *Catalog
	size    int64
	offset  int // the column of tFrames
	load    func(dst []byte, record uint32) ([]byte, error)

	pos   int64
	frame []byte // the last that was read
	start int64  // where it begins
}

var (
	_ io.ReadSeeker = (*Reader)(nil)
	_ io.WriterTo   = (*Reader)(nil)
)

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	rest, err := r.rest()
	n := copy(p, rest)
	r.pos += int64(n)
	return n, err
}

// WriteTo implements io.WriterTo. It writes frame by frame.
func (r *Reader) WriteTo(w io.Writer) (written int64, err error) {
	for {
		rest, err := r.rest()
		if err == io.EOF {
			return written, nil
		}
		if err != nil {
			return written, err
		}
		n, err := w.Write(rest)
		written += int64(n)
		r.pos += int64(n)
		if err != nil {
			return written, err
		}
	}
}

// Seek implements io.Seeker.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of a catalog")
	}
	r.pos = offset
	return offset, nil
}

// rest returns what is left of the frame at the position. It is io.EOF at the end.
func (r *Reader) rest() ([]byte, error) {
	if r.pos >= r.size {
		return nil, io.EOF
	}
	if r.pos < r.start || r.pos >= r.start+int64(len(r.frame)) {
		if err := r.seekFrame(); err != nil {
			return nil, err
		}
	}
	return r.frame[r.pos-r.start:], nil
}

// seekFrame reads the frame that the position is in.
func (r *Reader) seekFrame() error {
	x, c := r.catalog.store.index, r.catalog
	start := func(i int) int64 {
		return int64(wide(x.row(tFrames, c.firstFrame+uint32(i))[r.offset : r.offset+2]))
	}
	i := sort.Search(int(c.frameCount), func(i int) bool { return start(i) > r.pos }) - 1
	if i < 0 {
		return fmt.Errorf("%w: no frame holds byte %d of a catalog", ErrDataLoss, r.pos)
	}
	frame, err := r.load(r.frame[:0], x.row(tFrames, c.firstFrame+uint32(i))[0])
	r.frame, r.start = frame[:len(frame):cap(frame)], start(i)
	if err != nil {
		r.frame = r.frame[:0]
		return err
	}
	if r.pos >= r.start+int64(len(r.frame)) {
		return fmt.Errorf("%w: no frame holds byte %d of a catalog", ErrDataLoss, r.pos)
	}
	return nil
}

// A Query asks for objects with these texts under schema, package and name; "" asks for any. As in catalogd, the
// package of an olm.package is not its name: it has none.
type Query struct{ Schema, Package, Name string }

// Query finds what q asks for, by the index alone.
func (c *Catalog) Query(q Query) *Result {
	x := c.store.index
	keys := []queryKey{ // the one first that is likely to leave the fewest
		{table: tByName, column: lineName, text: q.Name},
		{table: tByPackage, column: linePackage, text: q.Package},
		{table: tBySchema, column: lineSchema, text: q.Schema},
	}
	keys = slices.DeleteFunc(keys, func(k queryKey) bool { return k.text == "" })
	r := &Result{catalog: c}
	if len(keys) == 0 {
		for i := range c.lineCount {
			r.lines = append(r.lines, c.firstLine+i)
		}
		return r
	}
	for i := range keys {
		var ok bool
		if keys[i].id, ok = x.find(keys[i].text); !ok {
			return r
		}
	}
	for _, line := range c.sorted(keys[0]) {
		row := x.row(tLines, line)
		differs := func(k queryKey) bool { return row[k.column] != k.id }
		if !slices.ContainsFunc(keys, differs) {
			r.lines = append(r.lines, line)
		}
	}
	return r
}

// A queryKey is one of the texts of a query.
type queryKey struct {
	table  tableID // the lines by that text
	column int     // of tLines with that text
	text   string
	id     uint32 // of text
}

// The columns of tLines.
const (
	lineFrame = iota
	lineOffset
	lineSize
	lineSchema
	linePackage
	lineName
)

// sorted returns the lines with the text of k, in the order of the catalog.
func (c *Catalog) sorted(k queryKey) []uint32 {
	x := c.store.index
	lines := x.tables[k.table][c.firstLine : c.firstLine+c.lineCount]
	first, end := equalRun(len(lines), func(i int) int { return cmp.Compare(x.row(tLines, lines[i])[k.column], k.id) })
	return lines[first:end]
}

// A Result is objects of a catalog, in its order.
type Result struct {
	catalog *Catalog
	lines   []uint32
}

// Len returns the number of objects.
func (r *Result) Len() int { return len(r.lines) }

// Size returns the number of bytes of their lines.
func (r *Result) Size() int64 {
	var size int64
	for _, i := range r.lines {
		size += int64(r.catalog.store.index.row(tLines, i)[lineSize])
	}
	return size
}

// Lines yields them, each with a line feed at its end, and reads no more than what they are stored in. A line may not
// be changed, and is good until the next. An error wraps ErrDataLoss and is the last.
func (r *Result) Lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := r.catalog.store
		frame := buffers.Get()
		defer func() { buffers.Put(frame) }()
		loaded := uint32(0) // plus one
		for _, i := range r.lines {
			row := s.index.row(tLines, i)
			if loaded != row[lineFrame]+1 {
				var err error
				if frame, err = s.record(frame[:0], s.index.row(tFrames, row[lineFrame])[0]); err != nil {
					yield(nil, err)
					return
				}
				loaded = row[lineFrame] + 1
			}
			end := uint64(row[lineOffset]) + uint64(row[lineSize])
			if end > uint64(len(frame)) {
				yield(nil, fmt.Errorf("%w: line %d ends behind its frame", ErrDataLoss, i))
				return
			}
			if !yield(frame[row[lineOffset]:end:end], nil) {
				return
			}
		}
	}
}
