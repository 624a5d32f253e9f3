package mirror

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/semaphore"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/image"
)

// Options configure a plan. Opener is required unless all images are in a directory.
type Options struct {
	Opener    *image.Opener // opens the sources
	Platforms []string      // of indexes, each os/arch or os/arch/variant, unless an image has its own; nil for all
	Jobs      int           // blobs and images copied at once; 0 means DefaultJobs
	Last      *Record       // of the last run; nil if there was none
	Limits    image.Limits  // of the manifests of an image

	// RetryFailed takes the images that did not fail in the last run from Last, and does not ask for them.
	RetryFailed bool

	Progress Progress     // may be nil
	Log      *slog.Logger // gets a line for each image at level Info; nil discards them
}

// DefaultJobs is the default of Options.Jobs.
const DefaultJobs = 32

// maxRequests is the maximum number of concurrent requests for manifests, signatures and referrers, and of images
// resolved at once. It equals the number of connections to a host that are kept.
const maxRequests = 64

// Progress receives the progress of a plan and its run. Calls may be concurrent.
type Progress interface {
	Count(total int, noun string) // of the items that follow
	Did(item string)
	Expect(bytes int64) // to be copied; negative for bytes that need not be copied after all
	Copied(bytes int64)
}

// A Plan is a set of images and the state of each in the target.
type Plan struct {
	Options
	Images []*Image // sorted: images by target, then catalogs

	to     Target
	asking *semaphore.Weighted // has a slot for each request
	kept   atomic.Int64        // bytes of manifests in memory; see maxKeptAll
}

// NewPlan resolves images: it finds their manifests and signatures, and the ones that the target already has. An image
// that cannot be resolved has a Failure. It is an error if a tag in the target would refer to two things, such as two
// images or an image and a signature, or if the target cannot be written.
func NewPlan(ctx context.Context, images []*Image, to Target, o Options) (*Plan, error) {
	p := newPlan(images, to, o)
	if err := checkNames(p.Images); err != nil {
		return nil, err
	}
	if n := len(p.Images); n > 0 && p.Images[n-1].Repository != "" { // images without a repository are the first
		if err := to.check(ctx, p.Images[n-1].Repository); err != nil {
			return nil, fmt.Errorf("target %s: %w", to, err)
		}
	}
	p.Progress.Count(len(p.Images), "images")
	parallel.Each(ctx, maxRequests, len(p.Images), func(ctx context.Context, i int) {
		img := p.Images[i]
		if img.Failure == "" && !p.isDone(img) {
			if err := p.resolve(ctx, img); err != nil && ctx.Err() == nil {
				img.fail(err)
			}
		}
		p.Progress.Did(img.Source)
	})
	if err := cmp.Or(ctx.Err(), checkNames(p.Images)); err != nil {
		return nil, err
	}
	for _, img := range p.Images {
		if img.state = img.plannedState(); img.state == ToCopy {
			img.absent = img.missing()
		}
	}
	return p, nil
}

// newPlan returns the plan of images that are not resolved yet.
func newPlan(images []*Image, to Target, o Options) *Plan {
	for _, img := range images {
		if img.Platforms == nil {
			img.Platforms = o.Platforms
		}
	}
	p := &Plan{Options: o, Images: merge(images), to: to, asking: semaphore.NewWeighted(maxRequests)}
	p.Jobs = cmp.Or(p.Jobs, DefaultJobs)
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	if p.Progress == nil {
		p.Progress = noProgress{}
	}
	return p
}

// isDone reports whether an image is taken from the record of the last run.
func (p *Plan) isDone(img *Image) bool {
	if !p.RetryFailed || p.Last == nil || img.Catalog {
		return false
	}
	i := slices.IndexFunc(p.Last.Images, func(old *Image) bool {
		return old.Source == img.Source && old.Repository == img.Repository && old.Tag == img.Tag && old.Failure == ""
	})
	if i < 0 {
		return false
	}
	old := p.Last.Images[i]
	img.Digest, img.Manifests, img.tagged = old.Digest, slices.Clone(old.Manifests), true
	for n := range img.Manifests {
		img.Manifests[n].exists, img.Manifests[n].linked = true, true
	}
	return true
}

// merge returns the images sorted, without duplicates. The uses of duplicates are merged.
func merge(images []*Image) []*Image {
	slices.SortStableFunc(images, func(a, b *Image) int {
		switch {
		case a.Catalog == b.Catalog:
			return cmp.Or(cmp.Compare(a.Target(), b.Target()), cmp.Compare(a.name(), b.name()))
		case a.Catalog:
			return 1
		}
		return -1
	})
	var merged []*Image
	for _, img := range images {
		if n := len(merged); n > 0 && merged[n-1].isSame(img) {
			merged[n-1].Uses = append(merged[n-1].Uses, img.Uses...)
			merged[n-1].addPlatforms(img.Platforms)
			continue
		}
		merged = append(merged, img)
	}
	for _, img := range merged {
		slices.SortFunc(img.Uses, Use.compare)
		img.Uses = slices.Compact(img.Uses)
	}
	return merged
}

// addPlatforms adds platforms, of which nil means all.
func (i *Image) addPlatforms(more []string) {
	if i.Platforms == nil || more == nil {
		i.Platforms = nil
		return
	}
	all := slices.Sorted(slices.Values(slices.Concat(i.Platforms, more)))
	i.Platforms = slices.Compact(all)
}

// isSame reports whether i and other are the same image at the same place in the mirror.
func (i *Image) isSame(other *Image) bool {
	return i.Catalog == other.Catalog && i.name() == other.name() && i.Target() == other.Target()
}

// name returns the full name of the source, such as docker.io/library/busybox for busybox.
func (i *Image) name() string {
	if i.from == nil {
		return i.Source
	}
	return i.from.Name()
}

// ask calls fn, which sends one request, when fewer than the maximum number of requests are running.
func (p *Plan) ask(ctx context.Context, fn func() error) error {
	if err := p.asking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer p.asking.Release(1)
	return fn()
}

func (i *Image) fail(err error) { i.Failure, i.Manifests, i.state = err.Error(), nil, Failed }

func (i *Image) plannedState() State {
	switch {
	case i.Failure != "":
		return Failed
	case i.isComplete():
		return There
	}
	return ToCopy
}

type noProgress struct{}

func (noProgress) Count(int, string) {}
func (noProgress) Did(string)        {}
func (noProgress) Expect(int64)      {}
func (noProgress) Copied(int64)      {}

// missing returns the content of the image that the target does not have, each blob once.
func (i *Image) missing() []Blob {
	absent := map[v1.Hash]bool{}
	for _, n := range i.Manifests {
		if !n.exists {
			absent[n.Digest] = true
			for _, b := range n.Blobs {
				absent[b.Digest] = true
			}
		}
	}
	return slices.DeleteFunc(i.content(), func(b Blob) bool { return !absent[b.Digest] })
}
