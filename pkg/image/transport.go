package image

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	gcr "github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// DefaultTimeout is how long a registry may stay silent.
const DefaultTimeout = 30 * time.Second

// TransportOptions are the options of NewTransport. The zero value verifies TLS with the CAs of the system.
type TransportOptions struct {
	// Insecure skips the verification of TLS certificates. Options.Insecure decides about plain HTTP.
	Insecure bool

	// OnInsecure is called once for each registry that is reached only thanks to Insecure or over plain HTTP, with the
	// reason: ErrPlainHTTP, or the error of its certificate.
	OnInsecure func(host string, reason error)

	// CertDir has certificates for all registries: CAs in *.crt, and clients' in *.cert with the key in *.key. "" means
	// those of each registry in the places of podman and docker, such as /etc/containers/certs.d/HOST.
	CertDir string

	// RootCAs is a PEM file of CAs to trust in addition to those of the system.
	RootCAs string

	// Timeout is how long a registry may be silent: before it answers, and within the body of an answer; five times as
	// long after an upload. 0 is DefaultTimeout.
	Timeout time.Duration

	// Log gets retries; nil drops them.
	Log *slog.Logger

	// Env returns environment variables; nil is os.Getenv. Proxies are always those of the process.
	Env func(string) string
}

// NewTransport returns a transport to registries: through proxies, with the certificates of the options and the user
// agent opm. Registries that are silent for too long are given up, with an error that is a timeout, and those that are
// busy or break off are asked again, after the time that they ask for if they do.
//
// An Opener puts a layer of its own on it, or on any other transport. Together, a request passes these, from the
// library down to the network; each has its section below:
//
//	registryTransport  no plain HTTP unless allowed; one ping for each registry; bounded manifests; resumed downloads
//	userAgent          says that it is opm
//	retryTransport     asks again, minding Retry-After
//	insecureTransport  notices what only an insecure transport accepts
//	stallTransport     gives up on silence
//	certTransport      has certificates for each host, and the connections
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

// userAgent says who is asking.
type userAgent struct {
	inner http.RoundTripper
	*certTransport
}

func (t *userAgent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a round tripper must not change its request
	r.Header.Set("User-Agent", "opm")
	return t.inner.RoundTrip(r)
}

// ---- What the library above does not do

const (
	// maxPing is how much is read of the answer to a ping.
	maxPing = 64 << 10
	// maxSilence is how often a registry is asked that nobody answers for: each attempt may take as long as the timeout,
	// and there may be thousands of images in it.
	maxSilence = 3
	// maxRedirects is how often a request may be redirected.
	maxRedirects = 10
)

// ErrPlainHTTP is in the chain of errors about requests that would go over plain HTTP, which Options.Insecure allows.
var ErrPlainHTTP = errors.New("plain HTTP is not allowed")

// A registryTransport is between the library that speaks to registries and a transport. The library sends a ping for
// each repository, downloads without resuming, reads up to 100 MB of a manifest, follows redirects for ever, and tries
// plain HTTP, with credentials, where the name of a registry looks local.
type registryTransport struct {
	inner    http.RoundTripper
	insecure bool // plain HTTP is allowed
	limits   Limits
	pings    sync.Map // of *ping, by scheme and host
}

func (t *registryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	origin, err := t.check(r)
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Accept-Encoding", "identity") // a digest is of what is sent, not of what it decompresses to
	switch {
	case r.Method != http.MethodGet:
		return t.inner.RoundTrip(r)
	case r.URL.Path == "/v2/" && origin == r.URL.Path:
		return t.ping(r)
	case path.Base(path.Dir(origin)) == "manifests":
		return t.manifest(r, path.Base(origin))
	}
	return t.download(r)
}

// check returns the path that was asked for before any redirect, or why the request is refused.
func (t *registryTransport) check(r *http.Request) (origin string, err error) {
	if r.URL.Scheme == "http" && !t.insecure {
		return "", fmt.Errorf("%s: %w", r.URL.Host, ErrPlainHTTP)
	}
	for n := 0; r.Response != nil && r.Response.Request != nil; n++ {
		if n == maxRedirects {
			return "", fmt.Errorf("stopped after %d redirects", maxRedirects)
		}
		r = r.Response.Request
	}
	return r.URL.Path, nil
}

// A ping is how a registry answered when it was asked how to log in.
type ping struct {
	mu     sync.Mutex // held while it is asked, so that it is asked once
	answer *http.Response
	body   []byte
	err    error // that it does not speak TLS, or the last of silence
	silent int   // how often nobody answered
}

