package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/opm-toolchain/opm/internal/serve/store/internal/index"
)

// The reasons why a file cannot be used: the error of [Open] and [New] wraps one of these, or an error of the system.
var (
	ErrForeign   = errors.New("not an opm store")
	ErrVersion   = errors.New("the store has the format of another version of opm")
	ErrTruncated = errors.New("the store file is truncated")
	ErrKey       = errors.New("the store belongs to another catalog")
	ErrChecksum  = errors.New("the store is damaged")
)

// ErrNotFound is wrapped by errors about objects that are not in the catalog. Their messages are upstream's.
var ErrNotFound = errors.New("not found")

// ErrDataLoss is wrapped by errors about a part of the file that has changed or cannot be read: the store must be
// rebuilt.
var ErrDataLoss = errors.New("the store is damaged")

// FileName returns the name of the store of a registry in a cache directory; "" is the name of a single registry.
func FileName(registry string) string { return cmp.Or(registry, "catalog") + ".opmstore" }

// A Store answers the queries of a registry. It is safe for concurrent use until Close.
//
// Results are encoded messages of package api, in memory that the store does not reuse: the caller may keep them, but
// must not change them. An iterator without results yields an error that wraps ErrNotFound, unless its comment says
// otherwise; an error ends the sequence.
type Store struct {
	file     io.ReaderAt
	close    func() error
	size     int64
	index    *index.Index
	records  []storedRecord
	packages []string
	take     func(bytes int) error // see Limited; nil if memory is not limited
}

// Open opens the store at path, which must have the key. It reads, checks and retains the index; a record is checked
// when it is read.
func Open(path string, key Key) (*Store, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a named pipe would block
		return nil, fmt.Errorf("open %s: %w: not a regular file", path, ErrForeign)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return newFromFile(f, key)
}

func newFromFile(f *os.File, key Key) (*Store, error) {
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	s, err := New(f, info.Size(), key)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Name(), err)
	}
	return s, nil
}

// New is [Open] for a store of size bytes that is not a file. If r is an io.Closer, it is closed by Close, or by New if
// New fails.
func New(r io.ReaderAt, size int64, key Key) (*Store, error) {
	s := &Store{file: r, size: size, close: func() error { return nil }}
	if c, ok := r.(io.Closer); ok {
		s.close = c.Close
	}
	if err := s.load(key); err != nil {
		_ = s.close() // nothing was written
		return nil, err
	}
	return s, nil
}

func (s *Store) load(key Key) error {
	head, err := s.readPart(0, min(headerSize, s.size))
	if err != nil {
		return err
	}
	switch known := min(len(head), len(magic)); {
	case string(head[:known]) != magic[:known]:
		return ErrForeign
	case s.size < headerSize+footerSize:
		return fmt.Errorf("%w: it has %d bytes", ErrTruncated, s.size)
	}
	if err := parseHeader(head, key); err != nil {
		return err
	}
	tail, err := s.readPart(s.size-footerSize, footerSize)
	if err != nil {
		return err
	}
	foot, err := parseFooter(tail, s.size)
	if err != nil {
		return err
	}
	data, err := s.readPart(int64(foot.offset), int64(foot.size))
	if err != nil {
		return err
	}
	if xxhash.Sum64(data) != foot.sum {
		return fmt.Errorf("%w: wrong checksum of the index", ErrChecksum)
	}
	if s.index, s.records, err = decodeIndex(data, foot.offset); err != nil {
		return fmt.Errorf("%w: %w", ErrChecksum, err)
	}
	for _, p := range s.index.Packages {
		s.packages = append(s.packages, p.Name)
	}
	return nil
}

