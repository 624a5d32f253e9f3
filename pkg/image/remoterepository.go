package image

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	gcr "github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A registryHost is what is known of one after its first answer.
type registryHost struct {
	challenge *gcr.Challenge
	transport http.RoundTripper
}

// A repository is how one repository is talked to.
type repository struct {
	name      name.Repository
	client    *http.Client
	scheme    string
	anonymous bool
}

// hasCredentials reports whether requests carry any; also of a nil repository.
func (r *repository) hasCredentials() bool { return r != nil && !r.anonymous }

// registry returns how to reach the registry of a place. It is asked once, if it answers.
func (o *Opener) registry(ctx context.Context, place Candidate, insecure bool) (*registryHost, error) {
	reg := place.Ref.Context().Registry
	key := fmt.Sprint(reg, insecure)
	return o.registries.get(ctx, key, func() (*registryHost, error) {
		way, err := o.way(insecure)
		if err != nil {
			return nil, err
		}
		host := &registryHost{transport: way}
		err = o.silent.ask(ctx, key, func() (err error) {
			host.challenge, err = gcr.Ping(ctx, reg, way)
			return err
		})
		return host, err
	})
}

// way returns the transport to registries.
func (o *Opener) way(insecure bool) (http.RoundTripper, error) {
	choose := o.secure
	if insecure {
		choose = o.insecure
	}
	inner, err := choose()
	if err != nil {
		return nil, err
	}
	return pingGuard{plainGuard{inner, insecure}}, nil
}

// repository returns how to talk to the repository of a place. What it takes, such as a token, is fetched once.
func (o *Opener) repository(ctx context.Context, place Candidate) (*repository, error) {
	repo, insecure := place.Ref.Context(), place.Insecure || o.opts.Insecure
	return o.repositories.get(ctx, fmt.Sprint(repo, insecure), func() (*repository, error) {
		reg, err := o.registry(ctx, place, insecure)
		if err != nil {
			return nil, err
		}
		auth, err := authn.Resolve(ctx, o.opts.Keychain, repo)
		if err != nil {
			return nil, fmt.Errorf("credentials for %s: %w", repo, err)
		}
		r := &repository{name: repo, scheme: "https", anonymous: auth == authn.Anonymous}
		if reg.challenge.Insecure {
			r.scheme = "http"
		}
		authorized, err := authorize(ctx, repo, auth, reg)
		if err != nil {
			return r, err
		}
		r.client = &http.Client{Transport: authorized, CheckRedirect: checkRedirect}
		return r, nil
	})
}

// authorize returns a transport that does what the registry demands of those who pull from the repository.
func authorize(ctx context.Context, repo name.Repository, auth authn.Authenticator, reg *registryHost) (
	http.RoundTripper, error,
) {
	token := &gcr.Token{}
	if strings.EqualFold(reg.challenge.Scheme, "bearer") {
		config, err := authn.Authorization(ctx, auth)
		if err != nil {
			return nil, err
		}
		token.Token = config.RegistryToken
		if token.Token == "" {
			scopes := []string{repo.Scope(gcr.PullScope)}
			token, err = gcr.Exchange(ctx, repo.Registry, auth, reg.transport, scopes, reg.challenge)
			if err != nil {
				return nil, err
			}
			token.Token = cmp.Or(token.AccessToken, token.Token)
		}
	}
	return gcr.FromToken(repo.Registry, auth, reg.transport, reg.challenge, token)
}

// errPlain is the error of a request that would have gone over plain HTTP.
var errPlain = errors.New("plain HTTP is not allowed")

// maxPing is how much is read of what a registry answers when it is asked how to log in. The library reads to the end.
const maxPing = 1 << 20

// A plainGuard lets requests over plain HTTP pass only where that is allowed, or does not leave the host.
type plainGuard struct {
	inner    http.RoundTripper
	insecure bool
}

func (g plainGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && !g.insecure && !isLoopback(req.URL.Hostname()) {
		return nil, fmt.Errorf("%s: %w", req.URL.Host, errPlain)
	}
	return g.inner.RoundTrip(req)
}

// A pingGuard bounds the answers to a ping.
type pingGuard struct{ inner http.RoundTripper }

func (g pingGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.inner.RoundTrip(req)
	if err == nil && req.URL.Path == "/v2/" {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxPing), resp.Body}
	}
	return resp, err
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost"
}

// checkRedirect keeps a registry from sending requests to where only this host can reach.
func checkRedirect(req *http.Request, via []*http.Request) error {
	const enough = 10
	if len(via) >= enough {
		return fmt.Errorf("stopped after %d redirects", enough)
	}
	from, to := via[0].URL.Hostname(), req.URL.Hostname()
	if addr, err := netip.ParseAddr(to); from != to && err == nil && !isGlobal(addr) && !isLoopback(from) {
		return fmt.Errorf("redirected from %s to the address %s, which is not public", from, to)
	}
	return nil
}

func isGlobal(addr netip.Addr) bool {
	return !addr.IsPrivate() && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() && !addr.IsUnspecified()
}

// The media types of manifests, as asked for.
var acceptManifests = strings.Join([]string{
	string(types.OCIImageIndex), string(types.OCIManifestSchema1),
	string(types.DockerManifestList), string(types.DockerManifestSchema2),
}, ", ")

