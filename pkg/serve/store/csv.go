package store

import (
	"bytes"
	"cmp"
	"reflect"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A registry builds a ClusterServiceVersion from olm.csv.metadata, so that clients that do not know this property find
// the texts to show to users. The result equals, byte for byte, the output of encoding/json with HTML escapes for the
// type of github.com/operator-framework/api; the order of the fields here must be the order of that type.
//
// The description and the icon come from the package. They are stored between three parts of the text, so the icon of a
// package is stored once.
type (
	relatedImage struct {
		Name  string `json:"name"`
		Image string `json:"image"`
	}
	csvIcon struct {
		Data      []byte `json:"base64data"`
		MediaType string `json:"mediatype"`
	}
)

// csvOptions make the encoder produce the bytes of encoding/json.
var csvOptions = jsonv1.DefaultOptionsV1()

// appendJSON appends v, which must be encodable.
func appendJSON(dst []byte, v any) []byte {
	return append(dst, must(json.Marshal(v, csvOptions))...) // a bytes.Buffer would double the capacity of dst
}

var metadataShape = skim.ShapeOf(reflect.TypeFor[declcfg.CSVMetadata]())

// csvNames maps the fields of olm.csv.metadata whose names differ in a ClusterServiceVersion.
var csvNames = map[string]string{
	"crdDescriptions": "customresourcedefinitions", "apiServiceDefinitions": "apiservicedefinitions",
}

// A csvMetadata is the value of olm.csv.metadata, split into parts of a ClusterServiceVersion.
type csvMetadata struct {
	text    bytes.Buffer
	members []span // of text, by the fields of metadataShape
}

type span struct{ start, end int }

// newCSVMetadata returns the metadata in p. Its text uses memory of the packer.
func newCSVMetadata(packer *packer, p *declcfg.Property) (*csvMetadata, error) {
	m := &csvMetadata{*bytes.NewBuffer(packer.buffers.Get()), nil}
	if m.print(packer, p.Value) {
		return m, nil
	}
	var decoded declcfg.CSVMetadata
	if err := p.Unmarshal(&decoded); err != nil {
		return nil, err
	}
	m.print(packer, appendJSON(nil, decoded)) // which has the canonical form
	return m, nil
}

// print prints all members. It reports false if the value must be decoded first.
func (m *csvMetadata) print(packer *packer, value []byte) (fits bool) {
	p := printer{doc: format.Parse(value), dst: packer.buffers.Get()}
	defer p.doc.Release()
	p.fits = metadataShape.Allows(p.doc.Kind(0))
	m.text.Reset()
	m.members = nil
	for k, i := range p.fields(nil, metadataShape, 0) {
		field := metadataShape.Fields[k]
		field.Optional = field.Optional && field.Name != "displayName" // which is always present
		start := m.text.Len()
		p.member(cmp.Or(csvNames[field.Name], field.Name), &field, i)
		jsonv1.HTMLEscape(&m.text, p.dst)
		p.dst = p.dst[:0]
		m.members = append(m.members, span{start, m.text.Len()})
	}
	packer.buffers.Put(p.dst)
	return p.fits
}

// append appends the members with these names to the parts of a text.
func (m *csvMetadata) append(parts [][]byte, names ...string) [][]byte {
	for _, name := range names {
		parts = append(parts, m.member(name))
	}
	return parts
}

// member returns a member, or nil if the metadata does not have it.
func (m *csvMetadata) member(name string) []byte {
	i, _ := metadataShape.Find([]byte(name))
	return m.text.Bytes()[m.members[i].start:m.members[i].end]
}

const (
	csvStart   = `{"kind":"ClusterServiceVersion","apiVersion":"operators.coreos.com/v1alpha1","metadata":{"name":`
	csvInstall = `},"spec":{"install":{"strategy":"deployment","spec":{"deployments":null}},"version":`
	csvCleanup = `,"cleanup":{"enabled":false}`
	csvEnd     = `},"status":{"cleanup":{}}}`
)

// appendCSV appends to a body the ClusterServiceVersion built from the metadata of b.
func appendCSV(dst []byte, b *declcfg.Bundle, version string, m *csvMetadata) []byte {
	var room [16][]byte
	text := append(room[:0], appendJSON([]byte(csvStart), b.Name))
	text = m.append(text, "labels", "annotations")
	text = append(text, appendJSON([]byte(csvInstall), version))
	text = m.append(text, "maturity", "crdDescriptions", "apiServiceDefinitions", "nativeAPIs", "minKubeVersion",
		"displayName", "description")
	if len(m.member("description")) == 0 {
		dst = appendField(dst, bodyText, text...)
		dst = appendNumber(dst, bodyDescription, 1)
		text = text[:0]
	}
	text = m.append(text, "keywords", "maintainers", "provider", "links")
	dst = appendField(dst, bodyText, text...)
	dst = appendNumber(dst, bodyIcon, 1)
	end := []byte(csvCleanup)
	if len(b.RelatedImages) > 0 {
		var images []relatedImage
		for _, i := range b.RelatedImages {
			images = append(images, relatedImage{i.Name, i.Image})
		}
		end = appendJSON(append(end, `,"relatedImages":`...), images)
	}
	return appendField(dst, bodyText, m.member("installModes"), append(end, csvEnd...))
}

// descriptionMember returns the description of a package as a member of the spec, nil for no description.
func descriptionMember(p *declcfg.Package) []byte {
	if p.Description == "" {
		return nil
	}
	return appendJSON([]byte(`,"description":`), p.Description)
}

// iconMember returns the icon of a package as a member of the spec, nil for no icon.
func iconMember(p *declcfg.Package) []byte {
	if p.Icon == nil {
		return nil
	}
	data := p.Icon.Data
	if data == nil {
		data = []byte{} // a string in a ClusterServiceVersion, never null
	}
	return append(appendJSON([]byte(`,"icon":[`), csvIcon{data, p.Icon.MediaType}), ']')
}
