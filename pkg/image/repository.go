package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	gcr "github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A Repository reads and writes the manifests and blobs of one repository in a registry as they are, whether they
// belong to images or to other artifacts. Calls may be concurrent. Errors include advice, and wrap ErrNotFound or
// ErrUnavailable as those of Open.
type Repository struct {
	remoteSource
	writer *repository // nil if it is only for reading
}

// Source returns a repository for reading: the one of ref, which is a reference as for Open. Mirrors and the signature
// policy apply as they do for Open.
func (o *Opener) Source(ref string) (*Repository, error) {
	_, source, err := o.remote(ref)
	if err != nil {
		return nil, openError(ref, err)
	}
	return &Repository{remoteSource: remoteSource{opener: o, places: source.places}}, nil
}

// Target returns a repository, such as quay.io/org/image, for writing and reading. Mirrors do not apply.
func (o *Opener) Target(repo string) (*Repository, error) {
	parsed, err := parseRemote(repo+":latest", o.opts.Insecure)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", printable(repo), err)
	}
	place, err := o.opts.Mirrors.destination(parsed)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", printable(repo), err)
	}
	writer, err := o.repository(place)
	if err != nil {
		return nil, err
	}
	return &Repository{remoteSource{opener: o, places: []candidate{place}}, writer}, nil
}

// Manifest returns a manifest or an index by its tag or digest, with its descriptor. The content is verified if the
// digest is given.
func (r *Repository) Manifest(ctx context.Context, id string) (raw []byte, desc v1.Descriptor, err error) {
	return r.manifest(ctx, r.each, id)
}

// Head returns the digest of the manifest with this tag or digest.
func (r *Repository) Head(ctx context.Context, id string) (digest v1.Hash, err error) {
	err = r.each(ctx, func(ctx context.Context, p *remote.Puller, at name.Reference) error {
		desc, err := p.Head(ctx, manifestRef(at.Context(), id))
		if err == nil {
			digest = desc.Digest
		}
		return err
	})
	return digest, err
}

// Tagged returns a manifest or an index by its tag, as Manifest does, but asks only the registry or mirror that
// answered last: if it has the image, it also has the artifacts that belong to it.
func (r *Repository) Tagged(ctx context.Context, tag string) (raw []byte, desc v1.Descriptor, err error) {
	return r.manifest(ctx, r.askLast, tag)
}

// Referrers returns the descriptors of the manifests whose subject has this digest, by the API for referrers or, if the
// registry has none, by the tag schema; see
// https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers. Only the registry or mirror
// that answered last is asked.
func (r *Repository) Referrers(ctx context.Context, digest v1.Hash) (found []v1.Descriptor, err error) {
	err = r.askLast(ctx, func(ctx context.Context, p *remote.Puller, at name.Reference) error {
		index, err := remote.Referrers(at.Context().Digest(digest.String()), remote.WithContext(ctx), remote.Reuse(p))
		if hasStatus(err, http.StatusMethodNotAllowed, http.StatusNotImplemented) { // not expected by the library
			var got *remote.Descriptor
			if got, err = p.Get(ctx, at.Context().Tag(ReferrersTag(digest))); err == nil {
				index, err = got.ImageIndex()
			} else if hasStatus(err, http.StatusNotFound) {
				return nil
			}
		}
		if err != nil {
			return err
		}
		list, err := index.IndexManifest()
		if err == nil {
			found = list.Manifests
		}
		return err
	})
	return found, err
}

// ReferrersTag returns the tag of the index of the referrers of a digest, in registries without an API for referrers.
func ReferrersTag(digest v1.Hash) string { return digest.Algorithm + "-" + digest.Hex }

// hasStatus reports whether an error is a registry's response with one of the statuses.
func hasStatus(err error, statuses ...int) bool {
	answer, ok := errors.AsType[*gcr.Error](err)
	return ok && slices.Contains(statuses, answer.StatusCode)
}

// askLast calls fn for the place that answered last.
func (r *Repository) askLast(ctx context.Context, fn inquiry) error {
	return r.try(ctx, r.places[r.answer.Load()], fn)
}

// manifestRef returns the reference to the manifest in repo with this tag or digest.
func manifestRef(repo name.Repository, id string) name.Reference {
	if strings.Contains(id, ":") {
		return repo.Digest(id)
	}
	return repo.Tag(id)
}

