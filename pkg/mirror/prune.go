package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/pkg/image"
)

// A Pruning lists the manifests of a mirror that no record needs any longer.
type Pruning struct {
	Target    string     `json:"target"`
	Manifests []Obsolete `json:"manifests"` // in the order of deletion: indexes before the images that they refer to
	Bytes     int64      `json:"bytes"`     // total size of manifests and blobs that only obsolete images have

	records []*Record
}

// An Obsolete is a manifest to delete.
type Obsolete struct {
	Repository string `json:"repository"` // below the path of the mirror
	Digest     string `json:"digest"`
	Source     string `json:"source"` // source of the image that the manifest belonged to

	referred bool // referrers have it as their subject
}

// NewPruning returns the manifests of obsolete images that no current image in any of the records needs. All records
// must be of one registry.
func NewPruning(records []*Record) (*Pruning, error) {
	p := &Pruning{Manifests: []Obsolete{}, records: records}
	needed, blobs := map[imageKey]bool{}, map[v1.Hash]bool{}
	for _, r := range records {
		if r.Target == "" {
			return nil, errors.New("it is the record of a directory: want that of a registry")
		}
		if p.Target != "" && r.Target != p.Target {
			return nil, fmt.Errorf("the records are of two mirrors, %s and %s", p.Target, r.Target)
		}
		p.Target = r.Target
		for _, img := range r.Images {
			for _, n := range img.Manifests {
				needed[imageKey{img.Repository, n.Digest.String()}] = true
			}
			sum(blobs, img.content())
		}
	}
	var obsolete []*Image
	referred := map[imageKey]bool{}
	for _, r := range records {
		obsolete = append(obsolete, r.Obsolete...)
	}
	for _, img := range obsolete {
		for _, n := range img.Manifests {
			referred[imageKey{img.Repository, n.Subject}] = true
		}
		p.Bytes += sum(blobs, img.content())
	}
	for _, indexes := range []bool{true, false} {
		for _, img := range obsolete {
			for _, n := range slices.Backward(img.Manifests) {
				key := imageKey{img.Repository, n.Digest.String()}
				if n.MediaType.IsIndex() == indexes && !needed[key] {
					p.Manifests = append(p.Manifests, Obsolete{img.Repository, key.digest, img.Source, referred[key]})
					needed[key] = true
				}
			}
		}
	}
	return p, nil
}

// Run deletes the manifests by digest. It calls deleted, which may be nil, for each deleted manifest, and removes
// images whose manifests were all deleted from the records. It continues after a failure, unless the first deletion
// fails or ctx is done; the error joins all failures.
func (p *Pruning) Run(ctx context.Context, opener *image.Opener, deleted func(Obsolete)) error {
	to, err := ToRegistry(opener, p.Target)
	if err != nil {
		return err
	}
	failed := map[imageKey]bool{}
	var errs []error
	for i, m := range p.Manifests {
		key := imageKey{m.Repository, m.Digest}
		if err := to.remove(ctx, m); err != nil {
			failed[key] = true
			errs = append(errs, fmt.Errorf("delete %s/%s@%s: %w", p.Target, m.Repository, m.Digest, err))
			if i == 0 || ctx.Err() != nil {
				return errors.Join(errs...)
			}
			continue
		}
		if deleted != nil {
			deleted(m)
		}
	}
	for _, r := range p.records {
		r.Obsolete = slices.DeleteFunc(r.Obsolete, func(img *Image) bool {
			return !slices.ContainsFunc(img.Manifests, func(n Node) bool {
				return failed[imageKey{img.Repository, n.Digest.String()}]
			})
		})
	}
	return errors.Join(errs...)
}

// remove deletes a manifest, which need not exist, and the index of its referrers if the registry has no API for them.
func (r *Registry) remove(ctx context.Context, m Obsolete) error {
	repo, err := r.repository(m.Repository)
	if err != nil {
		return err
	}
	digest, err := v1.NewHash(m.Digest)
	if err != nil {
		return err
	}
	if m.referred {
		list, err := r.head(ctx, m.Repository, image.ReferrersTag(digest))
		if err == nil && list != (v1.Hash{}) {
			err = repo.Delete(ctx, list)
		}
		if err != nil {
			return err
		}
	}
	if err = repo.Delete(ctx, digest); errors.Is(err, image.ErrNotFound) {
		return nil
	}
	return err
}
