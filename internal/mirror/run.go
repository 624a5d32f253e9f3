package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/image"
)

// maxTargetFailures is the number of consecutive failures after which the run gives up the target: it may be full or
// read-only, and each attempt would transfer an image in vain.
const maxTargetFailures = 5

// RunOptions configure a run.
type RunOptions struct {
	// Incomplete sets the tags of catalogs even if images that they name have failed.
	Incomplete bool
}

// Run copies the images that the target does not have, and then the catalogs, and returns the record of the run. An
// image that fails does not stop the others; it has a Failure in the record. The tag of a catalog is left as it is if
// an image that its bundles name has failed. If ctx ends, the record is complete, too, and the error is ctx.Err().
func (p *Plan) Run(ctx context.Context, o RunOptions) (*Record, error) {
	if err := p.to.prepare(); err != nil {
		return nil, fmt.Errorf("target %s: %w", p.to, err)
	}
	r := run{
		Plan: p, transferring: semaphore.NewWeighted(int64(p.Jobs)), transfers: map[v1.Hash]*transfer{},
		hints: map[v1.Hash]string{}, expected: map[v1.Hash]bool{},
	}
	for _, img := range r.earlier() {
		for _, b := range img.content() {
			r.hints[b.Digest] = img.Repository
		}
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.giveUp = cancel
	var images, catalogs []*Image
	var expected int64
	for _, img := range p.Images {
		if img.Catalog {
			catalogs = append(catalogs, img)
		} else {
			images = append(images, img)
		}
		for _, b := range r.addExpected(img) {
			before := expected
			expected = addSize(expected, b.Size)
			p.Progress.Expect(expected - before)
		}
	}
	p.Progress.Count(len(p.Images), "images")
	r.copyAll(working, images)
	if failed := countFailed(images); failed > 0 && !o.Incomplete {
		for _, c := range catalogs {
			c.leave(fmt.Errorf("its tag is unchanged, since %s failed", plural.Words(failed, "image", "images")))
		}
	} else {
		r.copyAll(working, catalogs)
	}
	record := &Record{Format: recordFormat, Images: p.Images}
	if registry, ok := p.to.(*Registry); ok {
		record.Target = registry.base
	}
	if dir, ok := p.to.(*Directory); ok && dir.since != nil {
		record.Since = r.since(dir)
	}
	record.follow(p.Last)
	return record, ctx.Err()
}

// leave makes a catalog fail that is not to be written, unless it has failed before. If the target has it, it keeps its
// manifests: its tag refers to them.
func (i *Image) leave(why error) {
	there := i.Manifests
	switch i.state {
	case Failed:
	case There:
		i.fail(why)
		i.Manifests = there
	default:
		i.fail(why)
	}
}

// countFailed returns the number of failed images that bundles name.
func countFailed(images []*Image) (n int) {
	for _, img := range images {
		if img.Failure != "" && img.Uses != nil {
			n++
		}
	}
	return n
}

// since returns the digests of content that is in an earlier directory instead of dir.
func (r *run) since(dir *Directory) (digests []string) {
	for _, img := range r.Images {
		for _, b := range img.content() {
			if stored, _ := dir.stored(b.Digest); !stored && dir.since.has(b.Digest) {
				digests = append(digests, b.Digest.String())
			}
		}
	}
	slices.Sort(digests)
	return slices.Compact(digests)
}

// A run is the state of [Plan.Run].
type run struct {
	*Plan
	transferring *semaphore.Weighted // has a slot for each blob
	giveUp       context.CancelCauseFunc
	failures     atomic.Int64 // number of failures of the target since its last success

	mu        sync.Mutex
	transfers map[v1.Hash]*transfer
	hints     map[v1.Hash]string // see hint
	expected  map[v1.Hash]bool
}

// A transfer is the transfer of a blob to the target. Its lock is held while the blob is copied, so that a blob that
// several images share is copied once.
type transfer struct {
	lock  *semaphore.Weighted
	repos []string // repositories that have the blob
	size  int64    // its size, once this run has read the blob; -1 before
}

// addExpected returns the missing content of an image that is not in r.expected yet, and adds it.
func (r *run) addExpected(img *Image) (blobs []Blob) {
	for _, b := range img.absent {
		if !r.expected[b.Digest] {
			blobs = append(blobs, b)
		}
		r.expected[b.Digest] = true
	}
	return blobs
}

// copyAll copies images, and records the failures in them.
func (r *run) copyAll(ctx context.Context, images []*Image) {
	parallel.Each(ctx, r.Jobs, len(images), func(ctx context.Context, i int) {
		img, start, n := images[i], time.Now(), new(atomic.Int64)
		if img.state == ToCopy {
			img.state = Copied
			if err := r.copy(ctx, img, n); err != nil {
				img.fail(err)
			}
		}
		r.Log.Info("image "+string(img.state), "image", img.Source, "to", img.Target(), "bytes", n.Load(),
			"time", time.Since(start).Round(time.Millisecond))
		r.Progress.Did(img.Source)
	})
	for _, img := range images {
		if img.state == ToCopy { // not started
			img.fail(context.Cause(ctx))
		}
	}
}

// copy copies an image: all blobs, then the manifests, and then the tag. n counts the copied bytes.
func (r *run) copy(ctx context.Context, img *Image, n *atomic.Int64) error {
	g, blobs := errgroup.WithContext(ctx)
	for _, node := range img.Manifests {
		for _, b := range node.Blobs {
			if !node.exists {
				g.Go(func() error { return r.blob(blobs, img, b, n) })
			}
		}
	}
	err := g.Wait()
	for i := range img.Manifests {
		if err == nil {
			err = r.manifest(ctx, img, &img.Manifests[i])
		}
	}
	if err == nil && img.Tag != "" && !img.tagged {
		root := img.root()
		err = r.write(ctx, func() error { return r.putAs(ctx, img, root, img.Tag) })
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// root returns the node of the image or index itself.
func (i *Image) root() *Node {
	for n := range i.Manifests {
		if i.Manifests[n].Digest.String() == i.Digest {
			return &i.Manifests[n]
		}
	}
	return nil
}

// manifest puts a manifest, and then its tags. A manifest that the target has but does not find by its subject is put
// again.
func (r *run) manifest(ctx context.Context, img *Image, n *Node) error {
	if n.exists && n.linked {
		return nil
	}
	return r.write(ctx, func() error {
		if !n.exists || n.Subject != "" {
			unlock, err := r.lock(ctx, subjectOf(n))
			if err != nil {
				return err
			}
			defer unlock()
			if err := r.putAs(ctx, img, n, n.Digest.String()); err != nil {
				if img.Platforms != nil && n.MediaType.IsIndex() {
					err = fmt.Errorf("%w (a registry may want all platforms of an index: leave out --platform)", err)
				}
				return err
			}
			r.Progress.Copied(n.Size)
		}
		for _, tag := range n.Tags {
			if err := r.putAs(ctx, img, n, tag); err != nil {
				return err
			}
		}
		return nil
	})
}

// subjectOf returns the digest to lock for a manifest: referrers of one subject are put one after the other.
func subjectOf(n *Node) v1.Hash {
	if h, err := v1.NewHash(n.Subject); err == nil {
		return h
	}
	return n.Digest
}

// putAs puts a manifest by its digest or by a tag.
func (r *run) putAs(ctx context.Context, img *Image, n *Node, id string) (err error) {
	if n.raw == nil {
		if n.raw, err = r.text(ctx, img, n); err != nil {
			return err
		}
		defer func() { n.raw = nil }()
	}
	if err := r.to.put(ctx, img.Repository, id, n); err != nil {
		return err
	}
	if id == n.Digest.String() {
		n.exists = true
	} else {
		n.linked = true
	}
	return nil
}

// text reads a manifest that is not in memory: from the directory of the image, its source or the target.
func (r *run) text(ctx context.Context, img *Image, n *Node) (raw []byte, err error) {
	switch {
	case img.dir != nil:
		if raw, _, err = img.dir.manifest(ctx, "", n.Digest); !errors.Is(err, image.ErrNotFound) {
			return raw, err
		}
	case !n.exists && img.repo != nil:
		if raw, _, err = img.repo.Manifest(ctx, n.Digest.String()); err != nil {
			return nil, &sourceError{err}
		}
		return raw, nil
	}
	raw, _, err = r.to.manifest(ctx, img.Repository, n.Digest)
	return raw, err
}

// A sourceError is an error of the source of a blob, not of the target.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

// write calls fn, which writes to the target, and gives up the target after too many failures.
func (r *run) write(ctx context.Context, fn func() error) error {
	err := fn()
	_, ofSource := errors.AsType[*sourceError](err)
	switch {
	case err == nil:
		r.failures.Store(0)
	case !ofSource && ctx.Err() == nil:
		err = fmt.Errorf("target: %w", err)
		if n := r.failures.Add(1); n == maxTargetFailures {
			r.giveUp(fmt.Errorf("not copied, since the target failed %d times in a row: %w", n, err))
		}
	}
	return err
}

// lock waits for the transfer of a digest, and returns the function that ends it.
func (r *run) lock(ctx context.Context, digest v1.Hash) (unlock func(), err error) {
	t := r.transfer(digest)
	if err := t.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { t.lock.Release(1) }, nil
}

func (r *run) transfer(digest v1.Hash) *transfer {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.transfers[digest]
	if t == nil {
		t = &transfer{lock: semaphore.NewWeighted(1), size: -1}
		r.transfers[digest] = t
	}
	return t
}

// blob copies a blob of an image. If this run has copied the blob to another repository, the registry may mount it from
// there; otherwise, that copy is read.
func (r *run) blob(ctx context.Context, img *Image, b Blob, n *atomic.Int64) error {
	unlock, err := r.lock(ctx, b.Digest)
	if err != nil {
		return err
	}
	defer unlock()
	t, from := r.transfer(b.Digest), ""
	if t.size >= 0 && t.size != b.Size {
		return fmt.Errorf("blob %s has %d bytes; its descriptor says %d", b.Digest, t.size, b.Size)
	}
	for _, repo := range t.repos {
		if from = repo; repo == img.Repository {
			return nil
		}
	}
	if err := r.transferring.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.transferring.Release(1)
	var read atomic.Bool
	open := r.open(img, b, from, n)
	opened := func(ctx context.Context) (io.ReadCloser, error) {
		read.Store(true)
		return open(ctx)
	}
	hint := cmp.Or(from, r.hint(img, b))
	err = r.write(ctx, func() error { return r.to.upload(ctx, img.Repository, b, hint, opened) })
	if err != nil {
		return fmt.Errorf("blob %s: %w", b.Digest, err)
	}
	if read.Load() {
		t.size = b.Size // checked at the end of the content
	} else if from == "" {
		r.Progress.Expect(-b.Size)
	}
	t.repos = append(t.repos, img.Repository)
	return nil
}

// open returns a function that opens a blob of an image: in the repository from of the target unless from is "", in the
// directory of the image, or else in its source.
func (r *run) open(img *Image, b Blob, from string, n *atomic.Int64) image.BlobOpener {
	open := func(ctx context.Context) (io.ReadCloser, error) { return img.repo.Blob(ctx, b.descriptor()) }
	if img.dir != nil {
		open = img.dir.blob("", b)
		if stored, err := img.dir.stored(b.Digest); err == nil && !stored {
			from = cmp.Or(from, r.hint(img, b))
		}
	}
	if from != "" {
		open = r.to.blob(from, b)
	}
	return func(ctx context.Context) (io.ReadCloser, error) {
		body, err := open(ctx)
		if err != nil {
			return nil, &sourceError{err}
		}
		return &countedBody{body, r.Progress, n}, nil
	}
}

// hint returns another repository of the mirror that has the blob from an earlier run, or "".
func (r *run) hint(img *Image, b Blob) string {
	if repo := r.hints[b.Digest]; repo != img.Repository {
		return repo
	}
	return ""
}

// earlier returns the images that the mirror had before this run.
func (r *run) earlier() (images []*Image) {
	if r.Last != nil {
		images = slices.Concat(r.Last.needed(), r.Last.Obsolete)
	}
	for _, img := range r.Images {
		if img.state == There {
			images = append(images, img)
		}
	}
	return images
}

// A countedBody counts the bytes read from a blob. Its errors are sourceErrors.
type countedBody struct {
	io.ReadCloser
	progress Progress
	n        *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.progress.Copied(int64(n))
	b.n.Add(int64(n))
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	return n, err
}
