package image

import (
	"bytes"
	"cmp"
	"errors"
	"sync"

	"github.com/opm-toolchain/opm/internal/spool"
)

// heldPlain is how much of the files of a layer is held as it is; what is more is compressed.
const heldPlain = 1 << 20

// A held is bytes that are written and then read at any place: in memory up to a limit, beyond it in a spool.
// Once the last Write has returned and finish was called, calls of ReadAt may run at once.
type held struct {
	limit int
	opts  spool.Options

	size   int64
	bytes  []byte
	writer *spool.Writer // once there is more than limit
	blob   *spool.Blob   // what writer has become in finish
}

// Write implements io.Writer.
func (h *held) Write(p []byte) (int, error) {
	if h.writer == nil && len(h.bytes)+len(p) <= h.limit {
		h.bytes = append(h.bytes, p...)
		h.size += int64(len(p))
		return len(p), nil
	}
	if h.writer == nil {
		h.writer = spool.NewWriter(h.opts)
		if _, err := h.writer.Write(h.bytes); err != nil {
			return 0, err
		}
		h.bytes = nil
	}
	n, err := h.writer.Write(p)
	h.size += int64(n)
	return n, err
}

// finish ends the writing.
func (h *held) finish() error {
	if h.writer == nil {
		h.bytes = bytes.Clone(h.bytes) // which has no room to grow any more
		return nil
	}
	var err error
	h.blob, err = h.writer.Finish()
	return err
}

// Size returns the number of bytes held.
func (h *held) Size() int64 { return h.size }

// ReadAt implements io.ReaderAt.
func (h *held) ReadAt(p []byte, off int64) (int, error) {
	if h.blob != nil {
		return h.blob.ReadAt(p, off)
	}
	return bytes.NewReader(h.bytes).ReadAt(p, off)
}

// Close lets go of what is held; it need not be finished.
func (h *held) Close() error {
	switch {
	case h.blob != nil:
		return h.blob.Close()
	case h.writer != nil:
		return h.writer.Close()
	}
	return nil
}

// heldMemory is how much an image holds in memory, compressed, before spool files are used.
const heldMemory = 64 << 20

// A heldPool has a held for each layer that is read at the moment, so that there are no more of them, and of the memory
// that they take, than layers are read at once.
type heldPool struct {
	opts spool.Options

	mu   sync.Mutex
	free []*held
	all  []*held
}

// take returns one that nobody writes to.
func (p *heldPool) take() *held {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		h := p.free[n-1]
		p.free = p.free[:n-1]
		return h
	}
	opts := p.opts
	if opts.MemoryLimit >= 0 {
		opts.MemoryLimit = cmp.Or(opts.MemoryLimit, heldMemory)/layersAtOnce + 1
	}
	h := &held{limit: heldPlain, opts: opts}
	p.all = append(p.all, h)
	return h
}

// give returns what take has taken.
func (p *heldPool) give(h *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, h)
}

// finish ends the writing to all of them.
func (p *heldPool) finish() error {
	for _, h := range p.all {
		if err := h.finish(); err != nil {
			return err
		}
	}
	return nil
}

// Close lets go of all of them.
func (p *heldPool) Close() error {
	var errs []error
	for _, h := range p.all {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}
