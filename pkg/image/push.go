package image

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	gcr "github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/opm-toolchain/opm/internal/reference"
)

// Push pushes img to a registry and returns its digest there. ref has a repository and a tag, such as
// quay.io/org/image:v1. For the options and errors see Pusher.
func Push(ctx context.Context, img Artifact, ref string, opts Options) (digest string, err error) {
	p, err := NewPusher([]string{ref}, opts)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if _, err = p.Store(ctx, img); err == nil {
		_, err = p.Tag(ctx)
	}
	if err != nil {
		return "", err
	}
	return p.digest.String(), nil
}

// A Pusher pushes an image to tags in steps. All repositories store it by digest before any tag refers to it, so that
// it can be signed in between, and a failed push leaves the tags unchanged. The steps share connections and tokens. A
// Pusher must be used by one goroutine only.
//
//	p, err := image.NewPusher(tags, opts)
//	defer p.Close()
//	err = p.Check(ctx) // before the image is built
//	_, err = p.Store(ctx, img)
//	_, err = p.Tag(ctx) // if it fails, p.Live() are the tags that name img
//
// It uses the options Insecure, Keychain, Transport, InsecureTransport and, from Mirrors, only the registry's own
// settings in registries.conf, since mirrors are for pulling. Errors have the tag and advice.
type Pusher struct {
	opener       *Opener
	tags         []pushTag
	repositories []*repository

	img    Artifact // nil before Store
	digest v1.Hash
	live   []string
}

// A pushTag is a tag to push to.
type pushTag struct {
	text string // as given
	ref  name.Reference
	in   *repository
}

// A repository is a repository to push to.
type repository struct {
	name.Repository
	opener    *Opener
	first     string // the first of its tags, as given, in a Pusher
	transport *confirmTransport
	pusher    *remote.Pusher
	has       bool // it already had the image
}

// NewPusher returns a Pusher for tags, each like quay.io/org/image:v1.
func NewPusher(tags []string, opts Options) (*Pusher, error) {
	p := &Pusher{opener: NewOpener(opts)}
	for _, tag := range tags {
		if err := p.add(tag); err != nil {
			return nil, closing(pushError(tag, err), p)
		}
	}
	return p, nil
}

func pushError(tag string, err error) error {
	return fmt.Errorf("push image %s: %w", printable(tag), err)
}

// add adds a tag and, if it is new, its repository.
func (p *Pusher) add(text string) error {
	parsed, err := parseRemote(text, p.opener.opts.Insecure)
	if err != nil {
		return err
	}
	tag, ok := parsed.(name.Tag)
	if !ok {
		return errors.New("an image is pushed to a tag, not to a digest")
	}
	place, err := p.opener.opts.Mirrors.destination(tag)
	if err != nil {
		return err
	}
	to := place.Ref.Context()
	i := slices.IndexFunc(p.repositories, func(r *repository) bool { return r.Repository == to })
	if i < 0 {
		r, err := p.opener.repository(place)
		if err != nil {
			return err
		}
		r.first, i = text, len(p.repositories)
		p.repositories = append(p.repositories, r)
	}
	p.tags = append(p.tags, pushTag{text, place.Ref, p.repositories[i]})
	return nil
}

// repository returns the repository at place.
func (o *Opener) repository(place candidate) (*repository, error) {
	client, err := o.client(place)
	if err != nil {
		return nil, err
	}
	t := &confirmTransport{inner: client.transport}
	// The transport retries requests; the pusher retries a whole upload whose connection breaks.
	pusher, err := remote.NewPusher(remote.WithTransport(t), remote.WithAuthFromKeychain(o.opts.Keychain),
		remote.WithRetryStatusCodes())
	return &repository{Repository: place.Ref.Context(), opener: o, transport: t, pusher: pusher}, err
}

// Close closes the connections.
func (p *Pusher) Close() error { return p.opener.Close() }

// Check asks the registry of each repository for permission to push. The error joins the errors of all registries.
func (p *Pusher) Check(ctx context.Context) error {
	var errs []error
	for _, r := range p.repositories {
		if err := r.check(ctx); err != nil {
			errs = append(errs, pushError(r.first, err))
		}
	}
	return errors.Join(errs...)
}

// Store stores img in all repositories by digest, and reports whether any of them did not have it. Existing blobs are
// not sent again. After a push, the repository is checked for the image, unless the credentials do not allow reading.
func (p *Pusher) Store(ctx context.Context, img Artifact) (changed bool, err error) {
	if p.digest, err = img.Digest(); err != nil {
		return false, err
	}
	p.img = img
	for _, r := range p.repositories {
		r.transport.digest = p.digest
		err := r.ask(ctx, func(ctx context.Context) error {
			return r.pusher.Push(ctx, r.Digest(p.digest.String()), img)
		})
		if err != nil {
			return changed, pushError(r.first, err)
		}
		r.has = r.transport.puts.Load() == 0
		changed = changed || !r.has
	}
	return changed, nil
}

// Tag sets the tags to the stored image, one after the other until one fails, and reports whether any of them
// changed.
func (p *Pusher) Tag(ctx context.Context) (changed bool, err error) {
	for _, tag := range p.tags {
		before := tag.in.transport.puts.Load()
		// If the repository did not have the image, its tags do not refer to it yet.
		set := tag.in.pusher.Put
		if tag.in.has {
			set = tag.in.pusher.Push
		}
		err := tag.in.ask(ctx, func(ctx context.Context) error { return set(ctx, tag.ref, p.img) })
		if err != nil {
			return changed, pushError(tag.text, err)
		}
		changed = changed || tag.in.transport.puts.Load() > before
		p.live = append(p.live, tag.text+"@"+p.digest.String())
	}
	return changed, nil
}

