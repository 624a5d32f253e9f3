package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/internal/syntax"
)

// DefaultLimit is the default maximum size of a document in bytes. Most bundles have less than 1 MB; no published one
// has 32 MB.
const DefaultLimit = 256 << 20

var (
	// ErrChanged is the error about a file that has changed since it was opened.
	ErrChanged = errors.New("the file changed while it was being read")

	// ErrBinary is the error about a file that is not text.
	ErrBinary = errors.New("binary file")

	errNUL = fmt.Errorf("%w: it contains NUL bytes", ErrBinary)

	errSQLite = fmt.Errorf("%w: it is a catalog in SQLite, and this opm is for file-based catalogs only; upstream's opm, "+
		"up to v1.73.0, converts it: opm migrate", ErrBinary)

	errNoMapping = errors.New("want an object, found a string")
)

// BlockSize is the number of bytes that CheckText needs from the start of a file.
const BlockSize = sniffSize

// CheckText returns an error that wraps ErrBinary if a file that begins with head is not text. It accepts a single NUL
// byte and UTF-16, about which the readers of text report an error with a position.
func CheckText(head []byte) error {
	isUTF16 := bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
	switch {
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return errSQLite
	case !isUTF16 && bytes.Count(head[:min(len(head), sniffSize)], []byte{0}) > 1:
		return errNUL
	}
	return nil
}

// largeTurn holds a value while a large document is in memory: there is one at a time, of all files that are read.
var largeTurn = make(chan struct{}, 1)

// yieldLarge yields the document at the start of buf, which is larger than probeSize, after finding its end. A document
// that is too large or cannot be an object is an error, and is never in memory as a whole. yieldLarge reports whether
// the file continues after the document.
func (s *splitter) yieldLarge(yield func(*Chunk) bool, yaml bool) bool {
	start := leadingSpace(s.buf)
	if yaml {
		_, start, _ = nextYAML(s.buf)
		start += blankLines(s.buf[start:])
	}
	place := s.place.After(s.buf[:start])
	if yaml && !mayBeMapping(s.buf[start:]) {
		yield(s.failed(&Error{Place: place, Err: errNoMapping}))
		return false
	}
	size, after, err := s.end(yaml)
	if err == nil && size > s.limit {
		err = &Error{Place: place, Err: fmt.Errorf("the object has more than %s", plural.Bytes(s.limit))}
	}
	if err != nil {
		yield(s.failed(err))
		return false
	}
	s.buf = nil // makes room
	largeTurn <- struct{}{}
	c, more := s.chunk(0, yaml), s.off+size < s.size
	c.isLarge, c.more = true, more
	c.data, c.err = readFull(s.r, make([]byte, size), s.off)
	goesOn := more && c.err == nil
	if !yield(c) {
		c.Recycle() // it was not yielded
		return false
	}
	s.off, s.place, s.buf, s.eof = s.off+size, after, Buffers.Get(), false
	return goesOn
}

// failed returns a chunk with the error of reading the rest of the file.
func (s *splitter) failed(err error) *Chunk { return &Chunk{data: s.buf, err: err} }

// pieceSize is the number of bytes of a large document that are searched at once, at most the size of a new buffer.
const pieceSize = 512 << 10

// end returns the size of the document at the start of buf, and the place after it. It reads the file in pieces, and
// stops beyond the limit.
func (s *splitter) end(yaml bool) (size int64, after Place, err error) {
	buf := Buffers.Get()
	defer func() { Buffers.Put(buf) }()
	var b brackets
	after = s.place
	for left := s.size - s.off; size < left && size <= s.limit; {
		piece, err := readFull(s.r, buf[:min(left-size, pieceSize)], s.off+size)
		if err != nil {
			return 0, after, err
		}
		n := len(piece) // number of bytes to search
		if size+int64(n) < left {
			n = wholeRunes(piece[:n-len(separator)]) // so that no separator is cut
		}
		var end int
		if yaml {
			end = 1 + bytes.Index(piece, separatorLine)
		} else {
			end = b.end(piece[:n])
		}
		if 0 < end && end <= n {
			return size + int64(end), after.After(piece[:end]), nil
		}
		size += int64(n)
		after = after.After(piece[:n])
	}
	return size, after, nil
}

// wholeRunes returns the length of text without a character at its end that may be cut.
func wholeRunes(text []byte) int {
	for n := len(text) - 1; n > len(text)-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	return len(text)
}

// readFull fills data with the content of a file from an offset on. The file must have that much content.
func readFull(r io.ReaderAt, data []byte, off int64) ([]byte, error) {
	n, err := r.ReadAt(data, off)
	switch {
	case n == len(data):
		return data, nil
	case err == io.EOF:
		return nil, ErrChanged
	}
	return nil, err
}

// maxKey is the maximum length of a key in YAML without a question mark before it.
const maxKey = 1024

// mayBeMapping reports whether YAML that starts with text may be a mapping: its first line has a key, or the start of
// one.
func mayBeMapping(text []byte) bool {
	if len(text) == 0 || bytes.IndexByte([]byte("{?&!%"), text[0]) >= 0 {
		return true
	}
	line := text[:min(syntax.LineEnd(text, 0), utf8.UTFMax*maxKey)]
	return bytes.IndexByte(line, ':') >= 0
}

// Brackets count the open brackets of a JSON value that is read in pieces.
type brackets struct {
	depth   int
	quoted  bool // within a string
	escaped bool // behind a backslash
}

// end returns the offset of the end of the array or object in its next piece, or 0.
func (b *brackets) end(piece []byte) int {
	for i := 0; i < len(piece); i++ {
		if b.quoted {
			n := b.stringEnd(piece[i:])
			if n < 0 {
				return 0
			}
			i += n
			continue
		}
		switch piece[i] {
		case '"':
			b.quoted = true
		case '{', '[':
			b.depth++
		case '}', ']':
			if b.depth--; b.depth <= 0 {
				return i + 1
			}
		}
	}
	return 0
}

// stringEnd returns the offset of the closing quote in text, which starts within a string and is not empty, or -1.
func (b *brackets) stringEnd(text []byte) int {
	from := 0
	if b.escaped {
		from = 1
	}
	n := skim.StringEnd(text[from:])
	if n < 0 {
		b.escaped = skim.Escapes(text[from:])
		return -1
	}
	b.quoted, b.escaped = false, false
	return from + n - 1
}
