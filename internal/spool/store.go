package spool

import (
	"errors"
	"io"
	"sync"
)

// A Store buffers many inputs in the memory that one input takes. Calls of Add may be concurrent; after Finish, several
// readers can read the added inputs at the same time.
type Store struct {
	mu   sync.Mutex
	w    *Writer
	buf  []byte // for copying
	blob *Blob
}

// NewStore returns a Store.
func NewStore(opts Options) *Store { return &Store{w: NewWriter(opts)} }

// Add reads r to its end and buffers it. It returns an error of r unchanged.
func (s *Store) Add(r io.Reader) (*io.SectionReader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return nil, errFinished
	}
	start := s.w.size
	if s.buf == nil {
		s.buf = make([]byte, 32<<10)
	}
	n, err := io.CopyBuffer(s.w, r, s.buf)
	return io.NewSectionReader(s, start, n), err
}

// Finish makes the added inputs readable.
func (s *Store) Finish() (err error) {
	s.blob, err = s.w.Finish()
	s.w, s.buf = nil, nil // releases its buffers
	return err
}

// ReadAt implements io.ReaderAt for all added inputs together.
func (s *Store) ReadAt(p []byte, off int64) (int, error) {
	if s.blob == nil {
		return 0, errors.New("spool: read before the end")
	}
	return s.blob.ReadAt(p, off)
}

// Close drops the added inputs, finished or not.
func (s *Store) Close() error {
	switch {
	case s.blob != nil:
		return s.blob.Close()
	case s.w != nil:
		return s.w.Close()
	}
	return nil
}
