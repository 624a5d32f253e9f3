package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"

	"github.com/opm-toolchain/opm/internal/serve/store/internal/index"
)

// Catalogs returns a catalog for each source of the store, in order. It returns nil if the store was built without
// [BuildOptions].HTTP.
func (s *Store) Catalogs() []*Catalog {
	sizeInFile := func(r storedRecord) int { return int(r.size) }
	fromFile := func(dst []byte, number uint32) ([]byte, error) { return s.stored(dst, s.records[number]) }
	var all []*Catalog
	for _, c := range s.index.Catalogs {
		all = append(all, &Catalog{
			store: s, index: c, lines: positions(len(c.LineRecord)),
			plain: s.reader(c.Zstd, storedRecord.contentSize, s.frame),
			zstd:  s.reader(c.Zstd, sizeInFile, fromFile),
			gzip:  s.reader(c.Gzip, sizeInFile, fromFile),
		})
	}
	for _, c := range all {
		c.largest = c.Query(Query{}).FrameSize()
	}
	return all
}

// A Catalog is the objects of one source as JSON lines, in the form of catalogd: compact, with sorted keys at every
// level, without HTML escapes, sorted by file name and then by position in the file. It is safe for concurrent use
// while the store is open.
type Catalog struct {
	store             *Store
	index             *index.Catalog
	lines             []uint32 // all
	plain, zstd, gzip Reader   // positioned at the start
	largest           int
}

// Size returns the total size of all lines in bytes.
func (c *Catalog) Size() int64 { return c.plain.Size() }

// FrameSize returns the maximum FrameSize of a Result.
func (c *Catalog) FrameSize() int { return c.largest }

// Plain returns a reader of all lines.
func (c *Catalog) Plain() *Reader { return new(c.plain) }

// Zstd returns a reader of all lines in zstd, as they are stored: nothing is compressed or decompressed.
func (c *Catalog) Zstd() *Reader { return new(c.zstd) }

// Gzip returns a reader of all lines in gzip, as they are stored.
func (c *Catalog) Gzip() *Reader { return new(c.gzip) }

// A Reader reads a catalog from any position. Its errors wrap ErrDataLoss. It must not be used concurrently, and need
// not be closed.
type Reader struct {
	frames  []uint32 // records
	starts  []int64  // offset of each frame, and the end of the last one
	largest int
	load    func(dst []byte, number uint32) ([]byte, error)

	pos   int64
	frame []byte // the last frame that was read
	start int64  // its offset
}

var (
	_ io.ReadSeeker = (*Reader)(nil)
	_ io.WriterTo   = (*Reader)(nil)
)

// reader returns a reader of frames, which are read by load and whose uncompressed sizes are returned by sizeOf.
func (s *Store) reader(
	frames []uint32, sizeOf func(storedRecord) int, load func([]byte, uint32) ([]byte, error),
) Reader {
	r := Reader{frames: frames, starts: make([]int64, 1, len(frames)+1), load: load}
	for i, f := range frames {
		size := sizeOf(s.records[f])
		r.starts = append(r.starts, r.starts[i]+int64(size))
		r.largest = max(r.largest, size)
	}
	return r
}

// Size returns the total number of bytes, whatever the current position.
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

// rest returns the rest of the frame at the current position. The error is io.EOF at the end.
func (r *Reader) rest() ([]byte, error) {
	if r.pos >= r.Size() {
		return nil, io.EOF
	}
	if r.pos < r.start || r.pos >= r.start+int64(len(r.frame)) {
		i := sort.Search(len(r.frames), func(i int) bool { return r.starts[i+1] > r.pos })
		frame, err := r.load(r.frame[:0], r.frames[i])
		if r.frame, r.start = frame, r.starts[i]; err != nil {
			return nil, err
		}
	}
	return r.frame[r.pos-r.start:], nil
}

// A Query selects objects by schema, package and name; "" matches any. As in catalogd, an olm.package has no package,
// only a name.
type Query struct{ Schema, Package, Name string }

// Query returns the objects that match q. It reads only the index.
func (c *Catalog) Query(q Query) *Result {
	keys := []queryKey{ // the most selective key first
		{c.index.ByName, c.index.LineName, q.Name},
		{c.index.ByPackage, c.index.LinePackage, q.Package},
		{c.index.BySchema, c.index.LineSchema, q.Schema},
	}
	keys = slices.DeleteFunc(keys, func(k queryKey) bool { return k.text == "" })
	if len(keys) == 0 {
		return &Result{c.store, c.index, c.lines}
	}
	texts := c.store.index.Strings
	r := &Result{store: c.store, index: c.index}
	first := keys[0]
	byFirst := func(line uint32) int { return cmp.Compare(texts[first.column[line]], first.text) }
	for _, line := range search(first.sorted, byFirst) {
		differs := func(k queryKey) bool { return texts[k.column[line]] != k.text }
		if !slices.ContainsFunc(keys, differs) {
			r.lines = append(r.lines, line)
		}
	}
	return r
}

type queryKey struct {
	sorted []uint32 // all lines, sorted by the column
	column []uint32
	text   string // the string to match
}

// A Result is a set of objects of a catalog, in its order.
type Result struct {
	store *Store
	index *index.Catalog
	lines []uint32
}

// Size returns the total size of their lines in bytes.
func (r *Result) Size() int64 {
	var size int64
	for _, l := range r.lines {
		size += int64(r.index.LineSize[l])
	}
	return size
}

// FrameSize returns the maximum number of bytes that Lines keeps in memory.
func (r *Result) FrameSize() int {
	largest := 0
	for _, l := range r.lines {
		largest = max(largest, r.store.records[r.index.LineRecord[l]].contentSize())
	}
	return largest
}

// Lines yields the objects, each followed by a line feed, and reads only their records. A line must not be changed, and
// is only valid until the next one. An error wraps ErrDataLoss and ends the sequence.
func (r *Result) Lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		group := buffers.Get()
		defer func() { buffers.Put(group) }()
		for i, l := range r.lines {
			record := r.index.LineRecord[l]
			if i == 0 || record != r.index.LineRecord[r.lines[i-1]] {
				var err error
				if group, err = r.store.record(group[:0], record); err != nil {
					yield(nil, err)
					return
				}
			}
			offset := uint64(r.index.LineOffset[l])
			end := offset + uint64(r.index.LineSize[l])
			if end > uint64(len(group)) {
				yield(nil, fmt.Errorf("%w: a line ends after its record", ErrDataLoss))
				return
			}
			if !yield(group[offset:end:end], nil) {
				return
			}
		}
	}
}
