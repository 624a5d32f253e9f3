package document

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"runtime/debug"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/pool"
	"github.com/opm-toolchain/opm/internal/skim"
)

// Variables, so that tests can bring about with little text what takes much.
var (
	// ChunkSize is how many bytes of a file are handed to a goroutine at once, unless one document is larger.
	ChunkSize = 512 << 10

	// probeSize is how long an object of a JSON file may get before the splitter makes sure that it is one: a missing
	// bracket must not pull the rest of a large file into memory.
	probeSize = 16 << 20
)

// Buffers holds memory for chunks of text. Large documents have room in it, too; what others do not need
// of it is never touched, so it takes no memory of the system.
var Buffers = pool.Bytes(8, 4*ChunkSize, 4*ChunkSize)

// sniffSize is how far upstream looks for the first character that is not a space, to distinguish JSON from YAML.
const sniffSize = 4096

// A Chunk is a run of whole documents of one file.
type Chunk struct {
	Expanded int      // bytes that YAML aliases became, set by Read
	Refused  []*Error // what upstream refuses but is read here, by place, set by Read

	data  []byte // from Buffers, see Recycle
	off   int64  // where data starts in the file
	place Place
	yaml  bool
	more  bool  // the file goes on behind data, at what looks like the start of a document
	err   error // the rest of the file cannot be read; data has no documents

	isLarge bool // data is a single document, which has its turn

	// notJSON is why a file that begins with a brace is read as YAML from here on; nil for all others.
	notJSON error
}

// Size returns how many bytes of the file c has in memory.
func (c *Chunk) Size() int64 { return int64(len(c.data)) }

// Recycle gives the memory of c back. What points into it, as documents do, must not be used any more.
func (c *Chunk) Recycle() {
	Buffers.Put(c.data)
	c.data = nil
	if c.isLarge {
		c.isLarge = false
		debug.FreeOSMemory() // before the next one takes as much
		<-largeTurn
	}
}

// Split yields the documents of a file of that size in order, some at a time. A chunk begins where the one before it
// ends. How much text it is makes no difference: a chunk is large only if a document is. One of more than limit bytes,
// 0 meaning DefaultLimit, is an error, and so is a binary file; a limit below ChunkSize counts as ChunkSize.
func Split(r io.ReaderAt, size, limit int64) iter.Seq[*Chunk] {
	limit = max(cmp.Or(limit, DefaultLimit), int64(ChunkSize))
	return func(yield func(*Chunk) bool) {
		s := splitter{r: r, size: size, limit: limit, place: Place{1, 1}}
		s.run(yield)
	}
}

// A splitter cuts one file into chunks. It finds where documents end by what cannot be inside of one, and leaves all
// checking to those who read the chunks.
type splitter struct {
	r     io.ReaderAt
	size  int64
	limit int64  // of a document
	buf   []byte // what was read and not yielded
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

// fill reads on until buf holds n bytes, or a chunk if that is more, or the file ends.
func (s *splitter) fill(n int) {
	have, left := len(s.buf), s.size-s.off
	n = int(min(int64(max(n, ChunkSize)), left))
	if have < n && !s.eof {
		s.grow(n)
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

// grow makes room for n bytes in buf.
func (s *splitter) grow(n int) {
	if n > cap(s.buf) {
		small := s.buf
		s.buf = append(slices.Grow(Buffers.Get(), n), small...)
		Buffers.Put(small)
	}
}

// looksLikeJSON is the rule of upstream: the first character that is not a space is a brace.
func looksLikeJSON(head []byte) bool {
	head = bytes.TrimLeft(head, space+"\v\f")
	return len(head) > 0 && head[0] == '{'
}

// stream yields the rest of the file, cut at the last place in each chunkful that boundary finds: the index in data at
// which a document starts, or 0.
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

// isBrokenJSON reports whether reading on is in vain: buf is JSON with an error in it. What could be YAML, after an
// object that is not JSON, is taken for JSON if it begins as JSON does.
func (s *splitter) isBrokenJSON(yaml bool) bool {
	if yaml {
		return s.notJSON != nil && beginsLikeJSON(s.buf)
	}
	return !validPrefix(s.buf)
}

// cut yields the first n bytes of buf, and there are more.
func (s *splitter) cut(yield func(*Chunk) bool, n int, yaml bool) bool {
	c := s.chunk(n, yaml)
	c.more = true
	if rest := s.buf[n:]; len(rest) <= ChunkSize {
		s.buf = append(Buffers.Get(), rest...)
	} else { // too much to copy: they share the memory, each its part
		c.data, s.buf = s.buf[:n:n], rest
	}
	s.off += int64(n)
	s.place = s.place.After(c.data)
	return yield(c)
}

// yieldAll yields the rest of buf. Where the file cannot be read to its end that is only an error, since the last
// document is not whole, and its beginning is unknown.
func (s *splitter) yieldAll(yield func(*Chunk) bool, yaml bool) {
	if s.err != nil {
		yield(&Chunk{err: s.err})
		return
	}
	if len(s.buf) > 0 {
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

// firstObjects reports whether a file that begins with a brace is JSON. As upstream does, it reads up to two objects as
// JSON; where one of them is none, the file is YAML from there on, and what came before is yielded. more is false when
// the consumer wants no more.
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

// object returns where the JSON value that follows buf[from:] ends, reading on as far as it takes, or io.EOF where
// nothing but space follows, or an object that is too large to be held to see whether it is one.
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

// yamlBoundary returns where the last line starts that begins with three hyphens, which YAML allows between documents
// only. If it can, it keeps such lines together where one follows the other; see [documentEnds].
func yamlBoundary(data []byte) int {
	last, lone := 0, 0
	for i := range occurrences(data, separatorLine) {
		follows := bytes.HasPrefix(data[last:], separator) && last+lineEnd(data[last:]) == i+1
		if last = i + 1; !follows {
			lone = last
		}
	}
	return cmp.Or(lone, last)
}

// jsonBoundary returns where the last object in a stream of objects starts. Between a closing and an opening brace JSON
// wants a comma, and a string holds no line break, so a line break between the two ends an object. A stream without
// line breaks is read brace by brace, and so is one that has none there for long, before its first object counts as
// large.
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

// boundaryWindow is how much of a chunk is searched at once, the end first: most objects are smaller.
const boundaryWindow = 32 << 10

// lastBoundary returns where the last object starts whose line break is in data[from:], or 0.
func lastBoundary(data []byte, from int) (last int) {
	for i := range occurrences(data[from:], []byte("\n{")) {
		before := bytes.TrimRight(data[:from+i], space)
		if len(before) > 0 && before[len(before)-1] == '}' {
			last = from + i + 1
		}
	}
	return last
}

// occurrences yields where sep is in data. It goes forward, since that is many times faster than going back.
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

// lastObject returns where the last object at the top level that is known to follow another value starts, by counting
// brackets outside of strings.
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
