package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A Pruning lists the manifests of a mirror that no record needs any longer.
type Pruning struct {
	Target    string     `json:"target"`
	Manifests []Obsolete `json:"manifests"` // in the order of deletion: indexes before the images that they refer to
	Bytes     int64      `json:"bytes"`     // total size of manifests and blobs that only obsolete images have

	records []*Record
	needed  map[imageKey]bool // manifests
}

// An Obsolete is a manifest to delete.
type Obsolete struct {
	Repository string `json:"repository"` // below the path of the mirror
	Digest     string `json:"digest"`
	Source     string `json:"source"` // source of the image that the manifest belonged to

	referred bool // referrers have it as their subject
}

// NewPruning returns the manifests of obsolete images that no needed image in any of the records has. All records must
// be of one registry.
func NewPruning(records []*Record) (*Pruning, error) {
	p := &Pruning{Manifests: []Obsolete{}, records: records, needed: map[imageKey]bool{}}
	blobs := map[v1.Hash]bool{}
	wanted := map[string]bool{} // targets of images that failed and whose manifests no record of theirs has
	for _, r := range records {
		if r.Target == "" {
			return nil, errors.New("it is the record of a directory: want that of a registry")
		}
		if p.Target != "" && r.Target != p.Target {
			return nil, fmt.Errorf("the records are of two mirrors, %s and %s", p.Target, r.Target)
		}
		p.Target = r.Target
		for _, img := range r.needed() {
			if img.Manifests == nil {
				wanted[img.Target()] = true
			}
			p.need(img, blobs)
		}
	}
	var obsolete []*Image
	for _, r := range records {
		for _, img := range r.Obsolete {
			if wanted[img.Target()] {
				p.need(img, blobs)
			} else {
				obsolete = append(obsolete, img)
			}
		}
	}
	referred := map[imageKey]bool{}
	for _, img := range obsolete {
		for _, n := range img.Manifests {
			referred[imageKey{img.Repository, n.Subject}] = true
		}
		p.Bytes = addSize(p.Bytes, sum(blobs, img.content()))
	}
	listed := maps.Clone(p.needed)
	for _, indexes := range []bool{true, false} {
		for _, img := range obsolete {
			for _, n := range slices.Backward(img.Manifests) {
				key := imageKey{img.Repository, n.Digest.String()}
				if n.MediaType.IsIndex() == indexes && !listed[key] {
					p.Manifests = append(p.Manifests, Obsolete{img.Repository, key.digest, img.Source, referred[key]})
					listed[key] = true
				}
			}
		}
	}
	return p, nil
}

// need adds the manifests of an image to the needed manifests, and its content to blobs.
func (p *Pruning) need(img *Image, blobs map[v1.Hash]bool) {
	for _, n := range img.Manifests {
		p.needed[imageKey{img.Repository, n.Digest.String()}] = true
	}
	sum(blobs, img.content())
}

// Run deletes the manifests by digest. It calls deleted, which may be nil, for each deleted manifest, and removes
// images whose manifests were all deleted from the records. It continues after a failure, unless the first deletion
// fails or ctx is done; the error joins all failures.
//
// Nothing is deleted if a tag shows that the records are not up to date: a run was killed before it wrote its record,
// or another record is missing.
func (p *Pruning) Run(ctx context.Context, opener *image.Opener, deleted func(Obsolete)) error {
	if len(p.Manifests) == 0 {
		return nil
	}
	to, err := ToRegistry(opener, p.Target)
	if err == nil {
		err = p.checkTags(ctx, to)
	}
	if err != nil {
		return err
	}
	failed := map[imageKey]bool{}
	var errs []error
	for i, m := range p.Manifests {
		key := imageKey{m.Repository, m.Digest}
		if err := to.remove(ctx, m, p.needed); err != nil {
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

// checkTags returns an error for each needed tag that refers to a manifest to delete, and for each tag of a catalog
// that refers to a catalog that no record has: the mirror serves it, and its images are not known.
func (p *Pruning) checkTags(ctx context.Context, to *Registry) error {
	doomed, pruned := map[imageKey]bool{}, map[string]bool{}
	for _, m := range p.Manifests {
		doomed[imageKey{m.Repository, m.Digest}] = true
		pruned[m.Repository] = true
	}
	type use struct{ needed, catalog bool }
	uses := map[string]use{} // by target
	var tags []*Image        // one for each tag to check
	for _, r := range p.records {
		all := r.needed()
		n := len(all)
		for i, img := range append(all, r.Obsolete...) {
			needed := i < n
			if img.Tag == "" || !img.Catalog && (!needed || !pruned[img.Repository]) {
				continue
			}
			of, known := uses[img.Target()]
			if !known {
				tags = append(tags, img)
			}
			uses[img.Target()] = use{of.needed || needed, of.catalog || img.Catalog}
		}
	}
	check := func(img *Image) error {
		found, err := to.head(ctx, img.Repository, img.Tag)
		if err != nil || found == (v1.Hash{}) {
			return err
		}
		key, of := imageKey{img.Repository, found.String()}, uses[img.Target()]
		if p.needed[key] || doomed[key] && !of.needed || !doomed[key] && !of.catalog {
			return nil
		}
		return fmt.Errorf("the tag refers to %s, which the records do not list as needed: name the record of the run that "+
			"set the tag, too, or run opm mirror again", found)
	}
	var errs []error
	for err := range parallel.Map(ctx, maxRequests, slices.Values(tags), check) {
		if err != nil {
			err = fmt.Errorf("nothing was deleted: %s/%s: %w", p.Target, tags[len(errs)].Target(), err)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// remove deletes a manifest, which need not exist, and the index of its referrers if the registry has no API for them,
// unless that is a needed manifest.
func (r *Registry) remove(ctx context.Context, m Obsolete, needed map[imageKey]bool) error {
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
		if err == nil && list != (v1.Hash{}) && !needed[imageKey{m.Repository, list.String()}] {
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
