package document

import (
	"bytes"
	"cmp"
	"errors"
	"hash/maphash"
	"io"
	"iter"
	"runtime/debug"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/pool"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/internal/syntax"
)

// Variables, so that tests can reach the limits with short texts.
var (
	// ChunkSize is the number of bytes of a file that a goroutine gets at once, unless one document is larger.
	ChunkSize = 512 << 10

	// probeSize is the size of an object in a JSON file above which the splitter checks it before reading on: a missing
	// bracket must not read the rest of a large file into memory.
	probeSize = 16 << 20
)

// Buffers holds memory for chunks of text. Its buffers are large enough for large documents, too; unused parts are
// never touched, so they take no memory of the system.
var Buffers = pool.Bytes(8, 4*ChunkSize, 4*ChunkSize)

// sniffSize is the number of bytes in which upstream looks for the first character that is not a space, to distinguish
// JSON from YAML.
const sniffSize = 4096

// A Chunk is a run of whole documents of one file.
type Chunk struct {
	Expanded int      // size of expanded YAML aliases in bytes, set by Read
	Refused  []*Error // accepted input that upstream refuses, by place, set by Read

	data  []byte // from Buffers, see Recycle
	off   int64  // offset of data in the file
	place Place
	yaml  bool
	more  bool  // the file continues after data, probably with a new document
	err   error // the rest of the file cannot be read; data has no documents

	isLarge bool // data is a single document, and c holds largeTurn

	// notJSON is the reason to read a file that begins with a brace as YAML from here on; nil for other files.
	notJSON error
}

// Size returns the number of bytes of the file that c has in memory.
func (c *Chunk) Size() int64 { return int64(len(c.data)) }

// Sum returns a hash of the text of c and of its place in the file: everything that the result of Read depends on. It
// is false for text that cannot be read, and for rare text whose result depends on more.
func (c *Chunk) Sum(seed maphash.Seed) (sum uint64, ok bool) {
	return maphash.Comparable(seed, struct {
		text  uint64
		off   int64
		place Place
		yaml  bool
	}{maphash.Bytes(seed, c.data), c.off, c.place, c.yaml}), c.err == nil && c.notJSON == nil && !c.isLarge
}

// Recycle releases the memory of c. Its documents must no longer be used.
func (c *Chunk) Recycle() {
	Buffers.Put(c.data)
	c.data = nil
	if c.isLarge {
		c.isLarge = false
		debug.FreeOSMemory() // before the next one takes as much
		<-largeTurn
	}
}

// Split yields the documents of a file in order, several in each chunk. A chunk begins at the end of the previous one.
// It is larger than ChunkSize only if a document is. A document of more than limit bytes is an error, and so is a
// binary file; limit 0 means DefaultLimit, and a limit below ChunkSize means ChunkSize.
func Split(r io.ReaderAt, size, limit int64) iter.Seq[*Chunk] {
	limit = max(cmp.Or(limit, DefaultLimit), int64(ChunkSize))
	return func(yield func(*Chunk) bool) {
		s := splitter{r: r, size: size, limit: limit, place: Place{1, 1}}
		s.run(yield)
	}
}

// A splitter cuts one file into chunks. It finds the ends of documents by characters that cannot be inside of one; the
// readers of the chunks check the documents.
type splitter struct {
	r     io.ReaderAt
	size  int64
	limit int64  // of a document
	buf   []byte // read and not yet yielded
	off   int64  // of buf in the file
	place Place  // of buf
	eof   bool
	err   error // of reading, other than the end

	notJSON error // for the next chunk
}

func (s *splitter) run(yield func(*Chunk) bool) {
	s.buf = Buffers.Get()
	s.fill(sniffSize)
	if err := CheckText(s.buf); err != nil {
		yield(s.failed(&Error{Place: Place{1, 1}, Err: err, Text: s.buf}))
		return
	}
	more := true
	if looksLikeJSON(s.buf[:min(len(s.buf), sniffSize)]) {
		var isJSON bool
		if isJSON, more = s.firstObjects(yield); isJSON {
			s.stream(yield, false, s.jsonBoundary)
			return
		}
	}
	if more {
		s.stream(yield, true, yamlBoundary)
	}
}

