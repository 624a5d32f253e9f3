package image

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	gcr "github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sync/singleflight"

	"github.com/opm-toolchain/opm/internal/plural"
)

const (
	// maxAnswer is the maximum number of bytes read from the response to a ping, and from an error response.
	maxAnswer = 64 << 10
	// maxHeader is the maximum size of response headers, and of the query of a URL from a registry, in bytes.
	maxHeader = 64 << 10
	// maxPings is the maximum number of requests for the login method of a registry that fails.
	maxPings = 3
	// maxRedirects is the maximum number of redirects of a request.
	maxRedirects = 10
)

// ErrPlainHTTP is wrapped by errors about requests over plain HTTP, which only Options.Insecure allows.
var ErrPlainHTTP = errors.New("plain HTTP is not allowed")

// A registryTransport corrects the requests of go-containerregistry before they reach a transport. The library sends
// a ping for each repository, does not resume downloads, reads up to 100 MB of a manifest, follows redirects without
// limit, and tries plain HTTP, with credentials, for registries with a local name.
type registryTransport struct {
	inner       http.RoundTripper
	insecure    bool // allow plain HTTP
	limits      Limits
	pings       sync.Map // of *ping, by registry, scheme and host
	pinging     singleflight.Group
	multiplexes sync.Map // of bool, by registry; see observe
}

func (t *registryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.check(r); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Host = restoreHosts(r.URL.Host)
	r.Header.Set("Accept-Encoding", "identity") // a digest is of the bytes sent, not of the decompressed ones
	resp, err := t.send(r)
	if err != nil {
		return nil, err
	}
	t.observe(r, resp)
	hideRealms(r, resp)
	if next, ok := redirectToAddress(r, resp); ok {
		discard(resp)
		return t.RoundTrip(next)
	}
	if to, err := resp.Location(); err == nil && resp.StatusCode < http.StatusMultipleChoices && to.Host != r.URL.Host &&
		r.URL.Scheme == "https" && to.Scheme == "http" { // an upload location
		discard(resp)
		return nil, downgrade(to)
	}
	return resp, nil
}

// observe records whether a registry speaks HTTP/2. That is known after a blob, because many registries redirect to
// other servers, and no longer true after any manifest or blob over HTTP/1.
func (t *registryTransport) observe(r *http.Request, resp *http.Response) {
	const manifest, blob = "manifests", "blobs"
	switch kind := path.Base(path.Dir(redirectedFrom(r).URL.Path)); {
	case resp.ProtoMajor < 2 && (kind == manifest || kind == blob):
		t.multiplexes.Store(registryOf(r), false)
	case kind == blob && resp.StatusCode == http.StatusOK:
		t.multiplexes.LoadOrStore(registryOf(r), true)
	}
}

// check returns an error if the request is not allowed.
func (t *registryTransport) check(r *http.Request) error {
	if len(r.URL.RawQuery) > maxHeader {
		return fmt.Errorf("%s asks for a request of more than %s", registryOf(r), plural.Bytes(maxHeader))
	}
	n, tls := 0, false
	for from := r; from.Response != nil && from.Response.Request != nil; n++ {
		from = from.Response.Request
		tls = tls || from.URL.Scheme == "https"
	}
	switch {
	case n > maxRedirects:
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	case r.URL.Scheme == "http" && tls:
		return downgrade(r.URL)
	case r.URL.Scheme == "http" && !t.insecure:
		return fmt.Errorf("%s: %w", r.URL.Host, ErrPlainHTTP)
	}
	return nil
}

// send sends a request and bounds the response: manifests are verified by digest, readers of blobs enforce their
// size, and other responses have a size limit. Redirects do not change the purpose of a request.
func (t *registryTransport) send(r *http.Request) (*http.Response, error) {
	const ping, manifest, blob = "/v2/", "manifests", "blobs"
	origin := redirectedFrom(r).URL.Path
	kind := path.Base(path.Dir(origin))
	switch get := r.Method == http.MethodGet; {
	case get && origin == ping && r.URL.Path == ping:
		return t.ping(r)
	case get && kind == manifest:
		return t.manifest(r, path.Base(origin))
	case get && kind == "referrers":
		return t.referrers(r)
	}
	resp, err := t.inner.RoundTrip(r)
	switch {
	case err != nil:
		return nil, err
	case r.Method == http.MethodGet && kind == blob && resp.StatusCode == http.StatusOK:
		resp.Body = &resumedBody{transport: t.inner, request: r, body: resp.Body, size: resp.ContentLength}
	case origin == ping:
		resp.Body = &boundedBody{resp.Body, maxAnswer, io.EOF}
	default:
		resp.Body = t.bounded(resp, "the answer")
	}
	return resp, nil
}

// bounded returns the body of a response, limited to the size of a manifest. Error responses are truncated instead.
func (t *registryTransport) bounded(resp *http.Response, what string) io.ReadCloser {
	if resp.StatusCode >= http.StatusBadRequest {
		return &boundedBody{resp.Body, maxAnswer, io.EOF}
	}
	limit := t.limits.manifest()
	return &boundedBody{resp.Body, limit + 1, limitError("%s has more than %s", what, plural.Bytes(limit))}
}

