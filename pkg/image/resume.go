package image

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	gcr "github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

const (
	// maxResumes is the maximum number of retries of an interrupted download without progress.
	maxResumes = 4
	// progress is the number of bytes that count as progress.
	progress = 1 << 20
	// resumeDelay is the delay before the first retry; it doubles with each retry.
	resumeDelay = 100 * time.Millisecond
)

// A brokenError reports that the connection broke during a response.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "the connection broke off: " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// waitToResume waits before an interrupted response is requested again, or returns an error after too many attempts.
// After a timeout there is only one more attempt, because it has taken long enough.
func waitToResume(ctx context.Context, broken error, try *int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if *try >= maxResumes {
		return &brokenError{broken}
	}
	delay := resumeDelay << *try
	if isTimeout(broken) {
		*try = maxResumes - 1
	}
	return sleep(ctx, delay)
}

// A resumedBody is the body of a download that resumes after interruptions. Its final error is a *brokenError, or the
// registry's response to the request for the rest.
type resumedBody struct {
	transport http.RoundTripper
	request   *http.Request
	body      io.ReadCloser
	size      int64 // -1 if unknown
	done      int64 // bytes read
	mark      int64 // bytes read at the last progress
	try       int   // retries since then
}

func (b *resumedBody) Read(p []byte) (int, error) {
	for {
		n, err := b.body.Read(p)
		b.done += int64(n)
		if b.done-b.mark >= progress {
			b.try, b.mark = 0, b.done
		}
		if err == nil || err == io.EOF && b.done >= b.size {
			return n, err
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err = b.resume(err); n > 0 || err != nil {
			return n, err
		}
	}
}

// resume requests the rest after a failed read.
func (b *resumedBody) resume(failure error) error {
	for ; failure != nil; b.try++ {
		if err := waitToResume(b.request.Context(), failure, &b.try); err != nil {
			return err
		}
		whole, err := b.next()
		if err != nil {
			return err
		}
		if failure = nil; whole {
			_, failure = io.CopyN(io.Discard, b.body, b.done)
		}
	}
	return nil
}

// next requests the rest, and reports whether the registry sends the whole blob instead, because it does not support
// ranges.
func (b *resumedBody) next() (whole bool, err error) {
	r := b.request.Clone(b.request.Context())
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-", b.done))
	if b.size > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", b.done, b.size-1))
	}
	resp, err := b.transport.RoundTrip(r) //nolint:bodyclose // it becomes the body of b
	if err != nil {
		return false, err
	}
	b.body.Close()
	b.body = resp.Body
	if err := gcr.CheckError(resp, http.StatusOK, http.StatusPartialContent); err != nil {
		return false, err
	}
	whole = resp.StatusCode == http.StatusOK
	if at := resp.Header.Get("Content-Range"); !whole && !strings.HasPrefix(at, fmt.Sprintf("bytes %d-", b.done)) {
		return false, fmt.Errorf("asked for the bytes from %d on, the registry sends %q", b.done, printable(at))
	}
	return whole, nil
}

func (b *resumedBody) Close() error { return b.body.Close() }
