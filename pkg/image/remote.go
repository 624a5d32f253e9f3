package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	gcr "github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A registryClient talks to registries, with or without verified TLS. Its puller logs in once per repository.
type registryClient struct {
	transport *registryTransport
	puller    *remote.Puller
}

// pullsAtOnce is the maximum number of concurrent downloads of a registryClient. Callers set much lower limits
// themselves.
const pullsAtOnce = 1 << 10

// newClient returns a function that creates a client at the first call, with the given transport, or with a new one
// for opts if it is nil. insecure allows plain HTTP.
func (o *Opener) newClient(transport http.RoundTripper, opts TransportOptions, insecure bool) func() (registryClient,
	error) {
	return sync.OnceValues(func() (registryClient, error) {
		if transport == nil {
			opts.Log = o.opts.Log
			var err error
			if transport, err = NewTransport(opts); err != nil {
				return registryClient{}, err
			}
		}
		c := registryClient{transport: &registryTransport{inner: transport, insecure: insecure, limits: o.opts.Limits}}
		var err error
		c.puller, err = remote.NewPuller(remote.WithTransport(c.transport), remote.WithAuthFromKeychain(o.opts.Keychain),
			remote.WithJobs(pullsAtOnce),
			// The transport retries; retries here would multiply its attempts.
			remote.WithRetryStatusCodes(), remote.WithRetryPredicate(func(error) bool { return false }))
		return c, err
	})
}

// client returns the client for the registry of a candidate.
func (o *Opener) client(place candidate) (registryClient, error) {
	if place.Insecure || o.opts.Insecure {
		return o.insecure()
	}
	return o.secure()
}

// Multiplexes reports whether the images of a registry, or of its mirrors, have come over HTTP/2 so far, where many
// requests share a connection. It is false before the first image.
func (o *Opener) Multiplexes(ref string) bool {
	_, r, err := o.remote(ref)
	if err != nil {
		return false
	}
	some := false
	for _, place := range r.places {
		client, err := o.client(place)
		if err != nil {
			return false
		}
		multiplexes, known := client.transport.multiplexes.Load(place.Ref.Context().RegistryStr())
		if known && multiplexes == false {
			return false
		}
		some = some || known
	}
	return some
}

// A remoteSource is the source of an image in a registry or its mirrors.
type remoteSource struct {
	opener *Opener
	places []candidate
	answer atomic.Int32 // index of the place that answered last, which is asked first
}

func (o *Opener) openRemote(ctx context.Context, text string) (*Image, error) {
	ref, r, err := o.remote(text)
	if err != nil {
		return nil, err
	}
	raw, desc, err := r.root(ctx, ref)
	if err != nil {
		return nil, err
	}
	img, err := o.resolve(ctx, text, r, raw, desc)
	if err != nil {
		return nil, err
	}
	img.Pinned = ref.Context().Digest(img.RefDigest).Name()
	return img, nil
}

// remote parses a reference, checks the signature policy and finds the candidates.
func (o *Opener) remote(text string) (name.Reference, *remoteSource, error) {
	ref, err := parseRemote(text, o.opts.Insecure)
	if err != nil {
		return nil, nil, err
	}
	if !o.opts.IgnorePolicy {
		if err := checkHostPolicy(ref); err != nil {
			return nil, nil, err
		}
	}
	places, err := o.opts.Mirrors.candidates(ref)
	if err != nil {
		return nil, nil, err
	}
	return ref, &remoteSource{opener: o, places: places}, nil
}

// Digest returns the digest that ref refers to in a registry or its mirrors: the digest of the index if there is one.
// It fetches at most the manifest. For errors see Open.
func (o *Opener) Digest(ctx context.Context, ref string) (string, error) {
	_, r, err := o.remote(ref)
	if err != nil {
		return "", openError(ref, err)
	}
	var digest string
	err = r.each(ctx, func(ctx context.Context, p *remote.Puller, at name.Reference) error {
		desc, err := p.Head(ctx, at)
		if err != nil && !as[*url.Error](err) && !as[*gcr.Error](err) { // a response without a digest
			var got *remote.Descriptor
			if got, err = p.Get(ctx, at); err == nil {
				desc = &got.Descriptor
			}
		}
		if err == nil {
			digest = desc.Digest.String()
		}
		return err
	})
	return digest, openError(ref, err)
}

