package image

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"

	"github.com/opm-toolchain/opm/internal/plural"
)

// BuildOptions are the options of Build.
type BuildOptions struct {
	// Base is the image to build on; nil means no base. Its configuration is inherited except for the fields set here,
	// and so are its platform and its files, except for those that [Image.Hide] hides.
	Base *Image
	// Labels are the labels of the image, such as LabelPackage. They are added to the labels of Base.
	Labels map[string]string
	// Annotations are the annotations of the manifest.
	Annotations map[string]string
	// Entrypoint and Cmd are the program that a container runs and its arguments; if both are nil, Base's.
	Entrypoint, Cmd []string
	// User is the user that a container runs as; "" means Base's.
	User string
	// Layers are layers from Pack, lowest first.
	Layers []*Layer
	// Contents are copied into the image, each into a layer of its own above Layers, lowest first.
	Contents []Content
	// Platform is the platform of the image, os/arch or os/arch/variant; "" means linux and the architecture of this
	// program.
	Platform string
	// Created is the time of the image and of all its files, in whole seconds; zero means the Unix epoch. For its
	// source see https://reproducible-builds.org/specs/source-date-epoch/.
	Created time.Time
	// Limits are the limits of Open. Build refuses an image that Open would refuse.
	Limits Limits
}

// maxLayers is the maximum number of layers that container runtimes can mount, because of docker's limit for
// overlayfs.
const maxLayers = 127

// Build builds an image with OCI media types. The same names, contents and options give the same digest: files are in
// lexical order, with mode 0644, in directories with mode 0755, all owned by user and group 0.
//
// The Contents are held in memory. Symbolic links and special files are errors that name the path; so are files with
// the prefix .wh., which would hide other files in an image.
func Build(o BuildOptions) (img v1.Image, err error) {
	defer func() { err = addContext("build image", err) }()
	img, err = o.configured()
	if err != nil {
		return nil, err
	}
	var added []mutate.Addendum
	add := func(l *Layer) {
		history := v1.History{Created: v1.Time{Time: buildTime(o.Created)}, CreatedBy: l.createdBy}
		added = append(added, mutate.Addendum{Layer: l, History: history, Annotations: l.annotations})
	}
	if o.Base != nil && o.Base.hidden != nil && o.Base.hidden.whiteouts != nil {
		add(o.Base.hidden.whiteouts)
	}
	for _, l := range o.Layers {
		add(l)
	}
	for _, c := range o.Contents {
		var packed bytes.Buffer
		// A bundle is built once and fetched often.
		layer, err := pack(c, &packed, gzip.BestCompression, o.Created)
		if err != nil {
			return nil, err
		}
		layer.content = bytes.NewReader(packed.Bytes())
		add(layer)
	}
	if err := o.checkLayers(img, added); err != nil {
		return nil, err
	}
	if img, err = mutate.Append(img, added...); err != nil {
		return nil, err
	}
	if o.Annotations != nil {
		img = mutate.Annotations(img, o.Annotations).(v1.Image)
	}
	// A registry would refuse a manifest or a configuration that is too large.
	size, err := img.Size()
	if err != nil {
		return nil, err
	}
	config, err := img.RawConfigFile()
	if limit := o.Limits.manifest(); err == nil && max(size, int64(len(config))) > limit {
		err = limitError("its manifest or configuration would have more than %s: shorten labels and annotations",
			plural.Bytes(limit))
	}
	return img, err
}

// checkLayers returns an error if there are too many layers, or if the added layers are too large.
func (o *BuildOptions) checkLayers(base v1.Image, added []mutate.Addendum) error {
	below, err := base.Layers()
	if err != nil {
		return err
	}
	if n := len(below) + len(added); n > maxLayers {
		return limitError("it would have %d layers, %d of them those of its base; container runtimes mount at most %d",
			n, len(below), maxLayers)
	}
	var unpacked int64
	for _, a := range added {
		unpacked += a.Layer.(*Layer).unpacked
	}
	if limit := o.Limits.unpacked(); unpacked > limit {
		return limitError("it would unpack to more than %s", plural.Bytes(limit))
	}
	return nil
}

// configured returns the base, or an empty image, with the configuration of the new image.
func (o *BuildOptions) configured() (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config := &v1.ConfigFile{RootFS: v1.RootFS{Type: "layers"}}
	platform, err := parsePlatform(o.Platform)
	if err != nil {
		return nil, err
	}
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	if o.Base != nil {
		if base, err = o.Base.asBase(); err != nil {
			return nil, fmt.Errorf("base image %s: %w", o.Base.Ref, err)
		}
		if config, err = base.ConfigFile(); err != nil {
			return nil, err
		}
		config = config.DeepCopy()
	}
	config.Created = v1.Time{Time: buildTime(o.Created)}
	for key, value := range o.Labels {
		if config.Config.Labels == nil {
			config.Config.Labels = map[string]string{}
		}
		config.Config.Labels[key] = value
	}
	if o.Entrypoint != nil || o.Cmd != nil {
		config.Config.Entrypoint, config.Config.Cmd = o.Entrypoint, o.Cmd
	}
	config.Config.User = cmp.Or(o.User, config.Config.User)
	return mutate.ConfigFile(base, config)
}

// bundlePlatform is the platform of bundle images on every build machine, because bundles contain no programs.
const bundlePlatform = "linux/amd64"

// BuildBundle builds the image of a bundle. An empty platform means linux/amd64.
func BuildBundle(labels map[string]string, platform string, manifests, metadata fs.FS) (v1.Image, error) {
	return Build(BuildOptions{
		Labels:   labels,
		Platform: cmp.Or(platform, bundlePlatform),
		Contents: []Content{
			{Source: manifests, Target: "manifests"},
			{Source: metadata, Target: "metadata"},
		},
	})
}

// buildTime returns t in UTC and whole seconds, or the Unix epoch if t is zero.
func buildTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return t.Truncate(time.Second).UTC()
}

// A baseImage presents an Image as an OCI image to build on. Its layers are fetched when they are read.
type baseImage struct {
	image    *Image
	manifest []byte
	config   []byte
}

// asBase returns the image as the base for Build, without the layers that are hidden.
func (i *Image) asBase() (v1.Image, error) {
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
	if i.hidden != nil {
		if config, err = i.hidden.edit(config); err != nil {
			return nil, err
		}
		m.Config.Digest, m.Config.Size, err = v1.SHA256(bytes.NewReader(config))
		if err != nil {
			return nil, err
		}
	}
	for n, l := range i.layers {
		if i.hidden != nil && i.hidden.layers[n] {
			continue
		}
		m.Layers = append(m.Layers, v1.Descriptor{
			MediaType: ociLayer(l.MediaType), Digest: l.Digest, Size: l.Size, Annotations: l.Annotations,
		})
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
			l.MediaType = ociLayer(l.MediaType)
			return storedBlob{l, func() (io.ReadCloser, error) { return b.image.source.blob(context.Background(), l) }}, nil
		}
	}
	return nil, fmt.Errorf("no layer has the digest %s", digest)
}

// A storedBlob is a blob in a registry or a layout, as a layer of go-containerregistry.
type storedBlob struct {
	desc v1.Descriptor
	open func() (io.ReadCloser, error)
}

func (b storedBlob) Digest() (v1.Hash, error)            { return b.desc.Digest, nil }
func (b storedBlob) Size() (int64, error)                { return b.desc.Size, nil }
func (b storedBlob) MediaType() (types.MediaType, error) { return b.desc.MediaType, nil }
func (b storedBlob) Compressed() (io.ReadCloser, error)  { return b.open() }
