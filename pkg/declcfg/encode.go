package declcfg

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
)

// A Format is a way to write a catalog.
type Format string

// The formats, as they are called on the command line.
const (
	JSON Format = "json" // objects one after another, indented by four spaces, keys of the format in its own order
	YAML Format = "yaml" // documents that begin with ---, all keys sorted
)

// Append appends an object of the format, a *[Package], *[Channel], *[Bundle] or *[Deprecations], in the bytes that
// upstream writes.
func (f Format) Append(dst []byte, object any) []byte { return f.appendObject(dst, object, nil) }

// appendObject appends one object, decoded as v or raw where v is nil, in the bytes that upstream writes.
func (f Format) appendObject(dst []byte, v any, raw jsontext.Value) []byte {
	if f == YAML {
		dst = append(dst, "---\n"...)
		if v != nil {
			e := encoder{compact: true}
			e.object(v)
			raw = e.dst
		}
		dst = format.AppendYAML(dst, raw)
		if dst[len(dst)-1] != '\n' {
			dst = append(dst, "#\n"...) // U+2028 ends the text block, but only LF makes the next --- a separator
		}
		return dst
	}
	if v == nil {
		return append(format.AppendJSON(dst, raw, 0), '\n')
	}
	e := encoder{dst: dst}
	e.object(v)
	return append(e.dst, '\n')
}

const indent = "    "

// An encoder writes the objects that the format defines, their keys in the order of upstream and unknown ones after
// them. Compact, it leaves values as they are, for a second step to print.
type encoder struct {
	dst     []byte
	depth   int
	empty   bool // nothing was written into the innermost object or list
	compact bool
}

func (e *encoder) object(v any) {
	switch v := v.(type) {
	case *Package:
		e.pkg(v)
	case *Channel:
		e.channel(v)
	case *Bundle:
		e.bundle(v)
	case *Deprecations:
		e.deprecations(v)
	default:
		panic(fmt.Sprintf("declcfg: no object of the format: %T", v))
	}
}

func (e *encoder) pkg(p *Package) {
	e.open('{')
	e.text("schema", p.Schema)
	e.text("name", p.Name)
	e.text("defaultChannel", p.DefaultChannel)
	if p.Icon != nil {
		e.key("icon")
		e.icon(p.Icon)
	}
	e.textIf("description", p.Description)
	e.properties(p.Properties)
	e.close('}', p.Unknown)
}

func (e *encoder) icon(i *Icon) {
	e.open('{')
	e.key("base64data")
	if i.Data == nil {
		e.dst = append(e.dst, "null"...)
	} else {
		e.dst = append(e.dst, '"')
		e.dst = base64.StdEncoding.AppendEncode(e.dst, i.Data)
		e.dst = append(e.dst, '"')
	}
	e.text("mediatype", i.MediaType)
	e.close('}', i.Unknown)
}

func (e *encoder) channel(c *Channel) {
	e.open('{')
	e.text("schema", c.Schema)
	e.text("name", c.Name)
	e.text("package", c.Package)
	e.key("entries")
	encodeList(e, c.Entries, (*encoder).entry)
	e.properties(c.Properties)
	e.close('}', c.Unknown)
}

func (e *encoder) entry(n *Entry) {
	e.open('{')
	e.text("name", n.Name)
	e.textIf("replaces", n.Replaces)
	if len(n.Skips) > 0 {
		e.key("skips")
		encodeList(e, n.Skips, func(e *encoder, s *string) { e.dst = format.AppendString(e.dst, *s) })
	}
	e.textIf("skipRange", n.SkipRange)
	e.close('}', n.Unknown)
}

func (e *encoder) bundle(b *Bundle) {
	e.open('{')
	e.text("schema", b.Schema)
	e.textIf("name", b.Name)
	e.textIf("package", b.Package)
	e.text("image", b.Image)
	e.properties(b.Properties)
	if len(b.RelatedImages) > 0 {
		e.key("relatedImages")
		encodeList(e, b.RelatedImages, (*encoder).relatedImage)
	}
	e.close('}', b.Unknown)
}

