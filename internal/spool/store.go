package spool

import (
	"errors"
	"io"
)

// A Store buffers many inputs in about the memory of a few inputs. Calls of Add may be concurrent; after Finish,
// several readers can read the added inputs at the same time.
type Store struct {
	frames *frames
	lanes  []*lane
	idle   chan *lane // closed by Finish
}

// A lane buffers one input after the other.
type lane struct {
	w    *Writer // nil after Finish
	buf  []byte  // for copying
	blob *Blob   // nil before Finish
}

// NewStore returns a Store that buffers up to lanes inputs at the same time.
func NewStore(lanes int, opts Options) *Store {
	s := &Store{frames: &frames{opts: opts}, idle: make(chan *lane, lanes)}
	for range lanes {
		l := &lane{w: newWriter(s.frames, lanes)}
		s.lanes = append(s.lanes, l)
		s.idle <- l
	}
	return s
}

// Add reads r to its end and buffers it. It returns an error of r unchanged.
func (s *Store) Add(r io.Reader) (*io.SectionReader, error) {
	l, ok := <-s.idle
	if !ok {
		return nil, errFinished
	}
	defer func() { s.idle <- l }()
	start := l.w.size
	if l.buf == nil {
		l.buf = make([]byte, 32<<10)
	}
	n, err := io.CopyBuffer(l.w, r, l.buf)
	return io.NewSectionReader(l, start, n), err
}

// Finish makes the added inputs readable. No call of Add may be running.
func (s *Store) Finish() error {
	for range s.lanes {
		<-s.idle
	}
	close(s.idle)
	var errs []error
	for _, l := range s.lanes {
		var err error
		l.blob, err = l.w.Finish()
		l.w, l.buf, errs = nil, nil, append(errs, err) // releases the buffers
	}
	return errors.Join(errs...)
}

// ReadAt implements io.ReaderAt for all inputs added to the lane together.
func (l *lane) ReadAt(p []byte, off int64) (int, error) {
	if l.blob == nil {
		return 0, errors.New("spool: read before the end")
	}
	return l.blob.ReadAt(p, off)
}

// Close drops the added inputs, finished or not.
func (s *Store) Close() error {
	var errs []error
	for _, l := range s.lanes {
		if l.w != nil {
			errs = append(errs, l.w.Close())
		}
		if l.blob != nil {
			errs = append(errs, l.blob.Close())
		}
	}
	return errors.Join(append(errs, s.frames.close())...)
}