// fill reads until buf has n bytes, or a chunk if that is more, or until the file ends.
func (s *splitter) fill(n int) {
	have, left := len(s.buf), s.size-s.off
	n = int(min(int64(max(n, ChunkSize)), left))
	if have < n && !s.eof {
		if n > cap(s.buf) {
			small := s.buf
			s.buf = append(slices.Grow(Buffers.Get(), n), small...)
			Buffers.Put(small)
		}
		m, err := s.r.ReadAt(s.buf[have:n], s.off+int64(have))
		s.buf = s.buf[:have+m]
		s.eof = err != nil
		switch {
		case err == io.EOF && have+m < n:
			s.err = ErrChanged
		case err != io.EOF:
			s.err = err
		}
	}
	s.eof = s.eof || int64(len(s.buf)) == left
}

// looksLikeJSON is the rule of upstream: the first character that is not a space is a brace.
func looksLikeJSON(head []byte) bool {
	head = bytes.TrimLeft(head, space+"\v\f")
	return len(head) > 0 && head[0] == '{'
}

// stream yields the rest of the file, cut at the last boundary in each chunk. Boundary returns the index in data of the
// start of a document, or 0.
func (s *splitter) stream(yield func(*Chunk) bool, yaml bool, boundary func(data []byte) int) {
	for want := ChunkSize; ; {
		s.fill(want)
		if s.eof && len(s.buf) <= want {
			s.yieldAll(yield, yaml)
			return
		}
		n := boundary(s.buf[:want])
		switch {
		case n > 0:
			if !s.cut(yield, n, yaml) {
				return
			}
			want = ChunkSize
		case want < s.probeSize():
			want = min(want+max(1, want/2), s.probeSize()) // no more than needed: the rest is copied
		case s.isBrokenJSON(yaml):
			s.yieldAll(yield, false)
			return
		case !s.yieldLarge(yield, yaml):
			return
		default:
			want = ChunkSize
		}
	}
}

// probeSize is the variable of that name, or the limit.
func (s *splitter) probeSize() int { return int(min(int64(probeSize), s.limit)) }

// isBrokenJSON reports whether reading more is useless because buf is JSON with an error. Text that could be YAML,
// after an object that is not JSON, is considered JSON if it begins like JSON.
func (s *splitter) isBrokenJSON(yaml bool) bool {
	if yaml {
		return s.notJSON != nil && beginsLikeJSON(s.buf)
	}
	return !validPrefix(s.buf)
}

// cut yields the first n bytes of buf, which has more.
func (s *splitter) cut(yield func(*Chunk) bool, n int, yaml bool) bool {
	c := s.chunk(n, yaml)
	c.more = true
	if rest := s.buf[n:]; len(rest) <= ChunkSize {
		s.buf = append(Buffers.Get(), rest...)
	} else { // too much to copy: each uses a part of the memory
		c.data, s.buf = s.buf[:n:n], rest
	}
	s.off += int64(n)
	s.place = s.place.After(c.data)
	return yield(c)
}

// yieldAll yields the rest of buf. If the file cannot be read to its end, it yields only the error, because the last
// document is incomplete, and its start is unknown.
func (s *splitter) yieldAll(yield func(*Chunk) bool, yaml bool) {
	switch {
	case s.err != nil:
		Buffers.Put(s.buf)
		yield(&Chunk{err: s.err})
	case len(s.buf) == 0:
		Buffers.Put(s.buf)
	default:
		c := s.chunk(len(s.buf), yaml)
		c.more = !s.eof
		yield(c)
	}
}

func (s *splitter) chunk(n int, yaml bool) *Chunk {
	c := &Chunk{data: s.buf[:n], off: s.off, place: s.place, yaml: yaml}
	if yaml {
		c.notJSON, s.notJSON = s.notJSON, nil
	}
	return c
}

