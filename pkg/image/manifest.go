package image

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/opm-toolchain/opm/internal/plural"
)

// A manifest is an index, which has Manifests, or an image manifest, which has Config and Layers.
type manifest struct {
	SchemaVersion int             `json:"schemaVersion"`
	MediaType     types.MediaType `json:"mediaType"`
	Manifests     []v1.Descriptor `json:"manifests"`
	Config        *v1.Descriptor  `json:"config"`
	Layers        []v1.Descriptor `json:"layers"`
	FSLayers      jsontext.Value  `json:"fsLayers"` // in Docker's schema 1
}

// parseManifest parses a manifest or an index. said is its media type according to its descriptor or to the registry,
// or "".
func parseManifest(raw []byte, said types.MediaType) (*manifest, error) {
	var m manifest
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("<")) {
		return nil, errors.New("the answer is an HTML page, not a manifest: check the name, and proxies that want a login")
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("the manifest is broken: %w", err)
	}
	isIndex, isImage := m.Manifests != nil, m.Config != nil || m.Layers != nil
	switch {
	case m.FSLayers != nil || said.IsSchema1() || m.MediaType.IsSchema1():
		return nil, errors.New("the manifest is of Docker's schema 1, which is no longer supported: push the image again")
	case isIndex && isImage:
		// Clients that take it for an index and clients that take it for an image would see different images.
		return nil, errors.New("the manifest is an index and an image at once")
	case !isIndex && !isImage:
		return nil, fmt.Errorf("not an image: its media type is %q", printable(string(cmp.Or(m.MediaType, said))))
	case isImage && m.Config == nil:
		return nil, errors.New("the manifest has no config")
	}
	for _, t := range []types.MediaType{m.MediaType, said} { // schema 1 is refused above
		if isIndex && t.IsImage() || isImage && t.IsIndex() || t.IsConfig() || isLayer(t) {
			return nil, fmt.Errorf("the media type of the manifest is wrong: %q", t)
		}
	}
	return &m, m.checkDigests()
}

// checkDigests rejects descriptors without a digest. Decoding has already validated the existing digests.
func (m *manifest) checkDigests() error {
	all := slices.Concat(m.Manifests, m.Layers)
	if m.Config != nil {
		all = append(all, *m.Config)
	}
	if slices.ContainsFunc(all, func(d v1.Descriptor) bool { return d.Digest == v1.Hash{} }) {
		return errors.New("the manifest is broken: something in it has no digest")
	}
	return nil
}

// dockerZstd is buildkit's media type for zstd layers in Docker manifests.
const dockerZstd = types.DockerUncompressedLayer + ".zstd"

func isLayer(t types.MediaType) bool { return t.IsLayer() || t == dockerZstd }

// checkLayers rejects unreadable layers before any is fetched.
func (m *manifest) checkLayers(limits Limits) error {
	if n := len(m.Layers); n > limits.layers() {
		return limitError("it has %d layers; at most %d are allowed", n, limits.layers())
	}
	var total int64
	for _, l := range m.Layers {
		switch {
		case !isLayer(l.MediaType):
			return fmt.Errorf("layer %s: its media type %q is not that of a layer", l.Digest,
				printable(string(l.MediaType)))
		case l.Size < 0:
			return fmt.Errorf("layer %s: its size is %d", l.Digest, l.Size)
		case l.Size > limits.unpacked()-total:
			return limitError("the layers have more than %s", plural.Bytes(limits.unpacked()))
		}
		total += l.Size
	}
	return nil
}

// A configFile contains the fields used from the config of an image.
type configFile struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Variant      string `json:"variant"`
	Config       struct {
		Labels     map[string]string `json:"Labels"`
		Entrypoint []string          `json:"Entrypoint"`
		Cmd        []string          `json:"Cmd"`
	} `json:"config"`
	RootFS struct {
		DiffIDs []v1.Hash `json:"diff_ids"`
	} `json:"rootfs"`
}

func parseConfig(raw []byte) (*configFile, error) {
	var c configFile
	if err := json.Unmarshal(raw, &c, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("the config is broken: %w", err)
	}
	return &c, nil
}

// checkDescriptor rejects the descriptor of a manifest or config that exceeds the limit.
func checkDescriptor(desc v1.Descriptor, limits Limits) error {
	if desc.Size > limits.manifest() {
		return limitError("%s has %d bytes; at most %s are read of a manifest or config", desc.Digest, desc.Size,
			plural.Bytes(limits.manifest()))
	}
	return nil
}

// checkSize returns an error if size differs from the size in the descriptor.
func checkSize(desc v1.Descriptor, size int64) error {
	if size != desc.Size {
		return fmt.Errorf("%w: %s has %d bytes; its descriptor says %d", errDigest, desc.Digest, size, desc.Size)
	}
	return nil
}

// checkDigest returns an error if raw does not match the digest.
func checkDigest(raw []byte, want v1.Hash) error {
	v := newVerifier(want)
	v.Write(raw)
	return v.verify()
}

// A checkedReader verifies content while it is read. It fails at the end of content with a wrong digest or size, or as
// soon as the content exceeds its size.
type checkedReader struct {
	io.ReadCloser
	verifier verifier
	size     int64 // -1 if unknown
	n        int64
}

// VerifiedBlob returns a reader of a blob whose last read fails if the size or the digest is wrong. A size of -1 is
// unknown.
func VerifiedBlob(r io.ReadCloser, desc v1.Descriptor) io.ReadCloser {
	return &checkedReader{ReadCloser: r, verifier: newVerifier(desc.Digest), size: desc.Size}
}

func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.verifier.Write(p[:n])
	c.n += int64(n)
	if c.size >= 0 && c.n > c.size {
		return 0, fmt.Errorf("%w: there is more than the %d bytes that the manifest says", errDigest, c.size)
	}
	if err == io.EOF {
		if bad := c.verifier.verify(); bad != nil {
			return 0, bad
		}
		if c.size >= 0 {
			if bad := checkSize(v1.Descriptor{Digest: c.verifier.want, Size: c.size}, c.n); bad != nil {
				return 0, bad
			}
		}
	}
	return n, err
}
