package publish

import (
	"errors"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/opm-toolchain/opm/pkg/image"
)

// An Image is a built image. It can be pushed and written until it is closed.
type Image struct {
	Artifact image.Artifact // an image, or an index of several
	Summary  Summary

	images []v1.Image
	layers []*image.Layer
}

// A Summary describes a built image.
type Summary struct {
	Digest   string         `json:"digest"`
	Size     int64          `json:"size"`              // of all manifests, configurations and layers, each once
	Packages int            `json:"packages,omitzero"` // of the catalog
	Images   []ImageSummary `json:"images"`
}

// An ImageSummary describes the image for one platform.
type ImageSummary struct {
	Platform string         `json:"platform"`
	Digest   string         `json:"digest"`
	Layers   []LayerSummary `json:"layers"` // lowest first
}

// A LayerSummary describes a layer.
type LayerSummary struct {
	Content string `json:"content"` // base, opm, catalog or store
	Digest  string `json:"digest"`
	Size    int64  `json:"size"` // compressed
}

// Close removes the temporary files of the image.
func (i *Image) Close() error {
	var errs []error
	for _, l := range i.layers {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// add adds the image for a platform. content lists the content of the layers that opts adds to the base.
func (i *Image) add(platform string, opts image.BuildOptions, content []string) error {
	img, err := image.Build(opts)
	if err != nil {
		return err
	}
	m, err := img.Manifest()
	if err != nil {
		return err
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	made := ImageSummary{Platform: platform, Digest: digest.String()}
	below := len(m.Layers) - len(content)
	for n, l := range m.Layers {
		what := "base"
		if n >= below {
			what = content[n-below]
		}
		made.Layers = append(made.Layers, LayerSummary{Content: what, Digest: l.Digest.String(), Size: l.Size})
	}
	i.images = append(i.images, img)
	i.Summary.Images = append(i.Summary.Images, made)
	return nil
}

// complete sets the artifact, and its digest and size in the summary.
func (i *Image) complete(annotations map[string]string) error {
	i.Artifact = i.images[0]
	if len(i.images) > 1 {
		index, err := newIndex(i.images, annotations)
		if err != nil {
			return err
		}
		i.Artifact = index
	}
	digest, err := i.Artifact.Digest()
	if err != nil {
		return err
	}
	i.Summary.Digest = digest.String()
	i.Summary.Size, err = i.size()
	return err
}

func newIndex(images []v1.Image, annotations map[string]string) (v1.ImageIndex, error) {
	var added []mutate.IndexAddendum
	for _, img := range images {
		config, err := img.ConfigFile()
		if err != nil {
			return nil, err
		}
		desc, err := partial.Descriptor(img)
		if err != nil {
			return nil, err
		}
		desc.Platform = config.Platform()
		added = append(added, mutate.IndexAddendum{Add: img, Descriptor: *desc})
	}
	index := mutate.AppendManifests(empty.Index, added...)
	if annotations == nil {
		return index, nil
	}
	return mutate.Annotations(index, annotations).(v1.ImageIndex), nil
}

// size returns the number of bytes that a registry stores for the image.
func (i *Image) size() (int64, error) {
	sizes := map[v1.Hash]int64{}
	size, err := i.Artifact.Size()
	if err != nil {
		return 0, err
	}
	if len(i.images) > 1 {
		sizes[v1.Hash{}] = size
	}
	for _, img := range i.images {
		m, err := img.Manifest()
		if err != nil {
			return 0, err
		}
		desc, err := partial.Descriptor(img)
		if err != nil {
			return 0, err
		}
		for _, d := range append(slices.Clip(m.Layers), m.Config, *desc) {
			sizes[d.Digest] = d.Size
		}
	}
	var total int64
	for _, size := range sizes {
		total += size
	}
	return total, nil
}
