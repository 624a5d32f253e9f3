package store

import (
	"bytes"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A registry makes a ClusterServiceVersion out of olm.csv.metadata, so that clients that know no such property find
// what they show to users. It is that of github.com/operator-framework/api in the bytes of encoding/json, which escapes
// for HTML; only the order of fields here makes it so.
//
// Two of its fields come from the package, and are in one of three parts each: so a package's icon is stored once.
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

const (
	csvStart   = `{"kind":"ClusterServiceVersion","apiVersion":"operators.coreos.com/v1alpha1","metadata":`
	csvInstall = `,"spec":{"install":{"strategy":"deployment","spec":{"deployments":null}},"version":`
	csvCleanup = `,"cleanup":{"enabled":false}`
	csvEnd     = `},"status":{"cleanup":{}}}`
)

// appendCSV appends to a body the ClusterServiceVersion built from the metadata of b.
func (p *packer) appendCSV(dst []byte, b *declcfg.Bundle, version string, m *declcfg.CSVMetadata) []byte {
	sortValues(m)
	text := p.buffers.Get()
	defer func() { p.buffers.Put(text) }()
	text = appendJSON(append(text, csvStart...), csvObjectMeta{b.Name, m.Labels, m.Annotations})
	text = appendJSON(append(text, csvInstall...), version)
	text = appendMembers(text, csvSpecHead{
		m.Maturity, m.CRDDescriptions, m.APIServiceDefinitions, m.NativeAPIs, m.MinKubeVersion, m.DisplayName, m.Description,
	})
	if m.Description == "" {
		dst = appendField(dst, bodyText, text)
		dst = appendNumber(dst, bodyDescription, 1)
		text = text[:0]
	}
	text = appendMembers(text, csvSpecMiddle{m.Keywords, m.Maintainers, m.Provider, m.Links})
	dst = appendField(dst, bodyText, text)
	dst = appendNumber(dst, bodyIcon, 1)
	text = text[:0]
	if len(m.InstallModes) > 0 {
		text = appendJSON(append(text, `,"installModes":`...), m.InstallModes)
	}
	text = append(text, csvCleanup...)
	if len(b.RelatedImages) > 0 {
		text = appendJSON(append(text, `,"relatedImages":`...), relatedImages(b))
	}
	text = append(text, csvEnd...)
	return appendField(dst, bodyText, text)
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