// do sends a request about a manifest or a blob. The answer has one of the codes.
func (r *repository) do(ctx context.Context, method, kind, id string, header http.Header, codes ...int) (*http.Response,
	error) {
	u := url.URL{
		Scheme: r.scheme,
		Host:   r.name.RegistryStr(),
		Path:   "/v2/" + r.name.RepositoryStr() + "/" + kind + "/" + id,
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Accept-Encoding", "identity") // a digest is of what is sent, not of what it decompresses to
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := gcr.CheckError(resp, codes...); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// head returns the digest of a manifest, which it fetches only where the registry does not tell.
func (r *repository) head(ctx context.Context, id string, limits Limits) (string, error) {
	header := http.Header{"Accept": {acceptManifests}}
	resp, err := r.do(ctx, http.MethodHead, "manifests", id, header, http.StatusOK)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	for _, digest := range []string{id, resp.Header.Get("Docker-Content-Digest")} {
		if h, err := v1.NewHash(digest); err == nil {
			return h.String(), nil
		}
	}
	_, desc, err := r.manifest(ctx, id, limits)
	return desc.Digest.String(), err
}

// manifest returns a manifest or an index, and its descriptor.
func (r *repository) manifest(ctx context.Context, id string, limits Limits) (raw []byte, desc v1.Descriptor,
	err error) {
	err = untilWhole(ctx, func() (n int64, err error) {
		raw, desc, err = r.manifestOnce(ctx, id, limits)
		return 0, err
	})
	return raw, desc, err
}

func (r *repository) manifestOnce(ctx context.Context, id string, limits Limits) ([]byte, v1.Descriptor, error) {
	header := http.Header{"Accept": {acceptManifests}}
	resp, err := r.do(ctx, http.MethodGet, "manifests", id, header, http.StatusOK)
	if err != nil {
		return nil, v1.Descriptor{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(bodyReader{resp.Body}, limits.manifest()+1))
	if err != nil {
		return nil, v1.Descriptor{}, err
	}
	if int64(len(raw)) > limits.manifest() {
		return nil, v1.Descriptor{}, limitError("the manifest has more than %s", bytesText(limits.manifest()))
	}
	digest, size, err := v1.SHA256(bytes.NewReader(raw))
	mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return raw, v1.Descriptor{Digest: digest, Size: size, MediaType: types.MediaType(mediaType)}, err
}

// manifestTo writes the manifest with the digest of desc to w.
func (r *repository) manifestTo(ctx context.Context, w io.Writer, desc v1.Descriptor, limits Limits) error {
	raw, _, err := r.manifest(ctx, desc.Digest.String(), limits)
	if err != nil {
		return err
	}
	_, err = w.Write(raw)
	return err
}

const (
	// maxResumes is how often an answer that breaks off is asked for again without having got anywhere.
	maxResumes = 4
	// progress is what counts as having got somewhere, in bytes.
	progress = 1 << 20
	// resumeDelay is the time before it is asked for again; it doubles each time.
	resumeDelay = 100 * time.Millisecond
)

// untilWhole calls fn, which returns how many bytes it has got, again while answers break off. The transport retries
// requests that are not answered; it cannot know what was made of half an answer.
func untilWhole(ctx context.Context, fn func() (int64, error)) error {
	for try := 0; ; try++ {
		n, err := fn()
		if n >= progress {
			try = 0
		}
		if !as[*brokenError](err) || try >= maxResumes {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(resumeDelay << try):
		}
		if isTimeout(err) {
			try = maxResumes - 1 // it has taken its time; once more must do
		}
	}
}

// download writes a blob to w. One that breaks off is taken up where it did.
func (r *repository) download(ctx context.Context, desc v1.Descriptor, w io.Writer) error {
	var done int64
	return untilWhole(ctx, func() (int64, error) {
		n, err := r.downloadFrom(ctx, desc, done, w)
		done += n
		return n, err
	})
}

// downloadFrom writes what a blob has from byte start on, and returns how much it wrote. Where the answer breaks off,
// the error is a *brokenError.
func (r *repository) downloadFrom(ctx context.Context, desc v1.Descriptor, start int64, w io.Writer) (int64, error) {
	header := http.Header{}
	if start > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", start, desc.Size-1))
	}
	resp, err := r.do(ctx, http.MethodGet, "blobs", desc.Digest.String(), header, http.StatusOK,
		http.StatusPartialContent)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body := bodyReader{resp.Body}
	if resp.StatusCode == http.StatusOK {
		if err := checkLength(resp, desc.Size); err != nil {
			return 0, err
		}
		// It may not know how to send a part.
		if _, err := io.CopyN(io.Discard, body, start); err != nil {
			return 0, broken(err)
		}
	} else if !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", start)) {
		return 0, fmt.Errorf("asked for the bytes from %d on, the registry sends %q", start,
			printable(resp.Header.Get("Content-Range")))
	}
	n, err := io.Copy(w, io.LimitReader(body, desc.Size-start))
	switch {
	case err != nil:
		return n, err
	case start+n < desc.Size:
		return n, broken(io.ErrUnexpectedEOF)
	}
	if extra, _ := body.Read(make([]byte, 1)); extra > 0 {
		return n, fmt.Errorf("%w: the registry sends more than the %d bytes that the manifest says", errDigest, desc.Size)
	}
	return n, nil
}

func checkLength(resp *http.Response, size int64) error {
	if n := resp.ContentLength; n >= 0 && n != size {
		return fmt.Errorf("%w: the registry has %d bytes, the manifest says %d", errDigest, n, size)
	}
	return nil
}

// A brokenError says that an answer broke off.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "the connection broke off: " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

func broken(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if _, ok := errors.AsType[*brokenError](err); ok {
		return err
	}
	return &brokenError{err}
}

// A bodyReader tells failures to read an answer from those to write it.
type bodyReader struct{ r io.Reader }

func (b bodyReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		err = broken(err)
	}
	return n, err
}
