package declcfg

import (
	"encoding/base64"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
)

// A Format is an encoding of a catalog.
type Format string

// The formats, with their names on the command line.
const (
	JSON Format = "json" // concatenated objects, indented by four spaces, with their keys in the order of the Go types
	YAML Format = "yaml" // documents that begin with ---, all keys sorted
)

// Append appends the encoding of a *[Package], *[Channel], *[Bundle] or *[Deprecations], byte for byte as upstream
// writes it, or of one *[Entry] or *[Deprecation] in such an object.
func (f Format) Append(dst []byte, object any) []byte {
	d := format.New()
	defer d.Release()
	return f.appendObject(dst, object, d)
}

// appendObject appends the encoding of v, or of the object in d if v is nil, byte for byte as upstream writes it.
func (f Format) appendObject(dst []byte, v any, d *format.Document) []byte {
	e := encoder{d}
	switch v := v.(type) {
	case nil:
	case *Package:
		e.pkg(v)
	case *Channel:
		e.channel(v)
	case *Bundle:
		e.bundle(v)
	case *Deprecations:
		e.deprecations(v)
	case *Entry:
		e.entry(v)
	case *Deprecation:
		e.deprecation(v)
	default:
		panic(fmt.Sprintf("declcfg: no object of the format: %T", v))
	}
	if f != YAML {
		return append(d.AppendJSON(dst), '\n')
	}
	dst = d.AppendYAML(append(dst, "---\n"...))
	if dst[len(dst)-1] != '\n' {
		dst = append(dst, "#\n"...) // U+2028 ends the text block, but only LF makes the next --- a separator
	}
	return dst
}

// An encoder builds the objects that the format defines, with their keys in the order of upstream, then unknown keys.
type encoder struct{ *format.Document }

func (e encoder) pkg(p *Package) {
	e.OpenObject()
	e.text("schema", p.Schema)
	e.text("name", p.Name)
	e.text("defaultChannel", p.DefaultChannel)
	if p.Icon != nil {
		e.String("icon")
		e.icon(p.Icon)
	}
	e.textIf("description", p.Description)
	e.properties(p.Properties)
	e.close(p.Unknown)
}

func (e encoder) icon(i *Icon) {
	e.OpenObject()
	e.String("base64data")
	if i.Data == nil {
		e.Null()
	} else {
		e.String(base64.StdEncoding.EncodeToString(i.Data))
	}
	e.text("mediatype", i.MediaType)
	e.close(i.Unknown)
}

func (e encoder) channel(c *Channel) {
	e.OpenObject()
	e.text("schema", c.Schema)
	e.text("name", c.Name)
	e.text("package", c.Package)
	e.String("entries")
	encodeList(e, c.Entries, encoder.entry)
	e.properties(c.Properties)
	e.close(c.Unknown)
}

func (e encoder) entry(n *Entry) {
	e.OpenObject()
	e.text("name", n.Name)
	e.textIf("replaces", n.Replaces)
	if len(n.Skips) > 0 {
		e.String("skips")
		encodeList(e, n.Skips, func(e encoder, s *string) { e.String(*s) })
	}
	e.textIf("skipRange", n.SkipRange)
	e.close(n.Unknown)
}

func (e encoder) bundle(b *Bundle) {
	e.OpenObject()
	e.text("schema", b.Schema)
	e.textIf("name", b.Name)
	e.textIf("package", b.Package)
	e.text("image", b.Image)
	e.properties(b.Properties)
	if len(b.RelatedImages) > 0 {
		e.String("relatedImages")
		encodeList(e, b.RelatedImages, encoder.relatedImage)
	}
	e.close(b.Unknown)
}

func (e encoder) properties(list []Property) {
	if len(list) > 0 {
		e.String("properties")
		encodeList(e, list, encoder.property)
	}
}

func (e encoder) property(p *Property) {
	e.OpenObject()
	e.text("type", p.Type)
	e.String("value")
	e.Value(p.Value, p.Ordered)
	e.close(p.Unknown)
}

func (e encoder) relatedImage(i *RelatedImage) {
	e.OpenObject()
	e.text("name", i.Name)
	e.text("image", i.Image)
	e.close(i.Unknown)
}

func (e encoder) deprecations(d *Deprecations) {
	e.OpenObject()
	e.text("schema", d.Schema)
	e.text("package", d.Package)
	e.String("entries")
	encodeList(e, d.Entries, encoder.deprecation)
	e.close(d.Unknown)
}

func (e encoder) deprecation(d *Deprecation) {
	e.OpenObject()
	e.String("reference")
	e.OpenObject()
	e.text("schema", d.Reference.Schema)
	e.textIf("name", d.Reference.Name)
	e.close(d.Reference.Unknown)
	e.text("message", d.Message)
	e.close(d.Unknown)
}

// encodeList adds a list; a nil list is null.
func encodeList[T any](e encoder, list []T, item func(encoder, *T)) {
	if list == nil {
		e.Null()
		return
	}
	e.OpenList()
	for i := range list {
		item(e, &list[i])
	}
	e.Close()
}

func (e encoder) text(key, s string) {
	e.String(key)
	e.String(s)
}

func (e encoder) textIf(key, s string) {
	if s != "" {
		e.text(key, s)
	}
}

// close adds the members of the object unknown, and ends the current object.
func (e encoder) close(unknown jsontext.Value) {
	if unknown != nil {
		e.AddMembers(unknown)
	}
	e.Close()
}
