package spool

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/klauspost/compress/s2"
	"golang.org/x/sync/errgroup"

	"github.com/opm-toolchain/opm/internal/pool"
)

var errFinished = errors.New("spool: write after the end")

// A Writer buffers the bytes written to it. It is not safe for concurrent use. It compresses one frame at a time in
// another goroutine, which is enough, because producing the input is slower.
type Writer struct {
	frames *frames  // which writers of one Store share
	cached int      // number of frames that the Blob caches
	cur    *buffers // the current frame, or nil
	free   *pool.Pool[*buffers]
	size   int64
	done   bool

	// These are set once there is more than one frame.
	worker  *errgroup.Group
	failed  context.Context // done after the worker fails, with the failure as its cause
	numbers []int           // of the compressed frames, in the order of the input; set by the worker
}

// buffers are the buffers to compress one frame.
type buffers struct {
	plain  []byte
	packed []byte
}

// add appends p, which fits into a frame. It doubles the buffer because append would copy a large one many times.
func (b *buffers) add(p []byte) {
	if n := len(b.plain) + len(p); n > cap(b.plain) {
		b.plain = slices.Grow(b.plain, min(2*n, frameSize)-len(b.plain))
	}
	b.plain = append(b.plain, p...)
}

// NewWriter returns a Writer. It creates no file before the memory limit is reached.
func NewWriter(opts Options) *Writer { return newWriter(&frames{opts: opts}, 1) }

// NewRawWriter returns a Writer for input that is already compressed. It does not compress it again.
func NewRawWriter(opts Options) *Writer { return newWriter(&frames{opts: opts, raw: true}, 1) }

// newWriter returns one of several writers that share frames.
func newWriter(f *frames, writers int) *Writer {
	empty := func(b *buffers) (*buffers, bool) {
		b.plain = b.plain[:0]
		return b, true
	}
	return &Writer{
		frames: f, cached: max(1, min(maxCachedFrames, 2*runtime.GOMAXPROCS(0))/writers),
		free: pool.New(1, func() *buffers { return new(buffers) }, empty),
	}
}

// Write buffers p. A failure to store earlier data may only be reported by a later Write, or by Finish.
func (w *Writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, errFinished
	}
	n := 0
	for len(p) > 0 {
		if w.cur != nil && len(w.cur.plain) == frameSize {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
		if w.cur == nil {
			w.cur = w.free.Get()
		}
		took := min(len(p), frameSize-len(w.cur.plain))
		w.cur.add(p[:took])
		p, n, w.size = p[took:], n+took, w.size+int64(took)
	}
	return n, nil
}

// flush passes the current frame to the worker. It waits while the worker is busy.
func (w *Writer) flush() error {
	if w.worker == nil {
		w.worker, w.failed = errgroup.WithContext(context.Background())
		w.worker.SetLimit(1)
	}
	if w.failed.Err() != nil {
		return context.Cause(w.failed)
	}
	b := w.cur
	w.cur = nil
	w.worker.Go(func() error {
		defer w.free.Put(b)
		data := b.plain
		if !w.frames.raw {
			b.packed = s2.Encode(b.packed[:cap(b.packed)], b.plain)
			data = b.packed
		}
		number, err := w.frames.put(data)
		w.numbers = append(w.numbers, number)
		return err
	})
	return nil
}

// Finish ends the writing and returns everything written. The caller must close the Blob.
func (w *Writer) Finish() (*Blob, error) {
	if w.done {
		return nil, errFinished
	}
	if w.worker == nil {
		w.done = true
		blob := &Blob{size: w.size}
		if w.cur != nil {
			blob.plain = bytes.Clone(w.cur.plain) // without the spare capacity
		}
		return blob, nil
	}
	if err := w.flush(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.done = true
	if err := w.worker.Wait(); err != nil {
		return nil, errors.Join(err, w.frames.close())
	}
	return &Blob{frames: w.frames, numbers: w.numbers, size: w.size, slots: make([]slot, w.cached)}, nil
}

// Close drops the data written. After Finish it does nothing, so it can be deferred.
func (w *Writer) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	if w.worker == nil {
		return nil
	}
	_ = w.worker.Wait() // the data is dropped anyway
	return w.frames.close()
}