// Live returns the tags that refer to the image after Tag, with the digest: quay.io/org/image:v1@sha256:...
func (p *Pusher) Live() []string { return slices.Clone(p.live) }

// ask calls fn with a context for requests caused by the registry, and adds advice to its error.
func (r *repository) ask(ctx context.Context, fn func(context.Context) error) error {
	err := fn(withRegistry(ctx, r.RegistryStr()))
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	return r.opener.advise(ctx, r.Repository, err, true)
}

// check asks the registry for permission to push.
func (r *repository) check(ctx context.Context) error {
	return r.ask(ctx, func(ctx context.Context) error {
		return remote.CheckPushPermission(r.Tag("latest"), r.opener.opts.Keychain, &contextTransport{ctx, r.transport})
	})
}

// A contextTransport sends requests with this context, because the library call does not take a context.
type contextTransport struct {
	ctx   context.Context
	inner http.RoundTripper
}

func (t *contextTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.inner.RoundTrip(r.WithContext(t.ctx))
}

// CheckTarget returns an error if [Put] cannot write to ref.
func CheckTarget(ref string) error {
	if reference.Of(ref).Kind == reference.Layout {
		return nil
	}
	if strings.Contains(ref, ",") { // spaces do not separate the values of a flag
		return errors.New("want one reference, without commas")
	}
	parsed, err := ParseReference(ref)
	if err == nil && !strings.HasSuffix(ref, ":"+parsed.Identifier()) {
		err = errors.New("want a tag, as in HOST/PATH:TAG")
	}
	return err
}

// Put writes img to ref, an OCI layout (oci:DIRECTORY[:TAG]) or a tag in a registry, and returns its digest. It calls
// options only for a registry, and closes their Cache.
func Put(ctx context.Context, img Artifact, ref string, options func() (Options, error)) (string, error) {
	if to := reference.Of(ref); to.Kind == reference.Layout {
		if err := WriteLayout(img, to.Path, to.Name); err != nil {
			return "", err
		}
		digest, err := img.Digest()
		return digest.String(), err
	}
	opts, err := options()
	if err != nil {
		return "", err
	}
	digest, err := Push(ctx, img, ref, opts)
	return digest, errors.Join(err, opts.Cache.Close())
}

// errNotStored is wrapped by errors about content that a registry claims to have stored, but has not.
var errNotStored = errors.New("not stored")

// A confirmTransport verifies that a registry has stored an upload. The digest in the response must match the
// content, and each manifest put by digest must exist afterwards. It is below the login of go-containerregistry, so
// that this check uses the token of the upload and costs one request.
type confirmTransport struct {
	inner  http.RoundTripper
	digest v1.Hash      // of the image, for puts by tag
	puts   atomic.Int64 // number of manifests put, by digest or tag
}

func (t *confirmTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.inner.RoundTrip(r)
	if err != nil || r.Method != http.MethodPut || resp.StatusCode/100 != 2 {
		return resp, err
	}
	if err := t.confirm(r, resp); err != nil {
		discard(resp)
		return nil, err
	}
	return resp, nil
}

// confirm checks the response to the upload of a blob or a manifest.
func (t *confirmTransport) confirm(r *http.Request, resp *http.Response) error {
	if digest := r.URL.Query().Get("digest"); digest != "" {
		return sameDigest(resp, digest)
	}
	if path.Base(path.Dir(r.URL.Path)) != "manifests" {
		return nil
	}
	t.puts.Add(1)
	digest := path.Base(r.URL.Path)
	if _, err := v1.NewHash(digest); err != nil {
		return sameDigest(resp, t.digest.String())
	}
	if err := sameDigest(resp, digest); err != nil {
		return err
	}
	return t.find(r, resp.Status, digest)
}

// find checks that the manifest put by r exists.
func (t *confirmTransport) find(r *http.Request, said, digest string) error {
	head := r.Clone(r.Context())
	head.Method, head.Body, head.GetBody, head.ContentLength = http.MethodHead, nil, nil, 0
	head.Header.Set("Accept", head.Header.Get("Content-Type"))
	head.Header.Del("Content-Type")
	resp, err := t.inner.RoundTrip(head)
	if err != nil {
		return err
	}
	defer discard(resp)
	switch resp.StatusCode {
	case http.StatusOK:
		return sameDigest(resp, digest)
	case http.StatusUnauthorized, http.StatusForbidden: // some users may push but not pull
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("%w: it answers %s to the manifest %s, and then %s", errNotStored, said, digest, resp.Status)
	}
	return gcr.CheckError(resp, http.StatusOK)
}

// sameDigest returns an error if the response contains another digest of the content. A digest with another algorithm
// is ignored.
func sameDigest(resp *http.Response, want string) error {
	said := resp.Header.Get("Docker-Content-Digest")
	algorithm, _, _ := strings.Cut(want, ":")
	if said == want || !strings.HasPrefix(said, algorithm+":") {
		return nil
	}
	return fmt.Errorf("%w: it has the digest %s, not %s", errNotStored, printable(said), want)
}
