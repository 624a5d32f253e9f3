package store

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A registry makes a ClusterServiceVersion out of olm.csv.metadata, so that clients that know no such property find
// what they show to users. It is that of github.com/operator-framework/api in the bytes of encoding/json, which escapes
// for HTML; only the order of fields here makes it so.
//
// Two of its fields come from the package, and stand in one of three parts each: so a package's icon is stored once.
type (
	csvObjectMeta struct {
		Name        string            `json:"name"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}

	// csvSpecHead is the part of the spec between version and description.
	csvSpecHead struct {
		Maturity       string                        `json:"maturity,omitempty"`
		CRDs           declcfg.CRDDescriptions       `json:"customresourcedefinitions"`
		APIServices    declcfg.APIServiceDefinitions `json:"apiservicedefinitions"`
		NativeAPIs     []declcfg.GroupVersionKind    `json:"nativeAPIs,omitempty"`
		MinKubeVersion string                        `json:"minKubeVersion,omitempty"`
		DisplayName    string                        `json:"displayName"`
		Description    string                        `json:"description,omitempty"` // its own
	}

	// csvSpecMiddle is the part between description and icon.
	csvSpecMiddle struct {
		Keywords    []string             `json:"keywords,omitempty"`
		Maintainers []declcfg.Maintainer `json:"maintainers,omitempty"`
		Provider    declcfg.AppLink      `json:"provider"`
		Links       []declcfg.AppLink    `json:"links,omitempty"`
	}

	relatedImage struct {
		Name  string `json:"name"`
		Image string `json:"image"`
	}
	csvIcon struct {
		Data      []byte `json:"base64data"`
		MediaType string `json:"mediatype"`
	}
)

// csvOptions make encoding write what encoding/json writes.
var csvOptions = jsonv1.DefaultOptionsV1()

// appendJSON appends v, which can be encoded.
func appendJSON(dst []byte, v any) []byte {
	b := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(b, v, csvOptions); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// appendMembers appends the members of v, a struct that has some, each with a comma before it.
func appendMembers(dst []byte, v any) []byte {
	from := len(dst)
	dst = appendJSON(dst, v)
	dst[from] = ','
	return dst[:len(dst)-1]
}

// A csvMember is a member of a ClusterServiceVersion that is one of the metadata too.
type csvMember struct {
	shapeField     // as in the ClusterServiceVersion
	from       int // the place of its value among the fields of metadataShape
}

// newCSVMember returns a member called out, where in is what the metadata calls it.
func newCSVMember(out, in string) csvMember {
	i := slices.IndexFunc(metadataShape.fields, func(f shapeField) bool { return f.name == in })
	m := csvMember{metadataShape.fields[i], i}
	m.name = out
	m.omit = m.omit && out != "displayName"
	return m
}

func csvMembers(names ...string) []csvMember {
	var all []csvMember
	for _, name := range names {
		out, in, ok := strings.Cut(name, "=")
		if !ok {
			in = out
		}
		all = append(all, newCSVMember(out, in))
	}
	return all
}

// The members of the metadata, and of the three parts of the spec.
var (
	csvMetadataMembers = csvMembers("labels", "annotations")
	csvHeadMembers     = csvMembers("maturity", "customresourcedefinitions=crdDescriptions",
		"apiservicedefinitions=apiServiceDefinitions", "nativeAPIs", "minKubeVersion", "displayName", "description")
	csvMiddleMembers = csvMembers("keywords", "maintainers", "provider", "links")
	csvTailMembers   = csvMembers("installModes")
	csvDescription   = csvHeadMembers[len(csvHeadMembers)-1]
)

const (
	csvStart   = `{"kind":"ClusterServiceVersion","apiVersion":"operators.coreos.com/v1alpha1","metadata":`
	csvInstall = `,"spec":{"install":{"strategy":"deployment","spec":{"deployments":null}},"version":`
	csvCleanup = `,"cleanup":{"enabled":false}`
	csvEnd     = `},"status":{"cleanup":{}}}`
)

// appendCSV appends to a body the ClusterServiceVersion that stands for metadata of b, which is valid JSON. It returns
// false where the metadata has to be decoded.
func (p *packer) appendCSV(dst []byte, b *declcfg.Bundle, version string, metadata jsontext.Value) ([]byte, bool) {
	t := newTranscoder(metadata)
	defer t.recycle()
	var room [16]int
	members := t.members(0, metadataShape, room[:])
	text := p.buffers.Get()
	defer func() { p.buffers.Put(text) }()
	appendAll := func(list []csvMember) {
		for _, m := range list {
			text = t.member(text, m.shapeField, members[m.from], true)
		}
	}
	text = append(text, csvStart+`{"name":`...)
	text = appendText(text, b.Name)
	appendAll(csvMetadataMembers)
	text = append(text, `}`+csvInstall...)
	text = appendText(text, version)
	appendAll(csvHeadMembers)
	from := len(dst)
	if n := members[csvDescription.from]; n == 0 || t.isEmpty(n, csvDescription.shape) {
		dst = appendField(dst, bodyText, text)
		dst = appendMark(dst, bodyDescription)
		text = text[:0]
	}
	appendAll(csvMiddleMembers)
	dst = appendField(dst, bodyText, text)
	dst = appendMark(dst, bodyIcon)
	text = text[:0]
	appendAll(csvTailMembers)
	text = appendCSVEnd(text, b)
	if t.odd {
		return dst[:from], false
	}
	return appendField(dst, bodyText, text), true
}

func appendCSVEnd(dst []byte, b *declcfg.Bundle) []byte {
	dst = append(dst, csvCleanup...)
	if len(b.RelatedImages) > 0 {
		dst = appendJSON(append(dst, `,"relatedImages":`...), relatedImages(b))
	}
	return append(dst, csvEnd...)
}

// appendDecodedCSV is appendCSV for metadata that was decoded.
func appendDecodedCSV(dst []byte, b *declcfg.Bundle, version string, m *declcfg.CSVMetadata) []byte {
	sortValues(m)
	var text []byte
	text = appendJSON([]byte(csvStart), csvObjectMeta{b.Name, m.Labels, m.Annotations})
	text = appendJSON(append(text, csvInstall...), version)
	text = appendMembers(text, csvSpecHead{
		m.Maturity, m.CRDDescriptions, m.APIServiceDefinitions, m.NativeAPIs, m.MinKubeVersion, m.DisplayName, m.Description,
	})
	if m.Description == "" {
		dst = appendField(dst, bodyText, text)
		dst = appendMark(dst, bodyDescription)
		text = text[:0]
	}
	text = appendMembers(text, csvSpecMiddle{m.Keywords, m.Maintainers, m.Provider, m.Links})
	dst = appendField(dst, bodyText, text)
	dst = appendMark(dst, bodyIcon)
	text = text[:0]
	if len(m.InstallModes) > 0 {
		text = appendJSON([]byte(`,"installModes":`), m.InstallModes)
	}
	return appendField(dst, bodyText, appendCSVEnd(text, b))
}

func appendMark(dst []byte, number protowire.Number) []byte {
	dst = protowire.AppendTag(dst, number, protowire.VarintType)
	return protowire.AppendVarint(dst, 1)
}

func relatedImages(b *declcfg.Bundle) []relatedImage {
	var all []relatedImage
	for _, i := range b.RelatedImages {
		all = append(all, relatedImage{i.Name, i.Image})
	}
	return all
}

// descriptionMember returns the part of the spec that has the description of a package, nil where it has none.
func descriptionMember(p *declcfg.Package) []byte {
	if p.Description == "" {
		return nil
	}
	return appendJSON([]byte(`,"description":`), p.Description)
}

// iconMember returns the part of the spec that has the icon of a package, nil where it has none.
func iconMember(p *declcfg.Package) []byte {
	if p.Icon == nil {
		return nil
	}
	data := p.Icon.Data
	if data == nil {
		data = []byte{} // a text in a ClusterServiceVersion, which is never null
	}
	return append(appendJSON([]byte(`,"icon":[`), csvIcon{data, p.Icon.MediaType}), ']')
}

// sortValues brings the free values in m into the form that upstream has them in after reading a catalog.
func sortValues(m *declcfg.CSVMetadata) {
	for _, list := range [][]declcfg.CRDDescription{m.CRDDescriptions.Owned, m.CRDDescriptions.Required} {
		for i := range list {
			sortDescriptors(list[i].StatusDescriptors, list[i].SpecDescriptors, list[i].ActionDescriptors)
		}
	}
	apis := m.APIServiceDefinitions
	for _, list := range [][]declcfg.APIServiceDescription{apis.Owned, apis.Required} {
		for i := range list {
			sortDescriptors(list[i].StatusDescriptors, list[i].SpecDescriptors, list[i].ActionDescriptors)
		}
	}
}

func sortDescriptors(lists ...[]declcfg.Descriptor) {
	for _, list := range lists {
		for i := range list {
			if v := list[i].Value; v != nil {
				list[i].Value = format.AppendCompact(nil, v)
			}
		}
	}
}

// placeInValue returns the way from the value of a property to what is wrong with it, and what that is.
func placeInValue(err error) (jsontext.Pointer, error) {
	if v, ok := errors.AsType[*declcfg.ValueError](err); ok {
		return v.Pointer, v.Err
	}
	return "", err
}