// ping returns what the registry answered the first time.
func (t *registryTransport) ping(r *http.Request) (*http.Response, error) {
	known, _ := t.pings.LoadOrStore(r.URL.Scheme+r.URL.Host, &ping{})
	p := known.(*ping)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answer == nil && (p.err == nil || p.silent > 0 && p.silent < maxSilence) {
		if err := p.ask(t.inner, r); err != nil {
			return nil, err
		}
	}
	if p.answer == nil {
		return nil, p.err
	}
	again := *p.answer
	again.Request, again.Header, again.Body = r, p.answer.Header.Clone(), io.NopCloser(bytes.NewReader(p.body))
	if again.StatusCode != http.StatusOK && again.StatusCode != http.StatusUnauthorized {
		p.answer = nil // it may have another answer next time
	}
	return &again, nil
}

func (p *ping) ask(t http.RoundTripper, r *http.Request) error {
	p.err = nil
	resp, err := t.RoundTrip(r)
	switch {
	case err == nil:
		defer resp.Body.Close()
		p.silent = 0
		// A truncated body does not matter: the headers say how to log in.
		p.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxPing))
		p.answer = resp
		p.answer.ContentLength = int64(len(p.body))
	case r.Context().Err() != nil:
	case isSilent(err):
		p.silent++
		p.err = err
	case as[tls.RecordHeaderError](err):
		p.silent = 0
		p.err = err
	default:
		p.silent = 0
	}
	return err
}

var isSilent = either(isTimeout, either(as[*net.DNSError], isAny(syscall.ECONNREFUSED)))

// manifest reads a manifest, an index or why there is none, and asks again if it breaks off. name is a tag or a digest.
func (t *registryTransport) manifest(r *http.Request, name string) (*http.Response, error) {
	for try := 0; ; try++ {
		resp, err := t.inner.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(io.LimitReader(resp.Body, t.limits.manifest()+1))
		resp.Body.Close()
		switch h, noDigest := v1.NewHash(name); {
		case err != nil:
			if err := waitToResume(r.Context(), err, &try); err != nil {
				return nil, err
			}
			continue
		case int64(len(raw)) > t.limits.manifest():
			return nil, limitError("the manifest has more than %s", bytesText(t.limits.manifest()))
		case noDigest == nil && resp.StatusCode == http.StatusOK:
			if err := checkDigest(raw, v1.Descriptor{Digest: h}); err != nil {
				return nil, err
			}
		}
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
		return resp, nil
	}
}

const (
	// maxResumes is how often an answer that breaks off is asked for again without having got anywhere.
	maxResumes = 4
	// progress is what counts as having got somewhere, in bytes.
	progress = 1 << 20
	// resumeDelay is the time before it is asked for again; it doubles each time.
	resumeDelay = 100 * time.Millisecond
)

// A brokenError says that an answer broke off.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "the connection broke off: " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// waitToResume waits before a broken answer is asked for again, unless there were too many attempts already. One that
// has timed out is asked for once more only: it has taken its time.
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

// download returns an answer whose body is resumed where it breaks off.
func (t *registryTransport) download(r *http.Request) (*http.Response, error) {
	resp, err := t.inner.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK {
		resp.Body = &resumedBody{transport: t.inner, request: r, body: resp.Body, size: resp.ContentLength}
	}
	return resp, err
}

