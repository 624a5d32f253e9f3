package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// The reasons that a file cannot be used: [Open] and [New] return an error that wraps one of these, or one of the
// system.
var (
	ErrForeign   = errors.New("not a store of opm")
	ErrVersion   = errors.New("a store in the format of another version of opm")
	ErrTruncated = errors.New("the store is not whole")
	ErrKey       = errors.New("the store of another catalog")
	ErrChecksum  = errors.New("the store is damaged")
)

// ErrNotFound is wrapped by errors about objects that the catalog does not have. Their messages are upstream's.
var ErrNotFound = errors.New("not found")

// ErrDataLoss is wrapped by errors about a part of the file that can no longer be read, or has changed: the store has
// to be rebuilt.
var ErrDataLoss = errors.New("the store is damaged")

// A Store answers the questions of a registry. Any number of goroutines may use it, until Close.
//
// Answers are encoded messages of package api, in memory that the store does not use again: the caller may keep them,
// but not change them. An iterator without results yields an error that wraps ErrNotFound, unless its comment says
// otherwise; after an error it ends.
type Store struct {
	file     io.ReaderAt
	close    func() error
	size     int64
	index    *index
	packages []string
	take     func(bytes int) error // see Limited; nil takes nothing
}

// Open opens the store at path, which must be of the catalog with the key. It reads the index, checks it and keeps it
// in memory; a record is checked when it is read.
func Open(path string, key Key) (*Store, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a named pipe would wait
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

// New is [Open] for a store of size bytes that is not a file. If r is an io.Closer, Close closes it, and so does New
// when it fails.
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

// load reads the index.
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
		return fmt.Errorf("%w: the checksum of its index is wrong", ErrChecksum)
	}
	if s.index, err = parseIndex(data, foot.offset); err != nil {
		return fmt.Errorf("%w: %w", ErrChecksum, err)
	}
	for _, p := range s.index.Packages {
		s.packages = append(s.packages, s.index.string(p.Name))
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

// Limited returns the store for one caller, who decides when memory is used: before a record is read, take is
// called with its size, and an error ends the answer. Answers from the index use none. Only s has to be closed.
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
		Packages: len(x.Packages), Channels: len(x.Channels), Bundles: len(x.Bundles), Entries: len(x.Entries), Bytes: s.size,
	}
}

// record appends the content of a record that is not a frame to dst. It returns dst unchanged with an error.
func (s *Store) record(dst []byte, i id[recordRow]) ([]byte, error) {
	return s.content(dst, i, appendBlock)
}

// frame is record for a frame.
func (s *Store) frame(dst []byte, i id[recordRow]) ([]byte, error) {
	return s.content(dst, i, appendFrame)
}

func (s *Store) content(dst []byte, i id[recordRow], unpack unpackFunc) ([]byte, error) {
	r := s.index.Records[i]
	if s.take != nil {
		if err := s.take(r.contentSize()); err != nil {
			return dst, err
		}
	}
	if r.Content == 0 {
		return s.stored(dst, r)
	}
	buf := buffers.Get()
	defer func() { buffers.Put(buf) }()
	buf, err := s.stored(buf, r)
	if err != nil {
		return dst, err
	}
	out, err := unpack(dst, buf, int(r.Content))
	if err != nil {
		return dst, dataLoss(r, err)
	}
	return out, nil
}

// An unpackFunc appends the uncompressed data to dst: size bytes, or it fails. It does not take much memory only
// because the index claims it.
type unpackFunc func(dst, data []byte, size int) ([]byte, error)

// appendBlock unpacks an s2 block.
func appendBlock(dst, block []byte, size int) ([]byte, error) {
	if n, err := s2.DecodedLen(block); err != nil || n != size || size/maxRatio > len(block) {
		return nil, errContent
	}
	from := len(dst)
	dst = slices.Grow(dst, size)[:from+size]
	_, err := s2.Decode(dst[from:], block)
	return dst, err
}

// appendFrame unpacks a zstd frame.
func appendFrame(dst, frame []byte, size int) ([]byte, error) {
	if !holds(frame, uint64(size)) {
		return nil, errContent
	}
	from := len(dst)
	dst, err := decoder().DecodeAll(frame, slices.Grow(dst, size))
	if err == nil && len(dst)-from != size {
		err = errContent
	}
	return dst, err
}

// holds reports whether a zstd frame claims to hold so many bytes, and can.
func holds(frame []byte, size uint64) bool {
	var h zstd.Header
	if h.Decode(frame) != nil || size/maxRatio > uint64(len(frame)) {
		return false
	}
	if !h.HasFCS {
		return size < 256 // the encoder leaves out such a size
	}
	return h.FrameContentSize == size
}

// maxRatio is an upper bound of the compression ratio. It is more than zstd reaches: a block of 128 KB takes at least 4
// bytes.
const maxRatio = 64 << 10

var errContent = errors.New("it holds another number of bytes than the index says")

// stored appends a record to dst as it is in the file.
func (s *Store) stored(dst []byte, r recordRow) ([]byte, error) {
	from := len(dst)
	out := slices.Grow(dst, int(r.Size))[:from+int(r.Size)]
	n, err := s.file.ReadAt(out[from:], int64(r.Offset))
	if n == int(r.Size) {
		err = nil
	}
	if err == nil && xxhash.Sum64(out[from:]) != r.Sum {
		err = errors.New("its checksum is wrong")
	}
	if err != nil {
		return dst, dataLoss(r, err)
	}
	return out, nil
}

func dataLoss(r recordRow, err error) error {
	return fmt.Errorf("%w: the record of %d bytes at byte %d: %w", ErrDataLoss, r.Size, r.Offset, err)
}
