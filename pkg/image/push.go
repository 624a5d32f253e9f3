package image

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push stores img in a registry and returns the digest that it has there. ref names a repository and a tag, as in
// quay.io/org/image:v1. The options and errors are those of a Pusher.
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

// A Pusher pushes an image to tags, in steps: the repositories of all tags store it by its digest before any tag names
// it, so that it can be signed in between, and a push that fails leaves the tags as they were. The steps share
// connections and tokens. It is for one goroutine.
//
//	p, err := image.NewPusher(tags, opts)
//	defer p.Close()
//	err = p.Check(ctx) // before the image is built
//	_, err = p.Store(ctx, img)
//	_, err = p.Tag(ctx) // if it fails, p.Live() are the tags that name img
//
// It uses these options: Insecure, Keychain, Transport, InsecureTransport and, of Mirrors, what registries.conf says
// about the registry itself, since mirrors are for pulling. Errors name the tag and advise what to do.
type Pusher struct {
	opener       *Opener
	tags         []pushTag
	repositories []*repository

	img    Artifact // nil before Store
	digest v1.Hash
	live   []string
}

// A pushTag is a tag that an image is pushed to.
type pushTag struct {
	text string // as given
	ref  name.Reference
	in   *repository
}

// A repository is a repository that an image is pushed to.
type repository struct {
	name.Repository
	first     string // of its tags, as given
	transport *confirmTransport
	pusher    *remote.Pusher
	has       bool // it had the image before it was pushed
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

// add adds a tag.
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
		r, err := p.opener.repository(place, text)
		if err != nil {
			return err
		}
		i = len(p.repositories)
		p.repositories = append(p.repositories, r)
	}
	p.tags = append(p.tags, pushTag{text, place.Ref, p.repositories[i]})
	return nil
}

// repository returns the repository of a place.
func (o *Opener) repository(place candidate, first string) (*repository, error) {
	client, err := o.client(place)
	if err != nil {
		return nil, err
	}
	t := &confirmTransport{inner: client.transport}
	// The transport retries requests; what the pusher retries is a whole upload that breaks off.
	pusher, err := remote.NewPusher(remote.WithTransport(t), remote.WithAuthFromKeychain(o.opts.Keychain),
		remote.WithRetryStatusCodes())
	return &repository{Repository: place.Ref.Context(), first: first, transport: t, pusher: pusher}, err
}

// Close closes the connections.
func (p *Pusher) Close() error { return p.opener.Close() }

// Check asks the registry of each repository whether an image may be pushed to it. The error joins those of all.
func (p *Pusher) Check(ctx context.Context) error {
	var errs []error
	for _, r := range p.repositories {
		errs = append(errs, p.ask(ctx, r, r.first, func(ctx context.Context) error {
			return remote.CheckPushPermission(r.Tag("latest"), p.opener.opts.Keychain,
				&contextTransport{ctx, r.transport})
		}))
	}
	return errors.Join(errs...)
}

// Store stores img in all repositories by its digest, and reports whether any did not have it. Blobs that a repository
// has are not sent again. Afterwards each repository was asked whether it has the image, unless it may not be read.
func (p *Pusher) Store(ctx context.Context, img Artifact) (changed bool, err error) {
	if p.digest, err = img.Digest(); err != nil {
		return false, err
	}
	p.img = img
	for _, r := range p.repositories {
		r.transport.digest = p.digest
		err := p.ask(ctx, r, r.first, func(ctx context.Context) error {
			return r.pusher.Push(ctx, r.Digest(p.digest.String()), img)
		})
		if err != nil {
			return changed, err
		}
		r.has = r.transport.puts.Load() == 0
		changed = changed || !r.has
	}
	return changed, nil
}

// Tag makes the tags name the image that was stored, one after the other until one fails, and reports whether any did
// not name it.
func (p *Pusher) Tag(ctx context.Context) (changed bool, err error) {
	for _, tag := range p.tags {
		before := tag.in.transport.puts.Load()
		// A repository that did not have the image has no tag that names it.
		set := tag.in.pusher.Put
		if tag.in.has {
			set = tag.in.pusher.Push
		}
		err := p.ask(ctx, tag.in, tag.text, func(ctx context.Context) error { return set(ctx, tag.ref, p.img) })
		if err != nil {
			return changed, err
		}
		changed = changed || tag.in.transport.puts.Load() > before
		p.live = append(p.live, tag.text+"@"+p.digest.String())
	}
	return changed, nil
}

// Live returns the tags that name the image since Tag, each with the digest: quay.io/org/image:v1@sha256:...
func (p *Pusher) Live() []string { return slices.Clone(p.live) }

// ask calls fn with a context that names the registry of r, and returns its error as one about a tag, with advice.
func (p *Pusher) ask(ctx context.Context, r *repository, tag string, fn func(context.Context) error) error {
	err := fn(withRegistry(ctx, r.RegistryStr()))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		err = p.opener.advise(ctx, r.Repository, err, true)
	}
	return pushError(tag, err)
}

// A contextTransport sends requests with a context, where the library has one of its own.
type contextTransport struct {
	ctx   context.Context
	inner http.RoundTripper
}

func (t *contextTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.inner.RoundTrip(r.WithContext(t.ctx))
}
