package image

import (
	"cmp"
	"context"
	"crypto/x509"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sync/semaphore"
)

// DefaultTimeout is the default of TransportOptions.Timeout.
const DefaultTimeout = 30 * time.Second

// TransportOptions are the options of NewTransport. The zero value verifies TLS with the system's CAs.
type TransportOptions struct {
	// Insecure disables the verification of TLS certificates. Plain HTTP depends on Options.Insecure.
	Insecure bool

	// OnInsecure is called once for each registry that is reachable only because of Insecure or over plain HTTP, with
	// the reason: ErrPlainHTTP, or the error of its certificate.
	OnInsecure func(host string, reason error)

	// CertDir has certificates for all registries: CAs in *.crt, and client certificates in *.cert with the key in
	// *.key. "" means the directories of podman and docker for each registry, such as /etc/containers/certs.d/HOST.
	CertDir string

	// RootCAs is a PEM file of CAs to trust in addition to the system's.
	RootCAs string

	// Timeout is the longest time to wait for a response; five times as long after an upload. In the body of a
	// response, the registry must send at least 4 KB a second on average over every such period, or 128 KB if that is
	// less: links with 20 KB a second are fast enough, and slower ones with a longer timeout. The same applies to
	// uploads. Time in which nobody waits for the registry does not count. 0 means DefaultTimeout.
	Timeout time.Duration

	// AllowRedirects are loopback, link-local or private destinations that registries may redirect to although they
	// are not in the registry's own network. This includes token servers and upload locations, which are also chosen
	// by the registry.
	AllowRedirects []Destination

	// Log records retries; nil discards them.
	Log *slog.Logger
}

// NewTransport returns a transport for registries: it uses proxies, the certificates in the options and the user
// agent opm. A registry that is silent or slow for too long is given up, with a timeout error. Requests to a registry
// that is busy or breaks the connection are retried, after its Retry-After if it sends one.
//
// An Opener adds a layer of its own on top of this or any other transport. A request passes these layers, from the
// go-containerregistry library down to the network:
//
//	registryTransport  no plain HTTP unless allowed; one ping for each registry; bounded responses; resumed downloads
//	userAgent          identifies opm
//	retryTransport     retries, honouring Retry-After; few requests at a time to registries that limit the rate
//	insecureTransport  reports registries that only an insecure transport accepts
//	stallTransport     gives up on silence and on transfers below the minimum speed
//	certTransport      connects only to allowed targets, with the certificates of each host
func NewTransport(o TransportOptions) (http.RoundTripper, error) {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	certificates, err := newCertTransport(o)
	if err != nil {
		return nil, err
	}
	var t http.RoundTripper = &stallTransport{certificates, o.Timeout}
	if o.Insecure && o.OnInsecure != nil {
		t = &insecureTransport{inner: t, roots: certificates.roots, report: o.OnInsecure}
	}
	return &userAgent{newRetryTransport(t, logger(o.Log)), certificates}, nil
}

// userAgent sets the User-Agent header.
type userAgent struct {
	inner http.RoundTripper
	*certTransport
}

func (t *userAgent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a RoundTripper must not change its request
	r.Header.Set("User-Agent", "opm")
	return t.inner.RoundTrip(r)
}

// An insecureTransport reports registries that only an insecure transport accepts.
type insecureTransport struct {
	inner    http.RoundTripper
	roots    func(host string) *x509.CertPool // nil means the system's
	report   func(host string, reason error)
	reported sync.Map // schemes and hosts already checked
}

func (t *insecureTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if _, again := t.reported.LoadOrStore(r.URL.Scheme+r.URL.Host, true); again {
		return response, nil
	}
	var reason error
	if r.URL.Scheme == "http" {
		reason = ErrPlainHTTP
	} else if response.TLS != nil {
		chain := response.TLS.PeerCertificates
		others := x509.NewCertPool()
		for _, certificate := range chain[1:] {
			others.AddCert(certificate)
		}
		_, reason = chain[0].Verify(x509.VerifyOptions{
			DNSName: r.URL.Hostname(), Roots: t.roots(r.URL.Host), Intermediates: others,
		})
	}
	if reason != nil {
		t.report(r.URL.Host, reason)
	}
	return response, nil
}

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
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
	http.StatusGatewayTimeout,
}