// manifest returns a manifest or an index by its tag or digest, with its descriptor, from the places that ask tries.
func (r *remoteSource) manifest(ctx context.Context, ask func(context.Context, inquiry) error, id string) (
	raw []byte, desc v1.Descriptor, err error,
) {
	err = ask(ctx, func(ctx context.Context, p *remote.Puller, at name.Reference) error {
		got, err := p.Get(ctx, manifestRef(at.Context(), id))
		if err == nil {
			raw, desc = got.Manifest, got.Descriptor
		}
		return err
	})
	mediaType, _, _ := strings.Cut(string(desc.MediaType), ";")
	desc.MediaType = types.MediaType(mediaType)
	return raw, desc, err
}

// root returns the manifest or index that ref refers to, with its descriptor. A tag is resolved at every call.
func (r *remoteSource) root(ctx context.Context, ref name.Reference) (raw []byte, desc v1.Descriptor, err error) {
	cache, at := r.opener.cache, ""
	if digest, ok := ref.(name.Digest); ok {
		if desc.Digest, err = v1.NewHash(digest.DigestStr()); err != nil {
			return nil, desc, err
		}
		if cache.has(desc.Digest) {
			at = "image cache"
		}
		raw, err = r.document(ctx, desc)
	} else {
		raw, desc, err = r.manifest(ctx, r.each, ref.Identifier())
		if err == nil { // cached for later requests by digest
			err = cache.add(ctx, desc.Digest, raw)
		}
	}
	if err != nil {
		return nil, desc, err
	}
	if at == "" {
		at = r.places[r.answer.Load()].Ref.String()
	}
	r.opener.opts.Log.Info("image found", "image", ref.String(), "at", at, "digest", desc.Digest.String())
	return raw, desc, nil
}

