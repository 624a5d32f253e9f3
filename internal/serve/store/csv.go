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

// A printer prints values as encoding/json does after decoding them into a Go type, except for the escapes of HTML.
// Most of a large catalog is olm.csv.metadata, of which only the order of keys changes: printing it without decoding
// reduces the time to build a store by a fifth.
type printer struct {
	doc  *format.Document
	dst  []byte
	fits bool // the values have the expected shape; otherwise they must be decoded
}

// absent is the index of a missing value in a printer.
const absent = 0

// fields appends the values of the fields of object i.
func (p *printer) fields(dst []int, s *skim.Shape, i int) []int {
	dst = append(dst, make([]int, len(s.Fields))...)
	for name, value := range p.doc.Members(i) {
		field, ok := s.Find(name)
		p.fits = p.fits && ok
		if field >= 0 {
			dst[field] = value
		}
	}
	return dst
}

// value prints value i, or the zero value if it is absent.
func (p *printer) value(s *skim.Shape, i int) {
	p.fits = p.fits && (i == absent || s.Allows(p.doc.Kind(i)))
	var room [16]int
	from := len(p.dst)
	switch {
	case s == nil:
		p.dst = p.doc.AppendCompact(p.dst, i)
	case s.Fields != nil:
		for k, value := range p.fields(room[:0], s, i) {
			p.member(s.Fields[k].Name, &s.Fields[k], value)
		}
		p.enclose(from, '{', '}')
	case i == absent:
		p.dst = append(p.dst, zeros[s.Kind]...)
	case s.Kind == '[':
		for element := range p.doc.Elements(i) {
			p.dst = append(p.dst, ',')
			p.value(s.Elem, element)
		}
		p.enclose(from, '[', ']')
	default: // the keys of a map are sorted
		for _, value := range p.doc.Members(i) {
			p.fits = p.fits && s.Elem.Allows(p.doc.Kind(value))
		}
		p.dst = p.doc.AppendCompact(p.dst, i)
	}
}

// zeros are the zero values of the types that are not structs.
var zeros = map[byte]string{'"': `""`, 't': "false", '[': "null", '{': "null"}

// member prints a comma and field i under this name, unless the field is omitted.
func (p *printer) member(name string, f *skim.Field, i int) {
	if f.Optional && (i == absent || f.Shape != nil && p.doc.IsEmpty(i)) {
		return
	}
	p.dst = append(append(append(p.dst, `,"`...), name...), `":`...)
	p.value(f.Shape, i)
}

// enclose puts brackets around the text from an offset on. The opening bracket replaces a comma.
func (p *printer) enclose(from int, opening, closing byte) {
	if len(p.dst) == from {
		p.dst = append(p.dst, opening)
	}
	p.dst[from] = opening
	p.dst = append(p.dst, closing)
}