// A resumedBody is the body of a download. The error of one that ends for good is a *brokenError, or what the registry
// answered to be asked for the rest.
type resumedBody struct {
	transport http.RoundTripper
	request   *http.Request
	body      io.ReadCloser
	size      int64 // -1 if it is not known
	done      int64 // bytes read
	mark      int64 // bytes read when it last got somewhere
	try       int   // since then
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

// resume asks for what follows, after the failure of a read.
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

// next asks for the rest, and reports whether the registry sends the whole instead: it may not know how to send a part.
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

// ---- Retries

// How often and how long to wait for registries in trouble: some three seconds in all, unless they ask for more.
const (
	retryAttempts = 5
	retryBase     = 200 * time.Millisecond
	retryMax      = 10 * time.Second

	// retryPatience is the longest time that a registry may ask to wait. If it wants more, its answer is the result: to
	// ask earlier would be in vain.
	retryPatience = time.Minute
)

// busyStatuses are those of registries that may be all right soon.
var busyStatuses = []int{
	http.StatusTooManyRequests,
	http.StatusInternalServerError,
	http.StatusBadGateway,
	http.StatusServiceUnavailable,
	http.StatusGatewayTimeout,
}

// A retryTransport asks again when a registry is busy or breaks off.
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

// RoundTrip implements [http.RoundTripper]. The last answer is the result, also if it is an error.
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

// worthRetry reports whether the same request may have another outcome. One that changes something is repeated only if
// the registry says that it did not act on it.
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

// isBroken reports whether a connection broke, as opposed to never having been there or having timed out.
var isBroken = isAny(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE)

// wait returns how long to wait before the next attempt, false if that is longer than anyone wants.
//
// It doubles with each attempt, less up to a half at random, to spread clients that were rejected together. It is never
// shorter than the registry asks for.
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

// retryAfter returns the time that the value of a Retry-After header asks for, in seconds or as a date (RFC 9110,
// section 10.2.3), and 0 for all else.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

// repeat returns the request once more, with its body from the start.
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

// logRetry logs why a request is repeated. It omits the query of the URL, which may have secrets.
func (t *retryTransport) logRetry(r *http.Request, response *http.Response, err error, wait time.Duration) {
	attributes := []any{"registry", r.URL.Host, "path", r.URL.Path, "wait", wait.Round(time.Millisecond)}
	if err != nil {
		t.log.Info("registry closed the connection, retrying", append(attributes, "error", err)...)
		return
	}
	t.log.Info("registry is busy, retrying", append(attributes, "status", response.StatusCode)...)
}

// discard reads the rest of a short answer, so that its connection can be used again.
func discard(response *http.Response) {
	if response == nil {
		return
	}
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
	_ = response.Body.Close()
}

// sleep waits, and returns why the context ended if it does.
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

// ---- What is insecure

// An insecureTransport reports what only an insecure transport accepts.
type insecureTransport struct {
	inner    http.RoundTripper
	roots    func(host string) *x509.CertPool // nil are those of the system
	report   func(host string, reason error)
	reported sync.Map // schemes and hosts that were looked at
}

func (t *insecureTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if _, again := t.reported.LoadOrStore(r.URL.Scheme+r.URL.Host, true); !again {
		if reason := t.look(r, response); reason != nil {
			t.report(r.URL.Host, reason)
		}
	}
	return response, nil
}

// look returns what is insecure about a connection.
func (t *insecureTransport) look(r *http.Request, response *http.Response) error {
	if r.URL.Scheme == "http" {
		return ErrPlainHTTP
	}
	if response.TLS == nil {
		return nil
	}
	chain := response.TLS.PeerCertificates
	others := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		others.AddCert(certificate)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		DNSName: r.URL.Hostname(), Roots: t.roots(r.URL.Host), Intermediates: others,
	})
	return err
}

// ---- Silence

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

// ---- Connections

// A certTransport uses the certificates that each registry has in the directories of podman and docker, see
// containers-certs.d(5).
type certTransport struct {
	base   *http.Transport
	places []string // directories with one for each HOST:PORT; none if one directory is for all

	mu    sync.Mutex
	hosts map[string]*http.Transport // by URL host; base for those without certificates
}

func newCertTransport(o TransportOptions) (*certTransport, error) {
	config := &tls.Config{InsecureSkipVerify: o.Insecure}
	dialer := &net.Dialer{Timeout: min(10*time.Second, o.Timeout), KeepAlive: 30 * time.Second}
	t := &certTransport{hosts: map[string]*http.Transport{}, base: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   min(10*time.Second, o.Timeout),
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64, // the default of 2 makes many references at once open a connection for each request
		ForceAttemptHTTP2:     true,
	}}
	var err error
	if o.RootCAs != "" {
		err = addRoots(config, o.RootCAs)
	}
	if err == nil && o.CertDir != "" {
		err = addCertificates(config, o.CertDir)
	}
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	if o.CertDir == "" {
		t.places = certPlaces(o.Env)
	}
	return t, nil
}

func (t *certTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	inner, err := t.transport(r.URL.Host)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, fmt.Errorf("read certificates for %s: %w", r.URL.Host, err)
	}
	return inner.RoundTrip(r)
}

// transport returns the transport for a host, with its certificates if it has any.
func (t *certTransport) transport(host string) (*http.Transport, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own, ok := t.hosts[host]; ok {
		return own, nil
	}
	own := t.base
	for _, place := range t.places {
		dir := filepath.Join(place, podmanName(host))
		if !exists(dir) {
			continue
		}
		own = t.base.Clone()
		if err := addCertificates(own.TLSClientConfig, dir); err != nil {
			return nil, err
		}
		break
	}
	t.hosts[host] = own
	return own, nil
}

// roots returns the CAs that are trusted for a host that was asked, nil for those of the system.
func (t *certTransport) roots(host string) *x509.CertPool {
	own, err := t.transport(host)
	if err != nil {
		return nil
	}
	return own.TLSClientConfig.RootCAs
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (t *certTransport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.base.CloseIdleConnections()
	for _, own := range t.hosts {
		own.CloseIdleConnections()
	}
}
