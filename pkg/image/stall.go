package image

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync/atomic"
	"time"
)

// uploadPatience is how many times longer a registry may think about an upload than about anything else: it may have to
// move gigabytes.
const uploadPatience = 5

// A stallError says that a registry has not sent a byte for too long. It is a timeout to package net.
type stallError struct {
	Host  string
	After time.Duration // of silence
	Bytes int64         // of the body, received before
}

func (e *stallError) Error() string {
	if e.Bytes == 0 {
		return fmt.Sprintf("%s stalls: no answer for %v", e.Host, e.After)
	}
	return fmt.Sprintf("%s stalls: no byte for %v, after %d bytes", e.Host, e.After, e.Bytes)
}

func (*stallError) Timeout() bool { return true }

// A stallTransport gives up on registries that stay silent.
type stallTransport struct {
	inner http.RoundTripper
	limit time.Duration
}

func (t *stallTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := t.limit
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		limit *= uploadPatience
	}
	w := newStallWatch(r, limit)
	r = r.WithContext(w.ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &watchedUpload{r.Body, w}
	}
	response, err := t.inner.RoundTrip(r)
	w.rest()
	if err != nil {
		err = w.explain(err)
		w.end()
		return nil, err
	}
	w.limit.Store(int64(t.limit))
	response.Body = &watchedBody{ReadCloser: response.Body, watch: w}
	return response, nil
}

// A stallWatch cancels a request when the registry lets us wait for too long.
//
// To start and stop a timer for each read would halve the speed of large bodies. So a read notes only when it began,
// and a timer looks at that, at first when the time can be up.
type stallWatch struct {
	ctx    context.Context // of the request, and ends with it
	cancel context.CancelCauseFunc
	timer  *time.Timer
	host   string
	start  time.Time
	limit  atomic.Int64 // time.Duration
	since  atomic.Int64 // time from start to the beginning of the wait; resting if nobody waits
	bytes  atomic.Int64
}

const resting = -1

func newStallWatch(r *http.Request, limit time.Duration) *stallWatch {
	w := &stallWatch{host: r.URL.Host, start: time.Now()}
	w.limit.Store(int64(limit))
	w.ctx, w.cancel = context.WithCancelCause(r.Context())
	w.timer = time.AfterFunc(math.MaxInt64, w.look) // look must not run before the assignment
	w.timer.Reset(limit)
	return w
}

// wait notes that from now on the registry is waited for, rest that it is not.
func (w *stallWatch) wait() { w.since.Store(int64(time.Since(w.start))) }
func (w *stallWatch) rest() { w.since.Store(resting) }

// look cancels the request if its time is up, and looks again when it can be.
func (w *stallWatch) look() {
	limit, since := time.Duration(w.limit.Load()), w.since.Load()
	left := limit
	if since != resting {
		left -= time.Since(w.start) - time.Duration(since)
	}
	if left <= 0 {
		w.cancel(&stallError{w.host, limit, w.bytes.Load()})
	}
	if w.ctx.Err() == nil {
		w.timer.Reset(left)
	}
}

// end stops the watch.
func (w *stallWatch) end() {
	w.cancel(nil)
	w.timer.Stop()
}

// explain returns the stall or another reason that ended the request, in place of err.
func (w *stallWatch) explain(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	return err
}

// A watchedUpload is the body of a request. That it is taken is a sign of life.
type watchedUpload struct {
	io.ReadCloser
	watch *stallWatch
}

// Read does not count the time that the upload's source takes.
func (u *watchedUpload) Read(p []byte) (int, error) {
	u.watch.rest()
	defer u.watch.wait()
	return u.ReadCloser.Read(p)
}

// A watchedBody is the body of a response. The timeout applies to each read; the time between reads does not count.
type watchedBody struct {
	io.ReadCloser
	watch *stallWatch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.wait()
	n, err := b.ReadCloser.Read(p)
	b.watch.rest()
	b.watch.bytes.Add(int64(n))
	if err != nil && err != io.EOF {
		err = b.watch.explain(err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.watch.end()
	return err
}
