package mirror

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/opm-toolchain/opm/pkg/image"
)

const (
	// maxPerImage is the maximum number of concurrent requests for one image: each response may be as large as a manifest
	// can be.
	maxPerImage = 8

	// The maximum sizes of a manifest that is kept until it is copied, and of all of a plan, in bytes. The others are read
	// again.
	maxKept    = 64 << 10
	maxKeptAll = 64 << 20
)

// parsing has a slot for each manifest that is being parsed, which takes several times its size.
var parsing = semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))

// A manifest is a parsed manifest or index.
type manifest struct {
	desc     v1.Descriptor
	node     Node
	children []v1.Hash // manifests of an index, each once
}

// foundManifests are the manifests of an image that were found so far.
type foundManifests struct {
	slots *semaphore.Weighted // has a slot for each request

	flights singleflight.Group // by digest

	mu     sync.Mutex
	all    map[v1.Hash]manifest
	walked map[v1.Hash]bool // returned by walk
	bytes  int64            // of all responses
}

// get returns a manifest that was found before.
func (f *foundManifests) get(digest v1.Hash) (m manifest, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, ok = f.all[digest]
	return m, ok
}

// add adds a manifest with its text and returns it, or the equal one that was found before. The error is about a limit.
func (f *foundManifests) add(m manifest, raw []byte, plan *Plan) (manifest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes += m.node.Size
	if known, ok := f.all[m.node.Digest]; ok {
		m = known
	} else {
		if !m.node.exists && len(raw) <= maxKept && plan.kept.Add(int64(len(raw))) <= maxKeptAll {
			m.node.raw = raw
		}
		f.all[m.node.Digest] = m
	}
	if err := plan.Limits.CheckManifests(len(f.all), f.bytes); err != nil {
		return m, fmt.Errorf("%w: if it is a real image, allow more with --max-manifests", err)
	}
	return m, nil
}

// walk records that walk returns a manifest, and reports whether that is the first time.
func (f *foundManifests) walk(digest v1.Hash) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.walked[digest]
	f.walked[digest] = true
	return !before
}

// inOrder returns nodes, each once and after the nodes that it refers to. Of equal nodes, the last is taken.
func (f *foundManifests) inOrder(nodes []Node) []Node {
	last, done := map[v1.Hash]Node{}, map[v1.Hash]bool{}
	for _, n := range nodes {
		last[n.Digest] = n
	}
	ordered := make([]Node, 0, len(last))
	var add func(v1.Hash)
	add = func(digest v1.Hash) {
		n, ok := last[digest]
		if !ok || done[digest] {
			return
		}
		done[digest] = true
		for _, child := range f.all[digest].children {
			add(child)
		}
		ordered = append(ordered, n)
	}
	for _, n := range nodes {
		add(n.Digest)
	}
	return ordered
}

// ask calls fn, which sends one request, when few enough others are running for the image and for the plan.
func (r *resolver) ask(ctx context.Context, fn func() error) error {
	if err := r.found.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.found.slots.Release(1)
	return r.plan.ask(ctx, fn)
}

// read calls get, which requests a manifest from the source, and parses the manifest.
func (r *resolver) read(ctx context.Context, get func() ([]byte, v1.Descriptor, error)) (m manifest, err error) {
	err = r.ask(ctx, func() error {
		raw, desc, err := get()
		if err == nil {
			m, err = r.parse(ctx, raw, desc, false)
		}
		return err
	})
	return m, err
}

// fetch returns a manifest by digest, from the target if it has it. It is requested once for an image.
func (r *resolver) fetch(ctx context.Context, digest v1.Hash) (m manifest, err error) {
	for range 2 {
		_, err, _ = r.found.flights.Do(digest.String(), func() (any, error) {
			if _, ok := r.found.get(digest); ok {
				return nil, nil
			}
			return nil, r.request(ctx, digest)
		})
		if !errors.Is(err, context.Canceled) || ctx.Err() != nil { // otherwise, the goroutine that requested it was stopped
			break
		}
	}
	m, _ = r.found.get(digest)
	return m, err
}

// request requests a manifest by digest, and parses it.
func (r *resolver) request(ctx context.Context, digest v1.Hash) error {
	return r.ask(ctx, func() error {
		raw, desc, err := r.plan.to.manifest(ctx, r.img.Repository, digest)
		exists := err == nil
		switch {
		case exists:
		case !errors.Is(err, image.ErrNotFound):
			return fmt.Errorf("target: %w", err)
		case r.img.dir != nil:
			raw, desc, err = r.img.dir.manifest(ctx, "", digest)
		default:
			raw, desc, err = r.img.repo.Manifest(ctx, digest.String())
		}
		if err == nil {
			_, err = r.parse(ctx, raw, desc, exists)
		}
		return err
	})
}

// parse parses a manifest, and adds it to the found ones. exists reports whether the target has it.
func (r *resolver) parse(ctx context.Context, raw []byte, desc v1.Descriptor, exists bool) (m manifest, err error) {
	if err := parsing.Acquire(ctx, 1); err != nil {
		return m, err
	}
	defer parsing.Release(1)
	c, err := image.ParseContents(raw, desc.MediaType)
	if err != nil {
		return m, err
	}
	if c.Manifests != nil && r.img.Platforms != nil {
		if c.Manifests, err = image.ForPlatforms(c.Manifests, r.img.Platforms); err != nil {
			return m, err
		}
	}
	m.desc = desc
	m.node = Node{Blob: Blob{desc.Digest, int64(len(raw))}, MediaType: c.MediaType, exists: exists}
	for _, b := range c.Blobs {
		m.node.Blobs = append(m.node.Blobs, Blob{b.Digest, b.Size})
	}
	seen := map[v1.Hash]bool{}
	for _, e := range c.Manifests {
		switch {
		case e.MediaType.IsLayer() || e.MediaType.IsConfig(): // buildkit's caches
			m.node.Blobs = append(m.node.Blobs, Blob{e.Digest, e.Size})
		case !seen[e.Digest]:
			seen[e.Digest] = true
			m.children = append(m.children, e.Digest)
		}
	}
	return r.found.add(m, raw, r.plan)
}

// walk returns the node of a manifest, and before it the nodes below it. Each node is returned by one call only.
func (r *resolver) walk(ctx context.Context, top manifest) ([]Node, error) {
	r.found.walk(top.node.Digest)
	var nodes []Node
	for level, depth := []manifest{top}, 0; len(level) > 0; depth++ {
		if depth > maxDepth {
			return nil, fmt.Errorf("indexes in indexes, more than %d deep", maxDepth)
		}
		var below []v1.Hash
		for _, m := range level {
			nodes = append(nodes, m.node)
			for _, child := range m.children {
				if r.found.walk(child) {
					below = append(below, child)
				}
			}
		}
		level = make([]manifest, len(below))
		g, each := errgroup.WithContext(ctx)
		for i, digest := range below {
			g.Go(func() (err error) {
				if level[i], err = r.fetch(each, digest); err != nil {
					return fmt.Errorf("%s: %w", digest, err)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
	}
	slices.Reverse(nodes)
	return nodes, nil
}
