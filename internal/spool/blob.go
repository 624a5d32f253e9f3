package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/s2"
)

// maxCachedFrames is the maximum number of decompressed frames that a Blob caches, or all blobs of a Store. Up to that,
// there are two per CPU, because there are as many readers as CPUs, and each continues at its last position.
const maxCachedFrames = 8

var errOffset = errors.New("spool: negative offset")

// A Blob is buffered input. Its methods are safe for concurrent use.
type Blob struct {
	plain  []byte // the whole input if it fits into one frame
	size   int64
	closed atomic.Bool

	frames  *frames // the compressed input otherwise, among that of other blobs in a Store
	numbers []int   // of the frames of this blob, in the order of the input

	mu    sync.Mutex // guards use and want of the slots, and clock
	clock uint64
	slots []slot
}

// A slot caches one frame. The lock of the Blob guards the frame that a reader wants in it, so that two readers of one
// frame share a slot; its own lock guards its content, so that readers of other frames can decompress at the same time.
type slot struct {
	want int // frame number, from 1
	used uint64

	mu     sync.Mutex
	holds  int // number of the frame in plain, from 1; 0 means none
	plain  []byte
	packed []byte
}

// Size returns the uncompressed size in bytes.
func (b *Blob) Size() int64 { return b.size }

// Close closes the spool file, if there is one. Later reads fail with fs.ErrClosed.
func (b *Blob) Close() error {
	if b.closed.Swap(true) || b.frames == nil {
		return nil
	}
	return b.frames.close()
}

// Forget releases the memory of decompressed frames. The Blob stays readable, from the compressed frames.
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

// readFrame copies from frame number index, starting at byte start.
func (b *Blob) readFrame(p []byte, index, start int) (int, error) {
	if b.frames.raw {
		return b.frames.readAt(p, b.numbers[index], start)
	}
	s := b.slotFor(index)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.load(s, index); err != nil {
		return 0, err
	}
	return copy(p, s.plain[start:]), nil
}

// slotFor returns the slot for a frame: the slot that already has or loads it, else the least recently used one.
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

// load decompresses the frame into the slot, unless it is already there. The slot may contain a frame other than the
// last one wanted, if readers get its lock in a different order.
func (b *Blob) load(s *slot, index int) error {
	if s.holds == index+1 {
		return nil
	}
	s.holds = 0
	packed, err := b.frames.get(b.numbers[index], &s.packed)
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