func (s *Store) readPart(offset, size int64) ([]byte, error) {
	data := make([]byte, size)
	n, err := s.file.ReadAt(data, offset)
	if err == io.EOF && int64(n) < size {
		return nil, fmt.Errorf("%w: it ends at byte %d", ErrTruncated, offset+int64(n))
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	return data, nil
}

// Limited returns a view of the store for one caller, with control of its memory: take is called with the size of each
// record before the record is read, and its error ends the query. Results from the index use no such memory. Only s
// must be closed.
func (s *Store) Limited(take func(bytes int) error) *Store {
	limited := *s
	limited.take = take
	return &limited
}

// Close closes the file. Later reads fail.
func (s *Store) Close() error { return s.close() }

// Stats are the numbers of objects in a store, and its size.
type Stats struct {
	Packages int
	Channels int
	Bundles  int   // of all packages, each once
	Entries  int   // bundles in channels: the messages of [Store.Bundles]
	Bytes    int64 // of the file
}

// Stats returns the numbers of objects in the store, and its size.
func (s *Store) Stats() Stats {
	x := s.index
	return Stats{
		Packages: len(x.Packages), Channels: len(x.Channels), Bundles: len(x.BundleName), Entries: len(x.EntryBundle),
		Bytes: s.size,
	}
}

// record appends the content of a record that is not a frame to dst. On an error, it returns dst unchanged.
func (s *Store) record(dst []byte, number uint32) ([]byte, error) {
	return s.content(dst, number, appendBlock)
}

func (s *Store) frame(dst []byte, number uint32) ([]byte, error) {
	return s.content(dst, number, appendFrame)
}

func (s *Store) content(dst []byte, number uint32, unpack unpackFunc) ([]byte, error) {
	r := s.records[number]
	if s.take != nil {
		if err := s.take(r.contentSize()); err != nil {
			return dst, err
		}
	}
	if r.content == 0 {
		return s.stored(dst, r)
	}
	buf := buffers.Get()
	defer func() { buffers.Put(buf) }()
	buf, err := s.stored(buf, r)
	if err != nil {
		return dst, err
	}
	out, err := unpack(dst, buf, int(r.content))
	if err != nil {
		return dst, dataLoss(r, err)
	}
	return out, nil
}

// An unpackFunc appends the uncompressed data, which must be size bytes, to dst. It does not allocate much memory just
// because the index claims a large size.
type unpackFunc func(dst, data []byte, size int) ([]byte, error)

func appendBlock(dst, block []byte, size int) ([]byte, error) {
	if n, err := s2.DecodedLen(block); err != nil || n != size || size/maxRatio > len(block) {
		return nil, errContent
	}
	from := len(dst)
	dst = slices.Grow(dst, size)[:from+size]
	_, err := s2.Decode(dst[from:], block)
	return dst, err
}

func appendFrame(dst, frame []byte, size int) ([]byte, error) {
	if !frameFits(frame, uint64(size)) {
		return nil, errContent
	}
	from := len(dst)
	dst, err := decoder().DecodeAll(frame, slices.Grow(dst, size))
	if err == nil && len(dst)-from != size {
		err = errContent
	}
	return dst, err
}

// frameFits reports whether a zstd frame claims to contain this number of bytes, and is large enough for it.
func frameFits(frame []byte, size uint64) bool {
	var h zstd.Header
	if h.Decode(frame) != nil || size/maxRatio > uint64(len(frame)) {
		return false
	}
	if !h.HasFCS {
		return size < 256 // the encoder leaves out such a size
	}
	return h.FrameContentSize == size
}

// maxRatio is an upper bound of the compression ratio. It exceeds the maximum of zstd: a block of 128 KB takes at least
// 4 bytes.
const maxRatio = 64 << 10

var errContent = errors.New("its size differs from the size in the index")

// stored appends the stored bytes of a record to dst.
func (s *Store) stored(dst []byte, r storedRecord) ([]byte, error) {
	from := len(dst)
	out := slices.Grow(dst, int(r.size))[:from+int(r.size)]
	n, err := s.file.ReadAt(out[from:], int64(r.offset))
	if n == int(r.size) {
		err = nil
	}
	if err == nil && xxhash.Sum64(out[from:]) != r.sum {
		err = errors.New("wrong checksum")
	}
	if err != nil {
		return dst, dataLoss(r, err)
	}
	return out, nil
}

func dataLoss(r storedRecord, err error) error {
	return fmt.Errorf("%w: the record of %d bytes at byte %d: %w", ErrDataLoss, r.size, r.offset, err)
}
