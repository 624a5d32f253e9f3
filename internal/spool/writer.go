package spool

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

// maxWorkers bounds how many frames are compressed at once; reading the input is slower than two of them.
const maxWorkers = 2

var errFinished = errors.New("spool: write after the end")

// A Writer takes the bytes to be held. It is for one goroutine, and compresses in others of its own.
type Writer struct {
	encoder *zstd.Encoder
	store   *store
	workers errgroup.Group
	failed  chan error // the first failure of a worker
	free    chan *buffers
	cur     *buffers
	frames  int
	size    int64
	done    bool
}

// buffers are what one frame needs while it is compressed.
type buffers struct {
	plain  []byte
	packed []byte
}

// NewWriter returns a Writer. Nothing is created on disk before the limit of memory is reached.
func NewWriter(opts Options) *Writer {
	workers := min(maxWorkers, runtime.GOMAXPROCS(0))
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(workers))
	if err != nil {
		panic(fmt.Sprintf("spool: %v", err)) // the options are constants, and valid
	}
	w := &Writer{
		encoder: encoder,
		store:   &store{opts: opts},
		failed:  make(chan error, 1),
		free:    make(chan *buffers, workers+1),
	}
	w.workers.SetLimit(workers)
	for range cap(w.free) {
		w.free <- &buffers{}
	}
	return w
}

// Write holds p. A failure to store what was written earlier may only be reported by a later Write, or by Finish.
func (w *Writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, errFinished
	}
	n := 0
	for len(p) > 0 {
		if w.cur == nil {
			w.cur = <-w.free
			w.cur.plain = w.cur.plain[:0]
		}
		took := min(len(p), frameSize-len(w.cur.plain))
		w.cur.plain = append(w.cur.plain, p[:took]...)
		p, n, w.size = p[took:], n+took, w.size+int64(took)
		if len(w.cur.plain) < frameSize {
			break
		}
		if err := w.flush(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// flush hands the current frame to a worker. It waits while all of them are busy.
func (w *Writer) flush() error {
	select {
	case err := <-w.failed:
		w.failed <- err
		return err
	default:
	}
	b, index := w.cur, w.frames
	w.cur = nil
	w.frames++
	w.workers.Go(func() error {
		defer func() { w.free <- b }()
		b.packed = w.encoder.EncodeAll(b.plain, b.packed[:0])
		err := w.store.put(index, b.packed)
		if err != nil {
			select {
			case w.failed <- err:
			default:
			}
		}
		return err
	})
	return nil
}

// Finish ends the writing and returns all that was written. The caller closes the Blob.
func (w *Writer) Finish() (*Blob, error) {
	if w.done {
		return nil, errFinished
	}
	if w.cur != nil && len(w.cur.plain) > 0 {
		if err := w.flush(); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	w.done = true
	if err := w.workers.Wait(); err != nil {
		return nil, errors.Join(err, w.store.close())
	}
	return newBlob(w.store, w.size)
}

// Close drops what was written. After Finish it does nothing, so it can be deferred.
func (w *Writer) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	_ = w.workers.Wait() // what failed no longer matters
	return w.store.close()
}
