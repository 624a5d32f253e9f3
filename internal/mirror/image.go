package mirror

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/opm-toolchain/opm/pkg/image"
)

// An Image is an image to mirror, with the manifests and blobs that it consists of and its signatures.
type Image struct {
	Source     string `json:"source"`             // the reference in the catalog
	Repository string `json:"repository"`         // in the mirror, below its path; "" if Source is invalid
	Tag        string `json:"tag,omitzero"`       // to set in the mirror; "" for an image by digest
	Digest     string `json:"digest,omitzero"`    // of the image or index; "" until it is known
	Catalog    bool   `json:"catalog,omitzero"`   // a filtered catalog, not an image that it names
	Uses       []Use  `json:"uses,omitempty"`     // sorted; none for catalogs and additional images
	Renamed    bool   `json:"renamed,omitzero"`   // the repository was chosen, and not derived from Source
	Failure    string `json:"failure,omitzero"`   // the reason if the image was not copied
	Manifests  []Node `json:"manifests,omitzero"` // each after the manifests it refers to, signatures last

	// Program reports whether the image of a catalog has the program that serves it. Otherwise, its CatalogSource needs
	// grpcPodConfig.extractContent.
	Program bool `json:"program,omitzero"`

	// Namespace of the CatalogSource for a catalog; "" for [DefaultNamespace].
	Namespace string `json:"namespace,omitzero"`

	// CatalogSource is the template of the CatalogSource for a catalog; see [manifests.Options].
	CatalogSource jsontext.Value `json:"catalogSource,omitzero"`

	// Platforms of an index, each os/arch or os/arch/variant; nil for those of the plan.
	Platforms []string `json:"-"`

	from   name.Reference    // parsed Source; nil for a catalog
	dir    *Directory        // the directory with the image; nil for a registry
	repo   *image.Repository // the source, once resolved; nil for a directory
	tagged bool              // the tag in the target refers to the image
	state  State

	inTarget name.Reference // in the target, where Verify looks it up; nil for others

	absent []Blob // content that the target did not have when the image was resolved
}

// A Use is a bundle that names an image.
type Use struct {
	Package string `json:"package"`
	Bundle  string `json:"bundle"`
}

func (u Use) compare(v Use) int {
	return cmp.Or(cmp.Compare(u.Package, v.Package), cmp.Compare(u.Bundle, v.Bundle))
}

// A Node is a manifest or an index of an image, or of a signature or another artifact that refers to the image.
type Node struct {
	Blob
	MediaType types.MediaType `json:"mediaType"`
	Tags      Tags            `json:"tag,omitempty"`    // of a signature, such as sha256-….sig; sorted
	Subject   string          `json:"subject,omitzero"` // the digest that a referrer refers to
	Blobs     []Blob          `json:"blobs,omitempty"`

	raw    []byte // nil if it exists, or is not kept
	exists bool   // the target has the manifest, and so its blobs
	linked bool   // the target finds the manifest by its tags and its subject
}

// attached reports whether the manifest was found by its tags or its subject, and not as a part of an index.
func (n *Node) attached() bool { return len(n.Tags) > 0 || n.Subject != "" }

// Tags are the tags of one manifest: signatures of an index and of its images may be the same manifest. In a record,
// one tag is a string and several are an array.
type Tags []string

// MarshalJSONTo encodes one tag as a string and other numbers of tags as an array.
func (t Tags) MarshalJSONTo(enc *jsontext.Encoder) error {
	if len(t) == 1 {
		return enc.WriteToken(jsontext.String(t[0]))
	}
	return json.MarshalEncode(enc, []string(t))
}

// UnmarshalJSONFrom is the inverse of MarshalJSONTo.
func (t *Tags) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return json.UnmarshalDecode(dec, (*[]string)(t))
	}
	*t = Tags{""}
	return json.UnmarshalDecode(dec, &(*t)[0])
}

// A Blob identifies a blob or a manifest by its digest. The size is in bytes.
type Blob struct {
	Digest v1.Hash `json:"digest"`
	Size   int64   `json:"size"`
}

func (b Blob) descriptor() v1.Descriptor { return v1.Descriptor{Digest: b.Digest, Size: b.Size} }

// Target returns the reference to the image in the mirror, without the path of the mirror, or "" if it has none.
func (i *Image) Target() string {
	if i.Repository == "" {
		return ""
	}
	if i.Tag != "" {
		return i.Repository + ":" + i.Tag
	}
	return i.Repository + "@" + i.Digest
}

// isComplete reports whether the target has all manifests and blobs of a resolved image, and its tag.
func (i *Image) isComplete() bool {
	missing := func(n Node) bool { return !n.exists || !n.linked }
	return (i.tagged || i.Tag == "") && !slices.ContainsFunc(i.Manifests, missing)
}

// content returns the manifests and blobs of the image, each once.
func (i *Image) content() []Blob {
	var all []Blob
	for _, n := range i.Manifests {
		all = append(append(all, n.Blob), n.Blobs...)
	}
	slices.SortFunc(all, func(a, b Blob) int { return cmp.Compare(a.Digest.Hex, b.Digest.Hex) })
	return slices.CompactFunc(all, func(a, b Blob) bool { return a.Digest == b.Digest })
}
