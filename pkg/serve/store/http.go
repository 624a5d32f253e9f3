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

// Catalogs returns a catalog for each source that the store was built from, in their order. It returns nil if the store
// was built without [BuildOptions].HTTP.
func (s *Store) Catalogs() []*Catalog {
	sizeInFile := func(r recordRow) int { return int(r.Size) }
	fromFile := func(dst []byte, i id[recordRow]) ([]byte, error) { return s.stored(dst, s.index.Records[i]) }
	var all []*Catalog
	for _, row := range s.index.Catalogs {
		zstd, gzip := row.Zstd.of(s.index.Frames), row.Gzip.of(s.index.Frames)
		all = append(all, &Catalog{
			store: s, lines: row.Lines,
			plain: s.reader(zstd, recordRow.contentSize, s.frame),
			zstd:  s.reader(zstd, sizeInFile, fromFile),
			gzip:  s.reader(gzip, sizeInFile, fromFile),
		})
	}
	return all
}

// A Catalog is all objects of one source as JSON lines, as catalogd serves them: compact, keys sorted at every level,
// no escapes for HTML, in the order of the files by name and then of the documents in each. Any number of goroutines
// may use it as long as the store is open.
type Catalog struct {
	store             *Store
	lines             run[lineRow]
	plain, zstd, gzip Reader // at their start
}

// Len returns the number of lines.
func (c *Catalog) Len() int { return int(c.lines.Count) }

// Size returns the number of bytes of all lines.
func (c *Catalog) Size() int64 { return c.plain.Size() }

// Plain returns a reader of all lines.
func (c *Catalog) Plain() *Reader { return new(c.plain) }

// Zstd returns a reader of all lines in zstd, as they are stored: nothing is compressed, or decompressed.
func (c *Catalog) Zstd() *Reader { return new(c.zstd) }

// Gzip is Zstd in gzip.
func (c *Catalog) Gzip() *Reader { return new(c.gzip) }

// A Reader reads a catalog from any place. Its errors wrap ErrDataLoss. It is for one goroutine, and need not be
// closed.
type Reader struct {
	frames  []frameRow
	starts  []int64 // offset of each frame, and the end of the last one
	largest int
	load    func(dst []byte, i id[recordRow]) ([]byte, error)

	pos   int64
	frame []byte // the last one that was read
	start int64  // its offset
}

var (
	_ io.ReadSeeker = (*Reader)(nil)
	_ io.WriterTo   = (*Reader)(nil)
)

// reader returns a reader of frames, each as load returns it and of the size that sizeOf returns.
func (s *Store) reader(
	frames []frameRow, sizeOf func(recordRow) int, load func([]byte, id[recordRow]) ([]byte, error),
) Reader {
	r := Reader{frames: frames, starts: make([]int64, 1, len(frames)+1), load: load}
	for i, f := range frames {
		size := sizeOf(s.index.Records[f.Record])
		r.starts = append(r.starts, r.starts[i]+int64(size))
		r.largest = max(r.largest, size)
	}
	return r
}

// Size returns the number of bytes to be read from the start.
func (r *Reader) Size() int64 { return r.starts[len(r.frames)] }

// FrameSize returns the maximum number of bytes that the reader keeps in memory.
func (r *Reader) FrameSize() int { return r.largest }

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
	if r.frame == nil {
		r.frame = buffers.Get()
		defer func() {
			buffers.Put(r.frame)
			r.frame = nil
		}()
	}
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
		offset += r.Size()
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of a catalog")
	}
	r.pos = offset
	return offset, nil
}

// rest returns the bytes of a frame from the position on. The error is io.EOF at the end.
func (r *Reader) rest() ([]byte, error) {
	if r.pos >= r.Size() {
		return nil, io.EOF
	}
	if r.pos < r.start || r.pos >= r.start+int64(len(r.frame)) {
		i := sort.Search(len(r.frames), func(i int) bool { return r.starts[i+1] > r.pos })
		frame, err := r.load(r.frame[:0], r.frames[i].Record)
		if r.frame, r.start = frame, r.starts[i]; err != nil {
			return nil, err
		}
	}
	return r.frame[r.pos-r.start:], nil
}

// A Query asks for objects with these texts under schema, package and name; "" asks for any. As in catalogd, the
// package of an olm.package is not its name: it has none.
type Query struct{ Schema, Package, Name string }

// Query finds the objects that match q. It reads only the index.
func (c *Catalog) Query(q Query) *Result {
	x := c.store.index
	keys := []queryKey{ // first the one that is likely to match the fewest
		{x.ByName, func(l lineRow) stringID { return l.Name }, q.Name, 0},
		{x.ByPackage, func(l lineRow) stringID { return l.Package }, q.Package, 0},
		{x.BySchema, func(l lineRow) stringID { return l.Schema }, q.Schema, 0},
	}
	keys = slices.DeleteFunc(keys, func(k queryKey) bool { return k.text == "" })
	r := &Result{store: c.store}
	if len(keys) == 0 {
		r.lines = c.lines.of(x.Lines)
		return r
	}
	for i := range keys {
		var ok bool
		if keys[i].id, ok = x.find(keys[i].text); !ok {
			return r
		}
	}
	first := keys[0]
	sorted := first.sorted[c.lines.First:][:c.lines.Count]
	byFirst := func(l lineRef) int { return cmp.Compare(first.column(x.Lines[l.Line]), first.id) }
	for _, ref := range search(sorted, byFirst) {
		line := x.Lines[ref.Line]
		differs := func(k queryKey) bool { return k.column(line) != k.id }
		if !slices.ContainsFunc(keys, differs) {
			r.lines = append(r.lines, line)
		}
	}
	return r
}

// A queryKey is one of the texts of a query.
type queryKey struct {
	sorted []lineRef // all lines, by that text
	column func(lineRow) stringID
	text   string
	id     stringID // of text
}

// A Result is objects of a catalog, in its order.
type Result struct {
	store *Store
	lines []lineRow
}

// Len returns the number of objects.
func (r *Result) Len() int { return len(r.lines) }

// Size returns the number of bytes of their lines.
func (r *Result) Size() int64 {
	var size int64
	for _, l := range r.lines {
		size += int64(l.Size)
	}
	return size
}

// FrameSize returns the maximum number of bytes that Lines keeps in memory.
func (r *Result) FrameSize() int {
	largest := 0
	for _, l := range r.lines {
		largest = max(largest, r.store.index.Records[l.Record].contentSize())
	}
	return largest
}

// Lines yields the objects, each with a line feed at its end, and reads only their records. A line may not be changed,
// and is valid until the next. An error wraps ErrDataLoss and is the last.
func (r *Result) Lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		group := buffers.Get()
		defer func() { buffers.Put(group) }()
		var loaded optional[recordRow]
		for _, l := range r.lines {
			if loaded != some(l.Record) {
				var err error
				if group, err = r.store.record(group[:0], l.Record); err != nil {
					yield(nil, err)
					return
				}
				loaded = some(l.Record)
			}
			end := uint64(l.Offset) + uint64(l.Size)
			if end > uint64(len(group)) {
				yield(nil, fmt.Errorf("%w: a line ends behind its record", ErrDataLoss))
				return
			}
			if !yield(group[l.Offset:end:end], nil) {
				return
			}
		}
	}
}
