package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/opm-toolchain/opm/internal/plural"
)

const (
	// uploadPatience is the factor by which the timeout for a response is longer after an upload: the registry may have
	// to move gigabytes.
	uploadPatience = 5

	// minSpeed is the minimum speed of transfers in bytes per second, on average over every timeout: a fifth of the
	// speed of a poor but usable link.
	minSpeed = 4 << 10
	// maxWindowBytes is the maximum number of bytes required within a timeout. With a longer timeout this maximum stays
	// the same, so links may be slower.
	maxWindowBytes = 128 << 10
)

// A stallError reports that a registry was silent or slow for too long. It implements net.Error's Timeout.
type stallError struct {
	Host    string
	After   time.Duration // the duration without any bytes, or with too few
	Bytes   int64         // of the body, received or sent before
	Few     int64         // bytes within After
	Minimum int64         // bytes required within After
}

func (e *stallError) Error() string {
	switch {
	case e.Bytes == 0:
		return fmt.Sprintf("%s stalls: no answer for %v", e.Host, e.After)
	case e.Few == 0:
		return fmt.Sprintf("%s stalls: no byte for %v, after %d bytes", e.Host, e.After, e.Bytes)
	}
	return fmt.Sprintf("%s is too slow: %d bytes in %v, want %s at least", e.Host, e.Few, e.After, plural.Bytes(e.Minimum))
}

func (*stallError) Timeout() bool { return true }

// A stallTransport gives up on registries that are silent, or that send or accept data below the minimum speed.
type stallTransport struct {
	inner http.RoundTripper
	limit time.Duration
}

func (t *stallTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := t.limit
	if !isRead(r) {
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

// A stallWatch cancels a request when the registry keeps us waiting for too long.
//
// The waiting time is divided into windows. A window ends when enough bytes have arrived; a window as long as the
// limit is a stall. So a registry that sends enough within every such period passes, however it splits the data, and
// the time between reads does not count.
//
// Starting and stopping a timer for each read would halve the speed of large bodies. Instead, a read records only its
// start, and a timer checks this, at the earliest when the limit can be reached.
type stallWatch struct {
	ctx    context.Context // ends with the context of the request and with the watch; its cause is an endedError
	cancel context.CancelCauseFunc
	unlink func() bool // from the context of the request
	timer  *time.Timer
	host   string

	mu     sync.Mutex
	limit  time.Duration
	since  time.Time     // start of the current wait; zero if nobody waits
	waited time.Duration // earlier waits in this window
	silent time.Duration // the part of waited since the last byte
	recent int64         // bytes in this window
	bytes  int64         // bytes in total
}

func newStallWatch(r *http.Request, limit time.Duration) *stallWatch {
	w := &stallWatch{host: r.URL.Host, limit: limit, since: time.Now()}
	w.ctx, w.cancel = context.WithCancelCause(context.WithoutCancel(r.Context()))
	w.unlink = context.AfterFunc(r.Context(), func() { w.cancel(&endedError{context.Cause(r.Context())}) })
	w.timer = time.AfterFunc(math.MaxInt64, w.check) // check must not run before the assignment
	w.timer.Reset(limit)
	return w
}

// windowBytes returns the number of bytes that end a window.
func (w *stallWatch) windowBytes() int64 {
	return min(int64(minSpeed*w.limit.Seconds()), maxWindowBytes)
}

// begin starts a new window without a wait, and resets the counts. A limit of 0 keeps the current limit.
func (w *stallWatch) begin(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.since, w.waited, w.silent, w.recent, w.bytes = cmp.Or(limit, w.limit), time.Time{}, 0, 0, 0, 0
	w.timer.Reset(w.limit)
}

// beginWait records the start of a wait.
func (w *stallWatch) beginWait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
}

// endWait records the end of a wait in which n bytes were sent or received.
func (w *stallWatch) endWait(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.since.IsZero() {
		d := time.Since(w.since)
		w.since, w.waited, w.silent = time.Time{}, w.waited+d, w.silent+d
	}
	if n == 0 {
		return
	}
	w.bytes, w.recent, w.silent = w.bytes+int64(n), w.recent+int64(n), 0
	if w.recent >= w.windowBytes() {
		w.waited, w.recent = 0, 0
	}
}

// check cancels the request if its time is up. Otherwise it sets the timer to the earliest time at which it can be up.
func (w *stallWatch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited, silent := w.waited, w.silent
	if !w.since.IsZero() {
		d := time.Since(w.since)
		waited, silent = waited+d, silent+d
	}
	left := w.limit - waited
	if left <= 0 && !w.since.IsZero() {
		e := &stallError{w.host, w.limit, w.bytes, w.recent, w.windowBytes()}
		if silent > w.limit-w.limit/10 {
			e.After, e.Few = silent.Round(100*time.Millisecond), 0
		}
		w.cancel(&endedError{e})
	}
	if w.ctx.Err() == nil {
		w.timer.Reset(max(left, 10*time.Millisecond)) // without a wait it may already be zero or less
	}
}

// end stops the watch.
func (w *stallWatch) end() {
	w.cancel(&endedError{context.Canceled})
	w.unlink()
	w.timer.Stop()
}

// An endedError is the cause for which a request was ended.
type endedError struct{ error }

func (e *endedError) Unwrap() error { return e.error }

// errOtherRequest is wrapped by the error of a request whose connection was closed because another request was ended.
var errOtherRequest = fmt.Errorf("another request on this connection was ended: %w", io.ErrUnexpectedEOF)

// explain returns the stall or other cause that ended the request, or else err.
//
// If a request over HTTP/1 ends just when its response arrives, net/http closes the connection even if another request
// already uses it, which then fails with the cause of the first, even if that is about another registry; see
// https://go.dev/issue/41600. The error is then one of a broken connection, which is worth a retry.
func (w *stallWatch) explain(err error) error {
	if own, ok := errors.AsType[*endedError](context.Cause(w.ctx)); ok {
		return own.error
	}
	if as[*endedError](err) {
		return errOtherRequest
	}
	return err
}

// A watchedUpload is a request body. The data of a Read counts as sent when the next Read begins.
type watchedUpload struct {
	io.ReadCloser
	watch *stallWatch
}

// Read does not count the time that the source of the upload takes.
func (u *watchedUpload) Read(p []byte) (int, error) {
	u.watch.endWait(0)
	defer u.watch.beginWait()
	n, err := u.ReadCloser.Read(p)
	u.watch.endWait(n)
	if err != nil {
		u.watch.begin(0) // the registry now processes the upload
	}
	return n, err
}

// A watchedBody is a response body. The time between reads does not count.
type watchedBody struct {
	io.ReadCloser
	watch *stallWatch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.beginWait()
	n, err := b.ReadCloser.Read(p)
	b.watch.endWait(n)
	if err != nil { // also for io.EOF, which a server may send because we hang up
		err = b.watch.explain(err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.watch.end()
	return err
}
