package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	gcr "github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/opm-toolchain/opm/pkg/image"
)

// A Target is a place that images are copied to: a registry or a [Directory].
type Target interface {
	// String names the target.
	String() string

	// check returns an error if a repository cannot be written.
	check(ctx context.Context, repo string) error
	// prepare is called before anything is written.
	prepare() error
	// manifest returns a manifest by digest. The error wraps [image.ErrNotFound] if there is none.
	manifest(ctx context.Context, repo string, digest v1.Hash) ([]byte, v1.Descriptor, error)
	// has reports whether there is a manifest.
	has(ctx context.Context, repo string, digest v1.Hash) (bool, error)
	// size returns the size of a blob in bytes, or -1 if there is none.
	size(ctx context.Context, repo string, digest v1.Hash) (int64, error)
	// tagged reports whether a tag refers to a digest.
	tagged(ctx context.Context, repo, tag, digest string) (bool, error)
	// linked reports whether an existing manifest is found by its tags and by its subject, if it has them.
	linked(ctx context.Context, repo string, n *Node) (bool, error)
	// upload stores a blob unless it exists. from is a repository that has it, or "".
	upload(ctx context.Context, repo string, b Blob, from string, open image.BlobOpener) error
	// blob opens an uploaded blob.
	blob(repo string, b Blob) image.BlobOpener
	// put stores a manifest by digest, or by a tag.
	put(ctx context.Context, repo, id string, n *Node) error
}

// A Registry is a registry, or a path in it, as a target.
type Registry struct {
	opener *image.Opener
	base   string // such as mirror.example/crafts

	mu    sync.Mutex
	repos map[string]*image.Repository // by path below the base
}

// ToRegistry returns the target for a registry with a path, such as mirror.example/crafts.
func ToRegistry(opener *image.Opener, base string) (*Registry, error) {
	r := &Registry{opener: opener, base: strings.TrimSuffix(base, "/"), repos: map[string]*image.Repository{}}
	_, err := r.repository("repository")
	if err != nil {
		return nil, fmt.Errorf("target %q: want REGISTRY or REGISTRY/PATH: %w", base, err)
	}
	return r, nil
}

func (r *Registry) String() string { return r.base }

func (r *Registry) repository(path string) (*image.Repository, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.repos[path]; known != nil {
		return known, nil
	}
	repo, err := r.opener.Target(r.base + "/" + path)
	if err == nil {
		r.repos[path] = repo
	}
	return repo, err
}

func (r *Registry) check(ctx context.Context, path string) error {
	repo, err := r.repository(path)
	if err != nil {
		return err
	}
	return r.advise(path, repo.Check(ctx))
}

// advise adds a hint to an error from writing, if the registry refuses the path.
func (r *Registry) advise(path string, err error) error {
	answer, ok := errors.AsType[*gcr.Error](err)
	if !ok || !slices.ContainsFunc(answer.Errors, func(d gcr.Diagnostic) bool {
		return d.Code == gcr.NameInvalidErrorCode || d.Code == gcr.NameUnknownErrorCode
	}) {
		return err
	}
	_, full, _ := strings.Cut(r.base+"/"+path, "/")
	return fmt.Errorf("%w (if the registry refuses paths as deep as %q, join components with --max-components)", err, full)
}

func (r *Registry) prepare() error { return nil }

func (r *Registry) manifest(ctx context.Context, path string, digest v1.Hash) ([]byte, v1.Descriptor, error) {
	repo, err := r.repository(path)
	if err != nil {
		return nil, v1.Descriptor{}, err
	}
	raw, desc, err := repo.Manifest(ctx, digest.String())
	return raw, desc, notFoundIfDenied(err)
}

// notFoundIfDenied makes an error wrap [image.ErrNotFound] if the registry denies reading the repository: many
// registries answer 401 or 403 for a repository that does not exist, and the permission to write was checked.
func notFoundIfDenied(err error) error {
	answer, ok := errors.AsType[*gcr.Error](err)
	if ok && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden}, answer.StatusCode) {
		return fmt.Errorf("%w: %w", image.ErrNotFound, err)
	}
	return err
}

func (r *Registry) has(ctx context.Context, path string, digest v1.Hash) (bool, error) {
	found, err := r.head(ctx, path, digest.String())
	return found == digest, err
}

func (r *Registry) size(ctx context.Context, path string, digest v1.Hash) (int64, error) {
	repo, err := r.repository(path)
	if err != nil {
		return 0, err
	}
	size, err := repo.BlobSize(ctx, digest)
	if err = notFoundIfDenied(err); errors.Is(err, image.ErrNotFound) {
		return -1, nil
	}
	return size, err
}

func (r *Registry) tagged(ctx context.Context, path, tag, digest string) (bool, error) {
	found, err := r.head(ctx, path, tag)
	return found.String() == digest, err
}

// head returns the digest of a manifest, or the zero digest if the manifest does not exist.
func (r *Registry) head(ctx context.Context, path, id string) (v1.Hash, error) {
	repo, err := r.repository(path)
	if err != nil {
		return v1.Hash{}, err
	}
	digest, err := repo.Head(ctx, id)
	if err = notFoundIfDenied(err); errors.Is(err, image.ErrNotFound) {
		err = nil
	}
	return digest, err
}

func (r *Registry) linked(ctx context.Context, path string, n *Node) (bool, error) {
	for _, tag := range n.Tags {
		if ok, err := r.tagged(ctx, path, tag, n.Digest.String()); !ok || err != nil {
			return false, err
		}
	}
	if n.Subject == "" {
		return true, nil
	}
	repo, err := r.repository(path)
	if err != nil {
		return false, err
	}
	subject, err := v1.NewHash(n.Subject)
	if err != nil {
		return false, err
	}
	found, err := repo.Referrers(ctx, subject)
	return slices.ContainsFunc(found, func(d v1.Descriptor) bool { return d.Digest == n.Digest }), err
}

func (r *Registry) upload(ctx context.Context, path string, b Blob, from string, open image.BlobOpener) error {
	repo, err := r.repository(path)
	if err != nil {
		return err
	}
	var other *image.Repository
	if from != "" {
		if other, err = r.repository(from); err != nil {
			return err
		}
	}
	return r.advise(path, repo.Upload(ctx, b.descriptor(), other, open))
}

func (r *Registry) blob(path string, b Blob) image.BlobOpener {
	return func(ctx context.Context) (io.ReadCloser, error) {
		repo, err := r.repository(path)
		if err != nil {
			return nil, err
		}
		return repo.Blob(ctx, b.descriptor())
	}
}

func (r *Registry) put(ctx context.Context, path, id string, n *Node) error {
	repo, err := r.repository(path)
	if err != nil {
		return err
	}
	return r.advise(path, repo.Put(ctx, id, n.raw, n.MediaType))
}