// A boundedBody ends with the error end after a number of bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
	end  error
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.end
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// redirectToAddress returns the request, without credentials, that follows a redirect to an address in a private
// network. The library refuses such redirects whatever the user allows, so they are followed here. The redirect
// policy further down decides whether they are allowed, as for all redirects.
func redirectToAddress(r *http.Request, resp *http.Response) (next *http.Request, ok bool) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		ok = r.Method == http.MethodGet || r.Method == http.MethodHead
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		ok = true
	}
	to, err := resp.Location()
	if !ok || err != nil || to.Hostname() == redirectedFrom(r).URL.Hostname() {
		return nil, false
	}
	if addr, ok := parseAddress(to.Hostname()); !ok || networkOf(addr) == "" {
		return nil, false
	}
	if next, err = repeat(r); err != nil {
		return nil, false
	}
	next = next.Clone(r.Context())
	next.URL, next.Host, next.Response = to, "", resp
	next.Header.Del("Authorization")
	return next, true
}

// placeholder is the suffix of placeholder names for token servers at private addresses, which the library refuses
// whatever the user allows. The redirect policy further down decides whether such a server may be contacted.
const placeholder = ".address.invalid"

// realm matches the URL of the token server in a challenge.
var realm = regexp.MustCompile(`(?i)(\brealm=")([^"]*)"`)

// hideRealms replaces token servers at private addresses by placeholders in the challenges of a response.
func hideRealms(r *http.Request, resp *http.Response) {
	for i, challenge := range resp.Header["Www-Authenticate"] {
		resp.Header["Www-Authenticate"][i] = realm.ReplaceAllStringFunc(challenge, func(match string) string {
			parts := realm.FindStringSubmatch(match)
			u, err := url.Parse(parts[2])
			if err != nil || u.Host == r.URL.Host {
				return match
			}
			if addr, ok := parseAddress(u.Hostname()); !ok || networkOf(addr) == "" {
				return match
			}
			u.Host = "x" + hex.EncodeToString([]byte(u.Host)) + placeholder
			return parts[1] + u.String() + `"`
		})
	}
}

var placeholders = regexp.MustCompile(`\bx([0-9a-f]+)` + regexp.QuoteMeta(placeholder))

// restoreHosts replaces placeholder names in text by the original hosts.
func restoreHosts(text string) string {
	return placeholders.ReplaceAllStringFunc(text, func(name string) string {
		host, err := hex.DecodeString(placeholders.FindStringSubmatch(name)[1])
		if err != nil {
			return name
		}
		return string(host)
	})
}

// A ping is the result of the requests for the login method of a registry. Its requests are sent one after the other.
type ping struct {
	last     *pong // nil before the first result
	failures int   // number of failed requests
}

// A pong is a response to a ping, or an error.
type pong struct {
	answer *http.Response
	body   []byte
	err    error
}

// isLogin reports whether the response describes the login.
func (p *pong) isLogin() bool {
	return p.err == nil && (p.answer.StatusCode == http.StatusOK || p.answer.StatusCode == http.StatusUnauthorized)
}

// ping returns the cached response of the registry, and requests it if there is none. Concurrent calls share a request,
// and its failure: thousands of images may be in the registry, and each request may take a full timeout, or as long as
// its retries. After maxPings failures, the last one is the response.
func (t *registryTransport) ping(r *http.Request) (*http.Response, error) {
	key := registryOf(r) + " " + r.URL.Scheme + r.URL.Host
	known, _ := t.pings.LoadOrStore(key, &ping{})
	p := known.(*ping)
	for {
		result := t.pinging.DoChan(key, func() (any, error) { return p.ask(t.inner, r) })
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case shared := <-result:
			if shared.Err == nil {
				return shared.Val.(*pong).to(r)
			}
		}
	}
}

// ask returns the cached response, or sends a request. Its error is errGaveUp if the context of the request ends.
func (p *ping) ask(inner http.RoundTripper, r *http.Request) (*pong, error) {
	if p.last != nil && (p.last.isLogin() || p.failures >= maxPings) {
		return p.last, nil
	}
	resp, err := inner.RoundTrip(r)
	switch {
	case err != nil && r.Context().Err() != nil:
		return nil, errGaveUp
	case err != nil:
		p.last = &pong{err: err}
	default:
		defer resp.Body.Close()
		// A truncated body does not matter: the headers describe the login.
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		resp.ContentLength = int64(len(body))
		p.last = &pong{answer: resp, body: body}
	}
	p.failures++
	if as[tls.RecordHeaderError](err) { // the registry does not speak TLS
		p.failures = maxPings
	}
	return p.last, nil
}

// to returns the response for another request.
func (p *pong) to(r *http.Request) (*http.Response, error) {
	if p.err != nil {
		return nil, p.err
	}
	again := *p.answer
	again.Request, again.Header, again.Body = r, p.answer.Header.Clone(), io.NopCloser(bytes.NewReader(p.body))
	return &again, nil
}

// manifest reads a manifest, an index or an error response, and retries if the connection breaks. name is a tag or a
// digest.
func (t *registryTransport) manifest(r *http.Request, name string) (*http.Response, error) {
	for try := 0; ; try++ {
		resp, err := t.inner.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(t.bounded(resp, "the manifest"))
		resp.Body.Close()
		switch h, noDigest := v1.NewHash(name); {
		case errors.Is(err, ErrLimit):
			return nil, err
		case err != nil:
			if err := waitToResume(r.Context(), err, &try); err != nil {
				return nil, err
			}
			continue
		case noDigest == nil && resp.StatusCode == http.StatusOK:
			if err := checkDigest(raw, h); err != nil {
				return nil, err
			}
		}
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
		return resp, nil
	}
}

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
