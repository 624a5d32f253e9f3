package image

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A baseImage presents an Image as an OCI image to build on. Its layers are fetched when they are read.
type baseImage struct {
	image    *Image
	manifest []byte
	config   []byte
}

// asBase returns the image as the base for Build.
func (i *Image) asBase() (v1.Image, error) {
	img, err := i.readBase()
	if err != nil {
		return nil, fmt.Errorf("base image %s: %w", i.Ref, err)
	}
	return img, nil
}

func (i *Image) readBase() (v1.Image, error) {
	if i.config.Digest == (v1.Hash{}) {
		return nil, errors.New("a docker archive cannot be a base: convert it to an OCI archive, " +
			"as in skopeo copy docker-archive:FILE oci-archive:FILE")
	}
	config, err := i.source.document(context.Background(), i.config)
	if err != nil {
		return nil, err
	}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: i.config}
	m.Config.MediaType = types.OCIConfigJSON
	for _, l := range i.layers {
		m.Layers = append(m.Layers, v1.Descriptor{MediaType: ociLayer(l.MediaType), Digest: l.Digest, Size: l.Size})
	}
	manifest, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&baseImage{i, manifest, config})
}

// ociLayer returns the OCI media type of a layer.
func ociLayer(t types.MediaType) types.MediaType {
	switch t {
	case types.DockerLayer:
		return types.OCILayer
	case types.DockerUncompressedLayer:
		return types.OCIUncompressedLayer
	case dockerZstd:
		return types.OCILayerZStd
	case types.DockerForeignLayer:
		return types.OCIRestrictedLayer
	}
	return t
}

func (b *baseImage) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (b *baseImage) RawManifest() ([]byte, error)        { return b.manifest, nil }
func (b *baseImage) RawConfigFile() ([]byte, error)      { return b.config, nil }

func (b *baseImage) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	for _, l := range b.image.layers {
		if l.Digest == digest {
			return &baseLayer{b.image.source, l}, nil
		}
	}
	return nil, fmt.Errorf("no layer has the digest %s", digest)
}

// A baseLayer is a layer of a baseImage.
type baseLayer struct {
	source source
	desc   v1.Descriptor
}

func (l *baseLayer) Digest() (v1.Hash, error)            { return l.desc.Digest, nil }
func (l *baseLayer) Size() (int64, error)                { return l.desc.Size, nil }
func (l *baseLayer) MediaType() (types.MediaType, error) { return ociLayer(l.desc.MediaType), nil }
func (l *baseLayer) Compressed() (io.ReadCloser, error) {
	return l.source.blob(context.Background(), l.desc)
}
