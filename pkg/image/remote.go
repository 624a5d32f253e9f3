package image

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A remoteSource is the source of an image in a registry or its mirrors.
type remoteSource struct {
	opener *Opener
	places []Candidate
	answer atomic.Int32 // the place that has answered last, which is asked first
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

// remote reads a reference and finds the places where it leads.
func (o *Opener) remote(text string) (name.Reference, *remoteSource, error) {
	ref, err := parseRemote(text, o.opts.Insecure)
	if err != nil {
		return nil, nil, err
	}
	if err := CheckPolicy(ref, o.opts.Policy); err != nil {
		return nil, nil, err
	}
	places, err := o.opts.Mirrors.Candidates(ref)
	if err != nil {
		return nil, nil, err
	}
	return ref, &remoteSource{opener: o, places: places}, nil
}

// Digest asks a registry, or its mirrors, for the digest of what ref names: of the index where there is one. At most
// the manifest is fetched. The error is as that of Open.
func (o *Opener) Digest(ctx context.Context, ref string) (string, error) {
	_, r, err := o.remote(ref)
	if err != nil {
		return "", openError(ref, err)
	}
	var digest string
	err = r.each(ctx, func(repo *repository, at name.Reference) (err error) {
		digest, err = repo.head(ctx, at.Identifier(), o.opts.Limits)
		return err
	})
	if err != nil {
		return "", openError(ref, err)
	}
	return digest, nil
}

// root returns what ref names, and its descriptor. What a tag stands for is asked for each time.
func (r *remoteSource) root(ctx context.Context, ref name.Reference) ([]byte, v1.Descriptor, error) {
	if digest, ok := ref.(name.Digest); ok {
		h, err := v1.NewHash(digest.DigestStr())
		if err != nil {
			return nil, v1.Descriptor{}, err
		}
		desc := v1.Descriptor{Digest: h}
		cached := r.opener.cache.has(h)
		raw, err := r.document(ctx, desc)
		if err == nil {
			at := "image cache"
			if !cached {
				at = r.places[r.answer.Load()].Ref.String()
			}
			r.opener.opts.Log.Info("image found", "image", ref.String(), "at", at, "digest", h.String())
		}
		return raw, desc, err
	}
	var raw []byte
	var desc v1.Descriptor
	err := r.each(ctx, func(repo *repository, at name.Reference) (err error) {
		raw, desc, err = repo.manifest(ctx, at.Identifier(), r.opener.opts.Limits)
		return err
	})
	if err != nil {
		return nil, desc, err
	}
	r.opener.opts.Log.Info("image found", "image", ref.String(), "at", r.places[r.answer.Load()].Ref.String(),
		"digest", desc.Digest.String())
	// It is kept for the time when it is asked for by digest.
	content, err := r.opener.cache.fetch(ctx, desc.Digest, func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	})
	if err != nil {
		return nil, desc, err
	}
	return raw, desc, content.Close()
}

// document returns a manifest, an index or a config. The size of a manifest may be unknown, and is then zero.
func (r *remoteSource) document(ctx context.Context, desc v1.Descriptor) ([]byte, error) {
	limits := r.opener.opts.Limits
	if err := checkDescriptor(desc, limits); err != nil {
		return nil, err
	}
	content, err := r.fetch(ctx, desc.Digest, func(repo *repository, w io.Writer) error {
		if desc.MediaType.IsConfig() {
			return repo.download(ctx, desc, w)
		}
		return repo.manifestTo(ctx, w, desc, limits)
	})
	if err != nil {
		return nil, err
	}
	defer content.Close()
	desc.Size = content.Size() // the cache may have something else by that digest, such as a layer
	if err := checkDescriptor(desc, limits); err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(content, 0, content.Size()))
}

func (r *remoteSource) blob(ctx context.Context, desc v1.Descriptor) (io.ReadCloser, error) {
	content, err := r.fetch(ctx, desc.Digest, func(repo *repository, w io.Writer) error {
		return repo.download(ctx, desc, w)
	})
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(content, 0, content.Size()), content}, nil
}

// fetch returns the content with digest h, from the cache or else from the first place that has it.
func (r *remoteSource) fetch(ctx context.Context, h v1.Hash, get func(*repository, io.Writer) error) (stored, error) {
	cache := r.opener.cache
	if content := cache.open(h); content != nil {
		return content, nil
	}
	var content stored
	err := r.each(ctx, func(repo *repository, _ name.Reference) (err error) {
		content, err = cache.fetch(ctx, h, func(w io.Writer) error { return get(repo, w) })
		return err
	})
	return content, err
}

// each calls fn for one place after the other until it returns nil, the place first that has answered last.
func (r *remoteSource) each(ctx context.Context, fn func(*repository, name.Reference) error) error {
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
	return failed.join()
}

func (r *remoteSource) try(ctx context.Context, place Candidate, fn func(*repository, name.Reference) error) error {
	repo, err := r.opener.repository(ctx, place)
	if err == nil {
		err = fn(repo, place.Ref)
	}
	return access{repo: place.Ref.Context(), credentials: repo.hasCredentials()}.advise(err)
}

// A placeError is why a place could not be used.
type placeError struct {
	place Candidate
	err   error
}

// A placesError is why none of several places could be used. What it is, is the error of the last: where the reference
// itself leads.
type placesError []placeError

func (p placesError) join() error {
	if len(p) == 1 {
		return p[0].err
	}
	slices.SortStableFunc(p, func(a, b placeError) int {
		switch {
		case a.place.Mirror == b.place.Mirror:
			return 0
		case a.place.Mirror:
			return -1
		}
		return 1
	})
	return p
}

func (p placesError) Error() string {
	var text []string
	for _, e := range p {
		what := "registry"
		if e.place.Mirror {
			what = "mirror"
		}
		text = append(text, fmt.Sprintf("%s %s: %v", what, e.place.Ref, e.err))
	}
	return "it was tried in several places: " + strings.Join(text, "; ")
}

func (p placesError) Unwrap() error { return p[len(p)-1].err }