// document returns a manifest, an index or a config. The size of a manifest may be zero if unknown.
func (r *remoteSource) document(ctx context.Context, desc v1.Descriptor) ([]byte, error) {
	limits := r.opener.opts.Limits
	if err := checkDescriptor(desc, limits); err != nil {
		return nil, err
	}
	content, err := r.fetch(ctx, desc, func(ctx context.Context, p *remote.Puller, at name.Digest, w io.Writer) error {
		if desc.MediaType.IsConfig() {
			return download(ctx, p, at, desc.Size, w)
		}
		got, err := p.Get(ctx, at)
		if err == nil {
			_, err = w.Write(got.Manifest)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	defer content.Close()
	if desc.MediaType.IsConfig() { // it may be cached for another image, with another size
		if err := checkSize(desc, content.Size()); err != nil {
			return nil, err
		}
	}
	desc.Size = content.Size() // the cached content may be something else, such as a layer
	if err := checkDescriptor(desc, limits); err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(content, 0, content.Size()))
}

func (r *remoteSource) blob(ctx context.Context, desc v1.Descriptor) (io.ReadCloser, error) {
	content, err := r.fetch(ctx, desc, func(ctx context.Context, p *remote.Puller, at name.Digest, w io.Writer) error {
		return download(ctx, p, at, desc.Size, w)
	})
	if err != nil {
		return nil, err
	}
	if err := checkSize(desc, content.Size()); err != nil {
		return nil, closing(err, content)
	}
	return readCloser{io.NewSectionReader(content, 0, content.Size()), content}, nil
}

// fetch returns content by digest, from the cache or else from the first place that has it.
func (r *remoteSource) fetch(ctx context.Context, desc v1.Descriptor,
	get func(context.Context, *remote.Puller, name.Digest, io.Writer) error,
) (stored, error) {
	cache := r.opener.cache
	if content := cache.open(desc.Digest); content != nil {
		return content, nil
	}
	var content stored
	err := r.each(ctx, func(ctx context.Context, p *remote.Puller, at name.Reference) (err error) {
		ref := at.Context().Digest(desc.Digest.String())
		from := origin{p, ref.Repository, desc.Size, desc.MediaType}
		content, err = cache.fetch(ctx, desc.Digest, from, func(w io.Writer) error { return get(ctx, p, ref, w) })
		return err
	})
	return content, err
}

// download writes a blob to w. If its authorization expires during the download, it logs in again.
func download(ctx context.Context, p *remote.Puller, ref name.Digest, size int64, w io.Writer) error {
	for done := int64(0); ; {
		n, err := downloadFrom(ctx, p, ref, done, size, w)
		done += n
		if n == 0 || !hasStatus(err, http.StatusUnauthorized, http.StatusForbidden) {
			return err
		}
	}
}

// downloadFrom writes a blob from offset start on, and returns the number of bytes written.
func downloadFrom(ctx context.Context, p *remote.Puller, ref name.Digest, start, size int64, w io.Writer) (int64,
	error) {
	layer, err := p.Layer(ctx, ref)
	if err != nil {
		return 0, err
	}
	body, err := layer.Compressed()
	if err != nil {
		return 0, err
	}
	defer body.Close()
	if _, err = io.CopyN(io.Discard, body, start); err != nil {
		return 0, err
	}
	n, err := io.CopyN(w, body, size-start)
	if err == nil {
		if extra, _ := body.Read(make([]byte, 1)); extra > 0 { // otherwise the content is complete, and w verifies it
			err = fmt.Errorf("%w: the registry sends more than the %d bytes that the manifest says", errDigest, size)
		}
		return n, err
	}
	if as[*brokenError](err) || as[*cacheError](err) || as[*gcr.Error](err) || ctx.Err() != nil {
		return n, err
	}
	return n, fmt.Errorf("%w: %w", errDigest, err) // the library found less content, or a wrong digest
}

// An inquiry is a request to one place. Its context has the registry, see withRegistry.
type inquiry func(ctx context.Context, p *remote.Puller, at name.Reference) error

// each calls fn for the places in order until it returns nil, starting with the place that answered last.
func (r *remoteSource) each(ctx context.Context, fn inquiry) error {
	last := int(r.answer.Load())
	order := slices.Concat(r.places[last:last+1], r.places[:last], r.places[last+1:])
	var failed placesError
	for _, place := range order {
		err := r.try(ctx, place, fn)
		if err == nil {
			r.answer.Store(int32(slices.Index(r.places, place)))
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = append(failed, placeError{place, err})
		if len(order) > 1 {
			r.opener.opts.Log.Info("registry failed", "image", place.Ref.String(), "error", err)
		}
	}
	if len(failed) == 1 {
		return failed[0].err
	}
	if i := slices.IndexFunc(failed, func(e placeError) bool { return !e.place.Mirror }); i >= 0 {
		failed = slices.Concat(failed[:i], failed[i+1:], failed[i:i+1])
	}
	return failed
}

func (r *remoteSource) try(ctx context.Context, place candidate, fn inquiry) error {
	client, err := r.opener.client(place)
	if err != nil {
		return err
	}
	asking := withRegistry(ctx, place.Ref.Context().RegistryStr())
	err = fn(asking, client.puller, place.Ref)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil { // from another image's login, which both wait for
		err = fn(asking, client.puller, place.Ref)
	}
	return r.opener.advise(ctx, place.Ref.Context(), err, false)
}

// advise adds advice to the error of a registry.
func (o *Opener) advise(ctx context.Context, repo name.Repository, err error, push bool) error {
	if err == nil {
		return nil
	}
	a := access{repo: repo, push: push}
	if k, ok := o.opts.Keychain.(*keychain); ok {
		config, sources, _ := k.lookup(ctx, newAuthTarget(repo)) // a failure would have been reported before
		a.credentials = config != (authn.AuthConfig{})
		a.ignored = ignoredEntry(sources)
	} else {
		auth, _ := authn.Resolve(ctx, o.opts.Keychain, repo)
		a.credentials = auth != nil && auth != authn.Anonymous
	}
	return a.advise(err)
}

// A placeError is the error of one place.
type placeError struct {
	place candidate
	err   error
}

// A placesError has the errors of all places. It wraps the last one, which is from the registry of the reference
// itself.
type placesError []placeError

func (p placesError) Error() string {
	var text []string
	for _, e := range p {
		what := "registry"
		if e.place.Mirror {
			what = "mirror"
		}
		text = append(text, fmt.Sprintf("%s %s: %v", what, e.place.Ref, e.err))
	}
	return "all registries and mirrors failed: " + strings.Join(text, "; ")
}

func (p placesError) Unwrap() error { return p[len(p)-1].err }
