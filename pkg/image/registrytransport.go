package image

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"sync"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

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
