package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/image"
)

// Verify checks whether a target has images completely, without copying: each manifest, with its content and its tags;
// each blob, with its size; and the tag of the image. An image that is not complete has a Failure. Images of a [Record]
// have the manifests to check. Those of other images, see [Sources.Expected], are found in the target, and so is what
// refers to them.
//
// The error is that of ctx.
func Verify(ctx context.Context, images []*Image, to Target, o Options) (*Plan, error) {
	p := newPlan(images, to, o)
	p.Progress.Count(len(p.Images), "images")
	parallel.Each(ctx, maxRequests, len(p.Images), func(ctx context.Context, i int) {
		img := p.Images[i]
		img.state = There
		if err := p.verify(ctx, img); err != nil && ctx.Err() == nil {
			img.fail(err)
		}
		p.Progress.Did(img.Source)
	})
	return p, ctx.Err()
}

// VerifyRecord checks the images of the record in a file; see [Record.Verify]. The record names the registry, which
// must be to unless to is "". The record of a directory is in the directory.
func VerifyRecord(ctx context.Context, file, to string, o Options) (*Plan, error) {
	record, err := ReadRecord(file)
	if err == nil && to != "" {
		err = record.CheckTarget(strings.TrimSuffix(to, "/"))
	}
	if err != nil {
		return nil, err
	}
	if record.Target != "" {
		to, err := ToRegistry(o.Opener, record.Target)
		if err != nil {
			return nil, err
		}
		return record.Verify(ctx, to, o)
	}
	if filepath.Base(file) != RecordFile {
		return nil, fmt.Errorf("it is the record of a directory: name the file %s in that directory", RecordFile)
	}
	dir, record, err := FromDirectory(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return record.Verify(ctx, dir, o)
}

// Verify checks whether a target has the images of the record; see [Verify]. Images that were not copied are failed.
func (r *Record) Verify(ctx context.Context, to Target, o Options) (*Plan, error) {
	var images []*Image
	tags := map[string]bool{}
	for _, img := range r.Images {
		if img.Failure == "" {
			tags[img.Target()] = true
		} else {
			failed := *img
			failed.Failure = "not copied: " + failed.Failure
			img = &failed
		}
		images = append(images, img)
	}
	for _, old := range r.Served {
		served := *old
		if tags[served.Target()] {
			served.Tag = "" // it refers to the newer image
		}
		images = append(images, &served)
	}
	return Verify(ctx, images, to, o)
}

// verify checks one image. The error names the damaged or missing part.
func (p *Plan) verify(ctx context.Context, img *Image) error {
	if img.Failure != "" {
		return errors.New(img.Failure)
	}
	if img.Manifests == nil {
		if err := p.resolve(ctx, img); err != nil {
			return err
		}
	}
	var missing []string
	var damaged error
	seen := map[v1.Hash]bool{}
	for i := range img.Manifests {
		n := &img.Manifests[i]
		raw, err := p.readManifest(ctx, img, n)
		switch {
		case errors.Is(err, image.ErrNotFound):
			if !p.isElsewhere(n.Digest) {
				missing = append(missing, n.Digest.String())
			}
			continue
		case err != nil:
			return err
		case int64(len(raw)) != n.Size:
			damaged = cmp.Or(damaged, wrongSize(n.Blob, int64(len(raw))))
		}
		n.exists = true
		for _, b := range n.Blobs {
			if seen[b.Digest] {
				continue
			}
			seen[b.Digest] = true
			size, err := p.size(ctx, img, b)
			switch {
			case err != nil:
				return err
			case size < 0 && !p.isElsewhere(b.Digest):
				missing = append(missing, b.Digest.String())
			case size >= 0 && size != b.Size:
				damaged = cmp.Or(damaged, wrongSize(b, size))
			}
		}
	}
	if missing != nil {
		slices.Sort(missing)
		missing = slices.Compact(missing)
		return fmt.Errorf("incomplete: %s missing: %s", plural.Words(len(missing), "digest is", "digests are"),
			plural.Some(missing))
	}
	if damaged != nil {
		return damaged
	}
	return p.checkLinks(ctx, img)
}

func wrongSize(b Blob, size int64) error {
	return fmt.Errorf("%s has %s instead of %s: it was cut off or changed", b.Digest, plural.Bytes(size),
		plural.Bytes(b.Size))
}

// readManifest reads a manifest of an image from the target.
func (p *Plan) readManifest(ctx context.Context, img *Image, n *Node) (raw []byte, err error) {
	err = p.ask(ctx, func() error {
		raw, _, err = p.to.manifest(ctx, img.Repository, n.Digest)
		return err
	})
	return raw, err
}

// size returns the size of a blob in the target, or -1 if it is missing.
func (p *Plan) size(ctx context.Context, img *Image, b Blob) (size int64, err error) {
	err = p.ask(ctx, func() error {
		size, err = p.to.size(ctx, img.Repository, b.Digest)
		return err
	})
	return size, err
}

// isElsewhere reports whether a directory leaves a digest to an earlier directory.
func (p *Plan) isElsewhere(digest v1.Hash) bool {
	d, ok := p.to.(*Directory)
	return ok && d.elsewhere[digest.String()]
}

// checkLinks checks the tag of an image, and the tags and subjects of what refers to it.
func (p *Plan) checkLinks(ctx context.Context, img *Image) error {
	if err := p.findExisting(ctx, img); err != nil {
		return err
	}
	if img.Tag != "" && !img.tagged {
		return fmt.Errorf("the tag %s is missing, or refers to another digest than %s", img.Tag, img.Digest)
	}
	for _, n := range img.Manifests {
		if n.exists && !n.linked {
			return fmt.Errorf("%s is not found as what refers to the image", n.Digest)
		}
	}
	return nil
}

// identifier returns the tag or the digest by which the image is found in its source.
func (i *Image) identifier() string {
	if i.inTarget != nil {
		return i.inTarget.Identifier()
	}
	return i.from.Identifier()
}
