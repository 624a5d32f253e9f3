package image

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"time"
)

const (
	// uploadPatience is how many times longer a registry may think about an upload than about anything else: it may have
	// to move gigabytes.
	uploadPatience = 5

	// leastSpeed is what a registry must send or take, in bytes per second, on average over every timeout: a fifth of a
	// poor but honest link.
	leastSpeed = 4 << 10
	// leastBytes is the most that a registry must send or take within a timeout. With a longer timeout, which has the
	// same need, links may be slower.
	leastBytes = 128 << 10
)

// A stallError says that a registry was silent or slow for too long. It is a timeout to package net.
type stallError struct {
	Host    string
	After   time.Duration // the time without any bytes, or else with too few
	Bytes   int64         // of the body, received or sent before
	Few     int64         // bytes within that time
	Minimum int64         // bytes that must come within it
}

func (e *stallError) Error() string {
	switch {
	case e.Bytes == 0:
		return fmt.Sprintf("%s stalls: no answer for %v", e.Host, e.After)
	case e.Few == 0:
		return fmt.Sprintf("%s stalls: no byte for %v, after %d bytes", e.Host, e.After, e.Bytes)
	}
	return fmt.Sprintf("%s is too slow: %d bytes in %v, want %s at least", e.Host, e.Few, e.After, bytesText(e.Minimum))
}

func (*stallError) Timeout() bool { return true }

// A stallTransport gives up on registries that are silent, or that send or take less than the least speed.
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
	if err != nil {
		err = w.explain(err)
		w.end()
		return nil, err
	}
	w.begin(t.limit)
	response.Body = &watchedBody{ReadCloser: response.Body, watch: w}
	return response, nil
}

// A stallWatch cancels a request when the registry lets us wait for too long.
//
// The time that we wait is divided into windows. One ends when enough bytes have come; one that lasts as long as the
// limit is a stall. So a registry that sends enough in every span of that length passes, in whatever pieces, and the
// time in which nobody waits for it does not count.
//
// To start and stop a timer for each read would halve the speed of large bodies. So a read notes only when it began,
// and a timer looks at that, at first when the time can be up.
type stallWatch struct {
	ctx    context.Context // of the request, and ends with it
	cancel context.CancelCauseFunc
	timer  *time.Timer
	host   string

	mu     sync.Mutex
	limit  time.Duration
	since  time.Time     // when the wait began; zero if nobody waits
	waited time.Duration // in this window, before that
	silent time.Duration // of it, since the last byte
	few    int64         // bytes in this window
	bytes  int64         // in all
}

func newStallWatch(r *http.Request, limit time.Duration) *stallWatch {
	w := &stallWatch{host: r.URL.Host, limit: limit, since: time.Now()}
	w.ctx, w.cancel = context.WithCancelCause(r.Context())
	w.timer = time.AfterFunc(math.MaxInt64, w.look) // look must not run before the assignment
	w.timer.Reset(limit)
	return w
}

// least returns how many bytes end a window.
func (w *stallWatch) least() int64 { return min(int64(leastSpeed*w.limit.Seconds()), leastBytes) }

// begin begins a window, in which nobody waits yet, and counts from zero. A limit of 0 is the one before.
func (w *stallWatch) begin(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.since, w.waited, w.silent, w.few, w.bytes = cmp.Or(limit, w.limit), time.Time{}, 0, 0, 0, 0
	w.timer.Reset(w.limit)
}

// wait notes that from now on the registry is waited for.
func (w *stallWatch) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
}

// rest notes that the wait has ended, with n bytes.
func (w *stallWatch) rest(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.since.IsZero() {
		d := time.Since(w.since)
		w.since, w.waited, w.silent = time.Time{}, w.waited+d, w.silent+d
	}
	if n == 0 {
		return
	}
	w.bytes, w.few, w.silent = w.bytes+int64(n), w.few+int64(n), 0
	if w.few >= w.least() {
		w.waited, w.few = 0, 0
	}
}

// look cancels the request if its time is up, and looks again when it can be.
func (w *stallWatch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited, silent := w.waited, w.silent
	if !w.since.IsZero() {
		d := time.Since(w.since)
		waited, silent = waited+d, silent+d
	}
	left := w.limit - waited
	if left <= 0 && !w.since.IsZero() {
		w.cancel(w.stall(silent))
	}
	if w.ctx.Err() == nil {
		w.timer.Reset(max(left, 10*time.Millisecond)) // if nobody waits, it may already be less
	}
}

// stall returns why the request is given up.
func (w *stallWatch) stall(silent time.Duration) error {
	e := &stallError{w.host, w.limit, w.bytes, w.few, w.least()}
	if silent > w.limit-w.limit/10 {
		e.After, e.Few = silent.Round(100*time.Millisecond), 0
	}
	return e
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

// A watchedUpload is the body of a request. What is read of it has been taken when more is asked for.
type watchedUpload struct {
	io.ReadCloser
	watch *stallWatch
}

// Read does not count the time that the upload's source takes.
func (u *watchedUpload) Read(p []byte) (int, error) {
	u.watch.rest(0)
	defer u.watch.wait()
	n, err := u.ReadCloser.Read(p)
	u.watch.rest(n)
	if err != nil {
		u.watch.begin(0) // to think about what it got
	}
	return n, err
}

// A watchedBody is the body of a response. The time between reads does not count.
type watchedBody struct {
	io.ReadCloser
	watch *stallWatch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.wait()
	n, err := b.ReadCloser.Read(p)
	b.watch.rest(n)
	if err != nil { // also at an orderly end: a server may send that when it sees that we hang up
		err = b.watch.explain(err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.watch.end()
	return err
}
