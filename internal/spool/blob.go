package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/s2"
)

// maxCachedFrames is how many decompressed frames a Blob remembers at most: two for each CPU, since as many readers as
// there are CPUs read on from where they were.
const maxCachedFrames = 8

var errOffset = errors.New("spool: negative offset")

// A Blob is held input. Its methods may be called at once.
type Blob struct {
	plain  []byte // all of it, where it fits into one frame
	size   int64
	closed atomic.Bool

	frames *frames // of what does not

	mu    sync.Mutex // guards use and want of the slots, and clock
	clock uint64
	slots []slot
}

// A slot remembers one frame. What a reader wants of it is settled under the lock of the Blob, so that two readers
// of one frame meet in one slot; what it holds is settled under its own, so that others decompress meanwhile.
type slot struct {
	want int // number of the frame, from 1
	used uint64

	mu     sync.Mutex
	holds  int // number of the frame in plain, from 1; 0 means none
	plain  []byte
	packed []byte
}

func newBlob(f *frames, size int64) *Blob {
	return &Blob{frames: f, size: size, slots: make([]slot, min(maxCachedFrames, 2*runtime.GOMAXPROCS(0)))}
}

// Size returns the number of bytes held, uncompressed.
func (b *Blob) Size() int64 { return b.size }

// Close closes the spool file, if there is one. Later reads fail with fs.ErrClosed.
func (b *Blob) Close() error {
	if b.closed.Swap(true) || b.frames == nil {
		return nil
	}
	return b.frames.close()
}

// Forget releases the memory of decompressed frames. A Blob that was read and is kept needs only the compressed ones.
func (b *Blob) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.slots {
		s := &b.slots[i]
		s.mu.Lock()
		s.holds, s.plain, s.packed = 0, nil, nil
		s.mu.Unlock()
	}
}

// ReadAt implements io.ReaderAt.
func (b *Blob) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errOffset
	}
	if b.closed.Load() {
		return 0, fmt.Errorf("read spool: %w", fs.ErrClosed)
	}
	if b.frames == nil {
		return bytes.NewReader(b.plain).ReadAt(p, off)
	}
	n := 0
	for n < len(p) && off < b.size {
		m, err := b.readFrame(p[n:], int(off/frameSize), int(off%frameSize))
		n, off = n+m, off+int64(m)
		if err != nil {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readFrame copies frame number index, from its byte start on.
func (b *Blob) readFrame(p []byte, index, start int) (int, error) {
	s := b.slotFor(index)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.load(s, index); err != nil {
		return 0, err
	}
	return copy(p, s.plain[start:]), nil
}

// slotFor returns the slot that is to hold the frame: the one that others use for it, else the one unused longest.
func (b *Blob) slotFor(index int) *slot {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock++
	oldest := &b.slots[0]
	for i := range b.slots {
		s := &b.slots[i]
		if s.want == index+1 {
			s.used = b.clock
			return s
		}
		if s.used < oldest.used {
			oldest = s
		}
	}
	oldest.want, oldest.used = index+1, b.clock
	return oldest
}

// load decompresses the frame into the slot, unless it is there. The slot may hold another frame than the one it was
// last wanted for, when readers wait for it in another order.
func (b *Blob) load(s *slot, index int) error {
	if s.holds == index+1 {
		return nil
	}
	s.holds = 0
	packed, err := b.frames.get(index, &s.packed)
	if err != nil {
		return err
	}
	s.plain, err = s2.Decode(s.plain[:cap(s.plain)], packed)
	if err != nil {
		return fmt.Errorf("read spool: %w", err)
	}
	if want := min(frameSize, b.size-int64(index)*frameSize); int64(len(s.plain)) != want {
		return fmt.Errorf("read spool: frame %d holds %d bytes, not %d", index, len(s.plain), want)
	}
	s.holds = index + 1
	return nil
}