// Blob opens a blob. It is not stored in the cache. Reading ends with an error if its size or digest is wrong.
func (r *Repository) Blob(ctx context.Context, desc v1.Descriptor) (io.ReadCloser, error) {
	var body io.ReadCloser
	err := r.each(ctx, func(ctx context.Context, p *remote.Puller, at name.Reference) error {
		layer, err := p.Layer(ctx, at.Context().Digest(desc.Digest.String()))
		if err == nil {
			body, err = layer.Compressed()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return VerifiedBlob(body, desc), nil
}

// BlobSize returns the size of a blob in bytes, as the registry has it, without reading the blob.
func (r *Repository) BlobSize(ctx context.Context, digest v1.Hash) (size int64, err error) {
	err = r.each(ctx, func(ctx context.Context, p *remote.Puller, at name.Reference) error {
		layer, err := p.Layer(ctx, at.Context().Digest(digest.String()))
		if err == nil {
			size, err = layer.Size()
		}
		return err
	})
	if err == nil && size < 0 {
		err = fmt.Errorf("the registry does not say the size of %s", digest)
	}
	return size, err
}

// Check asks the registry for permission to push.
func (r *Repository) Check(ctx context.Context) error { return r.writer.check(ctx) }

// A BlobOpener opens the content of a blob; it may be called again after a failure.
type BlobOpener func(ctx context.Context) (io.ReadCloser, error)

// Upload stores a blob, unless the repository has it. If from is not nil, it is a repository in the same registry that
// has the blob, from which the registry may mount it. Otherwise open provides the content. An error of open or of
// reading is returned as it is.
func (r *Repository) Upload(ctx context.Context, desc v1.Descriptor, from *Repository, open BlobOpener) error {
	var failed error                // error of reading the source
	desc.MediaType = types.OCILayer // any media type that can be uploaded
	layer, err := partial.CompressedToLayer(storedBlob{desc, func() (io.ReadCloser, error) {
		var body io.ReadCloser
		body, failed = open(ctx)
		return sourceBody{body, &failed}, failed
	}})
	if err != nil {
		return err
	}
	if from != nil {
		layer = &remote.MountableLayer{Layer: layer, Reference: from.writer.Digest(desc.Digest.String())}
	}
	err = r.writer.ask(ctx, func(ctx context.Context) error {
		return r.writer.pusher.Upload(ctx, r.writer.Repository, layer)
	})
	if err != nil && failed != nil {
		return failed
	}
	return err
}

// A sourceBody records the error of reading a blob, which is not an error of the registry that it is uploaded to.
type sourceBody struct {
	io.ReadCloser
	failed *error
}

func (b sourceBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		*b.failed = err
	}
	return n, err
}

// Put stores a manifest under its digest or a tag. The registry must have its blobs and manifests. If the manifest has
// a subject and the registry no API for referrers, the index of the tag schema is updated; the caller must not put
// manifests of the same subject at the same time.
func (r *Repository) Put(ctx context.Context, id string, raw []byte, mediaType types.MediaType) error {
	return r.writer.ask(ctx, func(ctx context.Context) error {
		return r.writer.pusher.Put(ctx, manifestRef(r.writer.Repository, id), storedManifest{raw, mediaType})
	})
}

// A storedManifest is a manifest to put.
type storedManifest struct {
	raw       []byte
	mediaType types.MediaType
}

func (m storedManifest) RawManifest() ([]byte, error)        { return m.raw, nil }
func (m storedManifest) MediaType() (types.MediaType, error) { return m.mediaType, nil }

// Delete deletes a manifest by digest.
func (r *Repository) Delete(ctx context.Context, digest v1.Hash) error {
	return r.writer.ask(ctx, func(ctx context.Context) error {
		return r.writer.pusher.Delete(ctx, r.writer.Digest(digest.String()))
	})
}

// Contents are the descriptors in a manifest.
type Contents struct {
	MediaType types.MediaType // of the manifest
	Manifests []v1.Descriptor // of an index
	Blobs     []v1.Descriptor // the config and the layers of an image, without layers that must not be distributed
}

// ParseContents parses a manifest or an index. said is its media type according to its descriptor or to the registry,
// or "". It is an error if a size is negative, or if the sum of the sizes does not fit into an int64.
func ParseContents(raw []byte, said types.MediaType) (Contents, error) {
	m, err := parseManifest(raw, said)
	if err != nil {
		return Contents{}, err
	}
	c := Contents{MediaType: cmp.Or(m.MediaType, said), Manifests: m.Manifests}
	if m.Config != nil {
		c.Blobs = append(c.Blobs, *m.Config)
	}
	for _, l := range m.Layers {
		if l.MediaType.IsDistributable() {
			c.Blobs = append(c.Blobs, l)
		}
	}
	return c, c.checkSizes()
}

func (c *Contents) checkSizes() error {
	var total int64
	for _, d := range slices.Concat(c.Manifests, c.Blobs) {
		switch {
		case d.Size < 0:
			return fmt.Errorf("the manifest is broken: the size of %s is %d", d.Digest, d.Size)
		case d.Size > math.MaxInt64-total:
			return errors.New("the manifest is broken: the sum of its sizes is more than 2^63-1 bytes")
		}
		total += d.Size
	}
	return nil
}

// ForPlatforms returns the entries of an index for platforms, each os/arch or os/arch/variant, and the attestations of
// these entries. Nested indexes are kept. It is an error if a platform has no entry.
func ForPlatforms(entries []v1.Descriptor, platforms []string) (kept []v1.Descriptor, err error) {
	found, digests := map[string]bool{}, map[string]bool{}
	var offered []string
	for _, e := range entries {
		if isAttestation(e) || e.Platform == nil {
			continue
		}
		offered = append(offered, printable(e.Platform.String()))
		for _, text := range platforms {
			want, err := parsePlatform(text)
			if err != nil {
				return nil, err
			}
			if satisfies(*e.Platform, want) {
				found[text], digests[e.Digest.String()] = true, true
			}
		}
	}
	for _, text := range platforms {
		if len(offered) > 0 && !found[text] {
			slices.Sort(offered)
			return nil, fmt.Errorf("no image for %s, only for %s", text, strings.Join(slices.Compact(offered), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e v1.Descriptor) bool {
		if isAttestation(e) {
			return !digests[e.Annotations[attestedDigest]]
		}
		return e.Platform != nil && !digests[e.Digest.String()]
	}), nil
}
