package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// The annotations of a bundle, which its image has as labels. They are in the file annotations.yaml.
const (
	AnnotationMediaType      = "operators.operatorframework.io.bundle.mediatype.v1"
	AnnotationManifests      = "operators.operatorframework.io.bundle.manifests.v1"
	AnnotationMetadata       = "operators.operatorframework.io.bundle.metadata.v1"
	AnnotationPackage        = "operators.operatorframework.io.bundle.package.v1"
	AnnotationChannels       = "operators.operatorframework.io.bundle.channels.v1"
	AnnotationDefaultChannel = "operators.operatorframework.io.bundle.channel.default.v1"
)

// metadata is what the directory of that name holds.
type metadata struct {
	annotations  annotations
	dependencies []declaration
	properties   []declaration

	from struct{ annotations, dependencies, properties *document } // nil for none
}

// annotations are those that opm looks for in a bundle.
type annotations struct {
	Package        text `json:"operators.operatorframework.io.bundle.package.v1"`
	Channels       text `json:"operators.operatorframework.io.bundle.channels.v1"`
	DefaultChannel text `json:"operators.operatorframework.io.bundle.channel.default.v1"`
}

// A declaration is a dependency or a property, as its author wrote it.
type declaration struct {
	Type  text           `json:"type"`
	Value jsontext.Value `json:"value"`
}

// A text is what opm reads a number or a boolean in YAML as, where it wants text.
type text string

// UnmarshalJSON prints a value that is not a string as upstream does.
func (t *text) UnmarshalJSON(value []byte) error {
	switch jsontext.Value(value).Kind() {
	case jsontext.KindString:
		unquoted, err := jsontext.AppendUnquote(nil, value)
		*t = text(unquoted)
		return err
	case jsontext.KindNumber:
		*t = text(numberText(string(value), 32))
	case jsontext.KindTrue, jsontext.KindFalse:
		*t = text(value)
	case jsontext.KindNull:
	default:
		return errors.New("want text")
	}
	return nil
}

// readMetadata reads all files of metadata/, whatever their names. Of several that hold annotations of a bundle the
// first one counts, and so with dependencies and properties.
func (p *parser) readMetadata() *metadata {
	all := new(metadata)
	for _, entry := range p.readDir(metadataDir) {
		name := path.Join(metadataDir, entry.Name())
		if entry.IsDir() {
			p.warn(p.inFile(name, errDirectory))
			continue
		}
		if doc := p.readDocument(name); doc != nil {
			doc.normalize()
			p.readMetadataFile(all, doc)
		}
	}
	switch {
	case all.from.annotations == nil && p.errs == nil:
		p.fail(p.inFile(metadataDir, fmt.Errorf("no file with annotations of a bundle, such as %s", AnnotationPackage)))
	case all.from.annotations != nil && all.annotations.Package == "":
		err := fmt.Errorf("no %s: the bundle has no package", AnnotationPackage)
		p.fail(all.from.annotations.errorIn("/annotations", err))
	}
	return all
}

// normalize brings the values of YAML into the form that they have in opm. Those of JSON stay as they are, if they can.
// It keeps the document.
func (d *document) normalize() {
	d.keep()
	if d.YAML || d.Repaired {
		d.json = appendHTML(nil, format.AppendCompact(nil, d.json))
	}
}

func (p *parser) readMetadataFile(all *metadata, doc *document) {
	if kind := doc.json.Kind(); kind != jsontext.KindBeginObject {
		p.warn(doc.errorIn("", errors.New("want an object")))
		return
	}
	var file struct {
		Annotations  jsontext.Value `json:"annotations"`
		Dependencies jsontext.Value `json:"dependencies"`
		Properties   jsontext.Value `json:"properties"`
	}
	if _, err := decode(doc.json, &file); err != nil {
		p.warn(doc.errorIn("", err))
		return
	}
	if file.Annotations == nil && file.Dependencies == nil && file.Properties == nil {
		p.warn(doc.errorIn("", errors.New("neither annotations nor dependencies nor properties")))
		return
	}
	if found, ok := read[annotations](p, doc, "/annotations", file.Annotations); ok && found != (annotations{}) {
		if p.first(&all.from.annotations, doc, "/annotations") {
			all.annotations = found
		}
	}
	if found, ok := read[[]declaration](p, doc, "/dependencies", file.Dependencies); ok && len(found) > 0 {
		if p.first(&all.from.dependencies, doc, "/dependencies") {
			all.dependencies = found
		}
	}
	if found, ok := read[[]declaration](p, doc, "/properties", file.Properties); ok && len(found) > 0 {
		if p.first(&all.from.properties, doc, "/properties") {
			all.properties = found
		}
	}
}

// read decodes the value at ptr of doc. What it cannot decode is ignored.
func read[T any](p *parser, doc *document, ptr jsontext.Pointer, value jsontext.Value) (found T, ok bool) {
	if value == nil {
		return found, false
	}
	if at, err := decode(value, &found); err != nil {
		p.warn(doc.errorIn(ptr+at, err))
		return found, false
	}
	return found, true
}

// first remembers that what is at ptr of doc counts, unless that of another file does.
func (p *parser) first(from **document, doc *document, ptr jsontext.Pointer) bool {
	if *from != nil {
		p.warn(doc.errorIn(ptr, fmt.Errorf("not read: those of %s count", (*from).file)))
		return false
	}
	*from = doc
	return true
}

// writable returns value without equal keys and without what is no UTF-8, since neither can be written.
func writable(value jsontext.Value) jsontext.Value {
	if value == nil || value.IsValid() {
		return value
	}
	return format.AppendCompact(nil, bytes.ToValidUTF8(value, []byte("\ufffd")))
}

// property returns a declaration as a property.
func (d declaration) property() declcfg.Property {
	return declcfg.Property{Type: string(d.Type), Value: writable(d.Value), Ordered: true}
}
