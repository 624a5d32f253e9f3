package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// openImage opens an image in a registry or an OCI layout, or an image of an archive with several images.
func (o *openedRef) openImage(ctx context.Context) error {
	images, err := o.Images()
	if err != nil {
		return err
	}
	locked, isLocked := o.Lock.find(o.ref)
	ref := o.ref
	if isLocked {
		ref = locked.Pinned()
	}
	if images.Multiplexes(ref) {
		o.endTurn()
	}
	img, err := images.Open(ctx, ref)
	switch {
	case isLocked && errors.Is(err, image.ErrNotFound):
		return o.reuse(ctx, locked, err)
	case err != nil:
		return err
	}
	return o.readImage(ctx, img)
}

// readImage adds the objects of the image.
func (o *openedRef) readImage(ctx context.Context, img *image.Image) error {
	o.onClose(img.Close)
	if img.Pinned != "" {
		o.locked = &Locked{Reference: o.ref, Digest: img.RefDigest}
	}
	kind, dir, err := img.Kind()
	switch {
	case err != nil:
		return err
	case kind == image.Catalog && o.BundleImages:
		return fmt.Errorf("open bundle %q: the image is a catalog, not a bundle", o.ref)
	case kind == image.Catalog:
		if err := o.takeTurn(ctx); err != nil { // decompressing layers takes memory
			return err
		}
		fsys, err := img.Files(ctx, dir)
		if err != nil {
			return err
		}
		o.addSource(declcfg.Source{Name: o.ref, FS: fsys})
		return nil
	case o.Bundles == nil:
		return &BundleError{o.ref, "a bundle image"}
	}
	ref := ""
	if img.Pinned != "" { // a cluster can pull it by this reference
		ref = o.ref
	}
	if err := img.Download(ctx); err != nil {
		return err
	}
	o.endTurn()
	return o.onCPU(ctx, func() error {
		fsys, err := img.Files(ctx, "/", "manifests", "metadata")
		if err != nil {
			return err
		}
		return errors.Join(o.parseBundle(fsys, ref), img.Close()) // close now, to have few open images
	})
}
