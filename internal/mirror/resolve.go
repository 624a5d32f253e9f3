package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/opm-toolchain/opm/pkg/image"
)

// maxDepth is the maximum depth of indexes in indexes, and of signatures of signatures.
const maxDepth = 4

// cosignSuffixes are the suffixes of the tags of cosign's signatures, attestations and SBOMs of a digest; see
// https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md.
var cosignSuffixes = []string{".sig", ".att", ".sbom"}

// cosignNouns are the kinds of the manifests with these tags.
var cosignNouns = map[string]string{".sig": "signature", ".att": "attestation", ".sbom": "SBOM"}

// A resolver finds the manifests of an image, and of the signatures and other artifacts that refer to it.
type resolver struct {
	found foundManifests
	plan  *Plan
	img   *Image

	mu    sync.Mutex
	links map[v1.Hash]*links // of the attached manifests
}

// links are the tags and the subject by which an attached manifest was found.
type links struct {
	tags    []string
	subject string
}

// resolve finds all manifests of an image, and checks which of them the target has.
func (p *Plan) resolve(ctx context.Context, img *Image) error {
	if img.dir != nil && img.Manifests != nil {
		return p.findExisting(ctx, img)
	}
	r := resolver{plan: p, img: img, links: map[v1.Hash]*links{}, found: foundManifests{
		slots: semaphore.NewWeighted(maxPerImage), all: map[v1.Hash]manifest{}, walked: map[v1.Hash]bool{},
	}}
	root, err := r.root(ctx)
	if err != nil {
		return err
	}
	img.Digest = root.desc.Digest.String()
	if img.Manifests, err = r.walk(ctx, root); err != nil {
		return err
	}
	if r.img.repo != nil {
		attached, err := r.attached(ctx, img.Manifests, 0)
		if err != nil {
			return err
		}
		r.link(attached)
		img.Manifests = append(img.Manifests, attached...)
	}
	img.Manifests = r.found.inOrder(img.Manifests)
	return p.findExisting(ctx, img)
}

// link sets the tags and the subjects of attached nodes.
func (r *resolver) link(nodes []Node) {
	for i := range nodes {
		if l := r.links[nodes[i].Digest]; l != nil {
			nodes[i].Tags, nodes[i].Subject = slices.Sorted(slices.Values(l.tags)), l.subject
		}
	}
}

// root returns the manifest or index of the image.
func (r *resolver) root(ctx context.Context) (m manifest, err error) {
	if r.img.dir == nil && r.img.inTarget == nil {
		if r.img.repo, err = r.plan.Opener.Source(r.img.from.String()); err != nil {
			return m, errors.Unwrap(err)
		}
	}
	if r.img.Digest != "" {
		digest, err := v1.NewHash(r.img.Digest)
		if err != nil {
			return m, err
		}
		return r.fetch(ctx, digest)
	}
	return r.read(ctx, func() ([]byte, v1.Descriptor, error) { return r.img.repo.Manifest(ctx, r.img.identifier()) })
}

// attached returns the nodes of all artifacts that refer to the manifests in to, and of artifacts that refer to these.
func (r *resolver) attached(ctx context.Context, to []Node, depth int) ([]Node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("signatures of signatures, more than %d deep", maxDepth)
	}
	found := make([][]Node, len(to))
	g, each := errgroup.WithContext(ctx)
	for i, n := range to {
		g.Go(func() (err error) {
			found[i], err = r.attachedTo(each, n.Digest)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	nodes := slices.Concat(found...)
	tops := slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return r.links[n.Digest] == nil })
	if len(tops) == 0 {
		return nodes, nil
	}
	more, err := r.attached(ctx, tops, depth+1)
	return append(nodes, more...), err
}

// attachedTo returns the nodes of the artifacts that refer to a digest: cosign's tags in order, and then the referrers.
func (r *resolver) attachedTo(ctx context.Context, digest v1.Hash) ([]Node, error) {
	found := make([][]Node, len(cosignSuffixes)+1)
	g, ctx := errgroup.WithContext(ctx)
	for i, suffix := range cosignSuffixes {
		g.Go(func() (err error) {
			found[i], err = r.byTag(ctx, image.ReferrersTag(digest)+suffix)
			return err
		})
	}
	g.Go(func() (err error) {
		found[len(cosignSuffixes)], err = r.referrers(ctx, digest)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// byTag returns the nodes of the manifest with a tag, if it exists.
func (r *resolver) byTag(ctx context.Context, tag string) ([]Node, error) {
	m, err := r.read(ctx, func() ([]byte, v1.Descriptor, error) { return r.img.repo.Tagged(ctx, tag) })
	if errors.Is(err, image.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tag, err)
	}
	return r.attachedNodes(ctx, m, func(l *links) { l.tags = append(l.tags, tag) })
}

// referrers returns the nodes of the manifests that have a digest as their subject.
func (r *resolver) referrers(ctx context.Context, digest v1.Hash) (nodes []Node, err error) {
	var list []v1.Descriptor
	err = r.ask(ctx, func() error {
		list, err = r.img.repo.Referrers(ctx, digest)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("referrers of %s: %w", digest, err)
	}
	for _, desc := range list {
		m, err := r.fetch(ctx, desc.Digest)
		if err != nil {
			return nil, fmt.Errorf("referrer %s: %w", desc.Digest, err)
		}
		more, err := r.attachedNodes(ctx, m, func(l *links) { l.subject = digest.String() })
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, more...)
	}
	return nodes, nil
}

// attachedNodes returns the nodes of an attached manifest, or nil if it was found before. It calls add for its links.
func (r *resolver) attachedNodes(ctx context.Context, m manifest, add func(*links)) ([]Node, error) {
	r.mu.Lock()
	found, seen := r.links[m.desc.Digest]
	if !seen {
		found = new(links)
		r.links[m.desc.Digest] = found
	}
	add(found)
	r.mu.Unlock()
	if seen {
		return nil, nil
	}
	nodes, err := r.walk(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.desc.Digest, err)
	}
	return nodes, nil
}

// findExisting checks which manifests of a resolved image the target has, and whether its tag is set.
func (p *Plan) findExisting(ctx context.Context, img *Image) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range img.Manifests {
		n := &img.Manifests[i]
		g.Go(func() error {
			return p.ask(ctx, func() (err error) {
				if !n.exists {
					n.exists, err = p.to.has(ctx, img.Repository, n.Digest)
				}
				if err == nil && n.exists {
					n.linked, err = p.to.linked(ctx, img.Repository, n)
				}
				if err != nil {
					err = fmt.Errorf("target: %w", err)
				}
				return err
			})
		})
	}
	g.Go(func() error {
		return p.ask(ctx, func() (err error) {
			if img.Tag != "" {
				img.tagged, err = p.to.tagged(ctx, img.Repository, img.Tag, img.Digest)
			}
			return err
		})
	})
	return g.Wait()
}