func (e *encoder) properties(list []Property) {
	if len(list) > 0 {
		e.key("properties")
		encodeList(e, list, (*encoder).property)
	}
}

func (e *encoder) property(p *Property) {
	e.open('{')
	e.text("type", p.Type)
	e.key("value")
	if p.Value == nil {
		e.dst = append(e.dst, "null"...)
	} else {
		e.value(p.Value, p.Ordered)
	}
	e.close('}', p.Unknown)
}

func (e *encoder) relatedImage(i *RelatedImage) {
	e.open('{')
	e.text("name", i.Name)
	e.text("image", i.Image)
	e.close('}', i.Unknown)
}

func (e *encoder) deprecations(d *Deprecations) {
	e.open('{')
	e.text("schema", d.Schema)
	e.text("package", d.Package)
	e.key("entries")
	encodeList(e, d.Entries, (*encoder).deprecation)
	e.close('}', d.Unknown)
}

func (e *encoder) deprecation(d *Deprecation) {
	e.open('{')
	e.key("reference")
	e.open('{')
	e.text("schema", d.Reference.Schema)
	e.textIf("name", d.Reference.Name)
	e.close('}', d.Reference.Unknown)
	e.text("message", d.Message)
	e.close('}', d.Unknown)
}

// encodeList writes a list, or null for a nil one.
func encodeList[T any](e *encoder, list []T, item func(*encoder, *T)) {
	if list == nil {
		e.dst = append(e.dst, "null"...)
		return
	}
	e.open('[')
	for i := range list {
		e.next()
		item(e, &list[i])
	}
	e.close(']', nil)
}

func (e *encoder) text(key, s string) {
	e.key(key)
	e.dst = format.AppendString(e.dst, s)
}

func (e *encoder) textIf(key, s string) {
	if s != "" {
		e.text(key, s)
	}
}

func (e *encoder) key(key string) {
	e.next()
	e.dst = format.AppendString(e.dst, key)
	e.dst = append(e.dst, ':')
	if !e.compact {
		e.dst = append(e.dst, ' ')
	}
}

// value writes v, sorted unless its keys are in their final order.
func (e *encoder) value(v jsontext.Value, ordered bool) {
	switch {
	case e.compact:
		e.dst = append(e.dst, v...)
	case ordered:
		e.ordered(v)
	default:
		e.dst = format.AppendJSON(e.dst, v, e.depth)
	}
}

func (e *encoder) ordered(v jsontext.Value) {
	prefix := strings.Repeat(indent, e.depth)
	out, err := jsontext.AppendFormat(e.dst, v, jsontext.PreserveRawStrings(true),
		jsontext.WithIndentPrefix(prefix), jsontext.WithIndent(indent))
	if err != nil { // opm made the value
		panic(err)
	}
	e.dst = out
}

func (e *encoder) open(bracket byte) {
	e.dst = append(e.dst, bracket)
	e.depth++
	e.empty = true
}

// next begins a member or an element.
func (e *encoder) next() {
	if !e.empty {
		e.dst = append(e.dst, ',')
	}
	e.empty = false
	e.line()
}

// close ends an object or list, after the members of the object unknown.
func (e *encoder) close(bracket byte, unknown jsontext.Value) {
	if unknown != nil {
		e.members(unknown)
	}
	e.depth--
	if !e.empty {
		e.line()
	}
	e.dst = append(e.dst, bracket)
	e.empty = false
}

// members writes the members of object, sorted.
func (e *encoder) members(object jsontext.Value) {
	d := jsontext.NewDecoder(bytes.NewBuffer(format.AppendCompact(nil, object)))
	_, _ = d.ReadToken() // cannot fail, nor can what follows: object was decoded from valid JSON
	for d.PeekKind() == '"' {
		name, _ := d.ReadToken()
		e.key(name.String())
		v, _ := d.ReadValue()
		e.value(v, false)
	}
}

func (e *encoder) line() {
	if e.compact {
		return
	}
	e.dst = append(e.dst, '\n')
	for range e.depth {
		e.dst = append(e.dst, indent...)
	}
}