// firstObjects reports whether a file that begins with a brace is JSON. Like upstream, it reads up to two objects as
// JSON; if one of them is not JSON, it yields the text before, and the rest of the file is YAML. More is false if the
// consumer stopped.
func (s *splitter) firstObjects(yield func(*Chunk) bool) (isJSON, more bool) {
	end := 0
	for range 2 {
		n, err := s.object(end)
		if errors.Is(err, io.EOF) {
			return true, true
		}
		if err != nil {
			s.notJSON = err
			return false, end == 0 || s.cut(yield, end, false)
		}
		end = n
	}
	return true, true
}

// object returns the offset of the end of the JSON value that starts in buf[from:], and reads more as needed. The error
// is io.EOF if only space follows, or an object that is too large to be checked in memory.
func (s *splitter) object(from int) (end int, err error) {
	for {
		d := jsontext.NewDecoder(bytes.NewBuffer(s.buf[from:]), Lenient)
		_, err := d.ReadValue()
		if err == nil {
			return from + int(d.InputOffset()), nil
		}
		if s.eof || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, err
		}
		if len(s.buf)-from >= s.probeSize() {
			return 0, io.EOF
		}
		s.fill(2*len(s.buf) + ChunkSize)
	}
}

// validPrefix reports whether data may be the beginning of a stream of JSON values.
func validPrefix(data []byte) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), Lenient)
	for {
		if err := d.SkipValue(); err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

// yamlBoundary returns the offset of the last line that begins with three hyphens, which YAML allows only between
// documents. If possible, it does not cut between two consecutive lines of this kind; see [documentEnds].
func yamlBoundary(data []byte) int {
	last, lone := 0, 0
	for i := range occurrences(data, separatorLine) {
		follows := bytes.HasPrefix(data[last:], separator) && syntax.LineEnd(data, last) == i+1
		if last = i + 1; !follows {
			lone = last
		}
	}
	return cmp.Or(lone, last)
}

// jsonBoundary returns the offset of the last object in a stream of objects. Between a closing and an opening brace
// JSON requires a comma, and strings have no line breaks, so a line break between the two ends an object. A stream
// without line breaks is read brace by brace, and so is a stream with a long distance to the first one, before its
// first object is considered large.
func (s *splitter) jsonBoundary(data []byte) int {
	for start := len(data); start > 0; {
		end := min(start+1, len(data)) // the brace may follow
		start = max(0, start-boundaryWindow)
		if last := lastBoundary(data[:end], start); last > 0 {
			return last
		}
	}
	if len(data) >= min(4*ChunkSize, s.probeSize()) || bytes.IndexByte(data, '\n') < 0 {
		return lastObject(data)
	}
	return 0
}

// boundaryWindow is the number of bytes of a chunk that are searched at once, from its end: most objects are smaller.
const boundaryWindow = 32 << 10

// lastBoundary returns the offset of the last object whose line break is in data[from:], or 0. It looks for braces,
// which are less frequent than line breaks.
func lastBoundary(data []byte, from int) (last int) {
	for i := range occurrences(data[from:], []byte("{")) {
		if i += from; i == 0 || data[i-1] != '\n' {
			continue
		}
		if before := bytes.TrimRight(data[:i], space); len(before) > 0 && before[len(before)-1] == '}' {
			last = i
		}
	}
	return last
}

// occurrences yields the offsets of sep in data, in order: a backward search is many times slower.
func occurrences(data, sep []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		for from := 0; ; {
			i := bytes.Index(data[from:], sep)
			if i < 0 || !yield(from+i) {
				return
			}
			from += i + 1
		}
	}
}

// lastObject returns the offset of the last object at the top level that follows another value, by counting brackets
// outside of strings.
func lastObject(data []byte) int {
	depth, last := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			n := skim.StringEnd(data[i+1:])
			if n < 0 {
				return last
			}
			i += n
		case '{', '[':
			if depth == 0 && data[i] == '{' {
				last = i
			}
			depth++
		case '}', ']':
			depth--
		}
	}
	return last
}
