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

	images []mutate.IndexAddendum // one per platform
	sizes  map[v1.Hash]int64      // sizes of the manifests, configurations and layers, by digest
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
	m, manifestErr := img.Manifest()
	config, configErr := img.ConfigFile()
	desc, descErr := partial.Descriptor(img)
	if err := errors.Join(manifestErr, configErr, descErr); err != nil {
		return err
	}
	for _, d := range append(slices.Clip(m.Layers), m.Config, *desc) {
		i.sizes[d.Digest] = d.Size
	}
	made := ImageSummary{Platform: platform, Digest: desc.Digest.String()}
	below := len(m.Layers) - len(content)
	for n, l := range m.Layers {
		what := "base"
		if n >= below {
			what = content[n-below]
		}
		made.Layers = append(made.Layers, LayerSummary{Content: what, Digest: l.Digest.String(), Size: l.Size})
	}
	desc.Platform = config.Platform()
	i.images = append(i.images, mutate.IndexAddendum{Add: img, Descriptor: *desc})
	i.Summary.Images = append(i.Summary.Images, made)
	return nil
}

// complete sets the artifact, and its digest and size in the summary.
func (i *Image) complete(annotations map[string]string) error {
	i.Artifact = i.images[0].Add.(v1.Image)
	if len(i.images) > 1 {
		index := mutate.AppendManifests(empty.Index, i.images...)
		if annotations != nil {
			index = mutate.Annotations(index, annotations).(v1.ImageIndex)
		}
		i.Artifact = index
	}
	digest, digestErr := i.Artifact.Digest()
	size, sizeErr := i.Artifact.Size()
	i.sizes[digest], i.Summary.Digest = size, digest.String()
	for _, size := range i.sizes {
		i.Summary.Size += size
	}
	return errors.Join(digestErr, sizeErr)
}
