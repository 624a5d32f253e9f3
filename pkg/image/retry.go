package image

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Retries of failing registries: about three seconds in total, unless the registry asks for more.
const (
	retryAttempts = 5
	retryBase     = 200 * time.Millisecond
	retryMax      = 10 * time.Second

	// retryPatience is the longest accepted Retry-After. If the registry asks for more, its response is the result,
	// because an earlier retry would fail.
	retryPatience = time.Minute
)

// busyStatuses are the statuses of temporary failures.
var busyStatuses = []int{
	http.StatusTooManyRequests,
	http.StatusInternalServerError,
	http.StatusBadGateway,
	http.StatusServiceUnavailable,
	http.StatusGatewayTimeout,
}

// A retryTransport retries requests when a registry is busy or the connection breaks.
type retryTransport struct {
	inner http.RoundTripper
	log   *slog.Logger

	now    func() time.Time
	random func() float64 // in [0, 1)
	sleep  func(context.Context, time.Duration) error
}

func newRetryTransport(inner http.RoundTripper, log *slog.Logger) *retryTransport {
	return &retryTransport{inner: inner, log: log, now: time.Now, random: rand.Float64, sleep: sleep}
}

// RoundTrip implements [http.RoundTripper]. It returns the last response, even if that is an error.
func (t *retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		response, err := t.inner.RoundTrip(r)
		if attempt == retryAttempts || !worthRetry(r, response, err) {
			return response, err
		}
		wait, ok := t.wait(r.Context(), response, attempt)
		if !ok {
			return response, err
		}
		again, copyErr := repeat(r)
		if copyErr != nil {
			return response, err
		}
		t.logRetry(r, response, err, wait)
		discard(response)
		if err := t.sleep(r.Context(), wait); err != nil {
			return nil, err
		}
		r = again
	}
}

// worthRetry reports whether a retry may have another result. A request that changes something is repeated only if
// the registry says that it did not process it.
func worthRetry(r *http.Request, response *http.Response, err error) bool {
	if r.Context().Err() != nil || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return err == nil && response.StatusCode == http.StatusTooManyRequests
	}
	if err != nil {
		return isBroken(err)
	}
	return slices.Contains(busyStatuses, response.StatusCode)
}

// isBroken reports whether a connection broke, rather than failed to open or timed out.
var isBroken = isAny(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE)

// wait returns the delay before the next attempt, or false if it is too long.
//
// It doubles with each attempt, minus up to half at random, to spread clients that were rejected together. It is
// never shorter than the registry's Retry-After.
func (t *retryTransport) wait(ctx context.Context, response *http.Response, attempt int) (time.Duration, bool) {
	backoff := min(retryBase<<(attempt-1), retryMax)
	wait := backoff - time.Duration(t.random()*float64(backoff)/2)
	if response != nil {
		asked := retryAfter(response.Header.Get("Retry-After"), t.now())
		if asked > retryPatience {
			return 0, false
		}
		if asked > 0 {
			wait += asked - backoff/2
		}
	}
	if deadline, ok := ctx.Deadline(); ok && t.now().Add(wait).After(deadline) {
		return 0, false
	}
	return wait, true
}

// retryAfter returns the duration in a Retry-After header, in seconds or as a date (RFC 9110, section 10.2.3), or 0
// if the value is invalid.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

// repeat returns a copy of the request, with its body rewound.
func repeat(r *http.Request) (*http.Request, error) {
	if r.GetBody == nil {
		return r, nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	again := r.Clone(r.Context())
	again.Body = body
	return again, nil
}

// logRetry logs the reason for a retry. It omits the query of the URL, which may contain secrets.
func (t *retryTransport) logRetry(r *http.Request, response *http.Response, err error, wait time.Duration) {
	attributes := []any{"registry", r.URL.Host, "path", r.URL.Path, "wait", wait.Round(time.Millisecond)}
	if err != nil {
		t.log.Info("registry closed the connection, retrying", append(attributes, "error", err)...)
		return
	}
	t.log.Info("registry is busy, retrying", append(attributes, "status", response.StatusCode)...)
}

// discard reads the rest of a short response, so that its connection can be reused.
func discard(response *http.Response) {
	if response == nil {
		return
	}
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
	_ = response.Body.Close()
}

// sleep waits, or returns the cause when the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