// A retryTransport retries requests when a registry is busy or the connection breaks.
type retryTransport struct {
	inner  http.RoundTripper
	log    *slog.Logger
	queues sync.Map // of *semaphore.Weighted, by host; see queue

	now    func() time.Time
	random func() float64 // in [0, 1)
	sleep  func(context.Context, time.Duration) error
}

func newRetryTransport(inner http.RoundTripper, log *slog.Logger) *retryTransport {
	return &retryTransport{inner: inner, log: log, now: time.Now, random: rand.Float64, sleep: sleep}
}

// RoundTrip implements [http.RoundTripper]. It returns the last response, even if that is an error.
func (t *retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var p queuePlace
	defer p.leave()
	if err := p.take(r.Context(), t.queue(r, nil)); err != nil {
		return nil, err
	}
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
		// The query of the URL may contain secrets.
		log := t.log.With("registry", r.URL.Host, "path", r.URL.Path, "wait", wait.Round(time.Millisecond))
		if err != nil {
			log.Info("registry closed the connection, retrying", "error", err)
		} else {
			log.Info("registry is busy, retrying", "status", response.StatusCode)
		}
		discard(response)
		if err := p.take(r.Context(), t.queue(r, response)); err != nil {
			return nil, err
		}
		if err := t.sleep(r.Context(), wait); err != nil {
			return nil, err
		}
		r = again
	}
}

// maxQueued is the maximum number of concurrent requests to a registry that limits their rate. A request keeps its
// place in the queue until its last attempt. The others wait, and do not use up their attempts.
const maxQueued = 8

// queue returns the queue of a registry that has answered 429 Too Many Requests, now or before. It is nil for other
// registries, and for uploads.
func (t *retryTransport) queue(r *http.Request, response *http.Response) *semaphore.Weighted {
	queue, ok := t.queues.Load(r.URL.Host)
	if response != nil && response.StatusCode == http.StatusTooManyRequests {
		queue, _ = t.queues.LoadOrStore(r.URL.Host, semaphore.NewWeighted(maxQueued))
		ok = true
	}
	if !ok || !isRead(r) {
		return nil
	}
	return queue.(*semaphore.Weighted) //nolint:forcetypeassert // there are no others
}

// A queuePlace is the place of a request in a queue. The zero value is no place.
type queuePlace struct{ queue *semaphore.Weighted }

// take waits for a place, unless the request has one or there is no queue.
func (p *queuePlace) take(ctx context.Context, queue *semaphore.Weighted) error {
	if queue == nil || p.queue != nil {
		return nil
	}
	if err := queue.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	p.queue = queue
	return nil
}

func (p *queuePlace) leave() {
	if p.queue != nil {
		p.queue.Release(1)
	}
}

// isRead reports whether a request changes nothing.
func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// worthRetry reports whether a retry may have another result. A request that changes something is repeated only if
// the registry says that it did not process it.
func worthRetry(r *http.Request, response *http.Response, err error) bool {
	if r.Context().Err() != nil || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return false
	}
	if !isRead(r) {
		return err == nil && response.StatusCode == http.StatusTooManyRequests
	}
	if err != nil {
		return isBroken(err)
	}
	return slices.Contains(busyStatuses, response.StatusCode)
}

// isBroken reports whether a connection or an HTTP/2 stream broke, rather than failed to open or timed out.
var isBroken = either(either(as[http2.StreamError], isGivenUp),
	isAny(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE))

// isGivenUp reports whether a server gave up an HTTP/2 connection and its streams. The error has no exported type.
func isGivenUp(err error) bool {
	return strings.Contains(err.Error(), "http2: server sent GOAWAY and closed the connection")
}

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
