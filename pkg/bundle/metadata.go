package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/platform"
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

// metadata is the content of the directory metadata/.
type metadata struct {
	annotations  annotations
	dependencies []declaration
	properties   []declaration

	from struct{ annotations, dependencies, properties *document } // nil for none
}

// annotations are the annotations of a bundle that opm reads.
type annotations struct {
	Package        text `json:"operators.operatorframework.io.bundle.package.v1"`
	Channels       text `json:"operators.operatorframework.io.bundle.channels.v1"`
	DefaultChannel text `json:"operators.operatorframework.io.bundle.channel.default.v1"`
}

// A declaration is a dependency or a property as its author wrote it.
type declaration struct {
	Type  text           `json:"type"`
	Value jsontext.Value `json:"value"`
}

// A text is a string. Like opm, it accepts a number or a boolean, which YAML authors write without quotes.
type text string

// UnmarshalJSON formats a number or a boolean as upstream does.
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

// readMetadata reads all files of metadata/, with any name. Annotations are read from the first file that has
// annotations of a bundle, and dependencies and properties from the first file that has them.
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

// normalize converts values from YAML to the form that opm uses. Values of valid JSON are unchanged. It retains the
// document.
func (d *document) normalize() {
	d.retain()
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
	if p.opts.Releases != nil {
		p.readReleases(file.Annotations)
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

// readReleases calls Options.Releases with the releases of OpenShift that the bundle supports. Values that are not
// strings are ignored: clusters do not read the annotation.
func (p *parser) readReleases(annotations jsontext.Value) {
	var values map[string]jsontext.Value
	if _, err := decode(annotations, &values); err != nil {
		return
	}
	var releases text
	if value := values[platform.AnnotationVersions]; value.Kind() == '"' && releases.UnmarshalJSON(value) == nil {
		p.opts.Releases(string(releases))
	}
}

// read decodes the value at ptr of doc. It ignores a value that it cannot decode.
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

// first records that the value at ptr of doc is used, and returns true, unless an earlier file has such a value.
func (p *parser) first(from **document, doc *document, ptr jsontext.Pointer) bool {
	if *from != nil {
		p.warn(doc.errorIn(ptr, fmt.Errorf("not read: those of %s count", (*from).file)))
		return false
	}
	*from = doc
	return true
}

// writable returns value without duplicate keys and invalid UTF-8, which cannot be written.
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

// The media types of bundles, by the content of manifests/.
const (
	MediaTypeRegistry = "registry+v1" // a ClusterServiceVersion and the other manifests of its operator
	MediaTypeHelm     = "helm"        // a chart
	MediaTypePlain    = "plain"       // any manifests
)

// chartFile is the name of the file with the metadata of a chart.
const chartFile = "Chart.yaml"

// detectMediaType detects the media type of the manifests in the directory dir of layout from its files. An empty
// directory is an error, and so is a file that cannot be read. dir is not a file system of its own, because links may
// lead out of it.
func detectMediaType(layout fs.FS, dir string) (string, error) {
	entries, err := fs.ReadDir(layout, dir)
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return "", errors.New("no manifests in the directory")
	}
	found := MediaTypePlain
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		text, err := readRegular(layout, path.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		switch {
		case entry.Name() == chartFile && isChart(text):
			return MediaTypeHelm, nil
		case found == MediaTypePlain && isCSV(text):
			found = MediaTypeRegistry
		}
	}
	return found, nil
}

func isChart(text []byte) bool {
	doc, failed := readDocument("", text, nil)
	if failed != nil {
		return false
	}
	var chart struct {
		Name string `json:"name"`
	}
	_, err := decode(doc.json, &chart)
	return err == nil && chart.Name != ""
}

func isCSV(text []byte) bool {
	doc, failed := readDocument("", text, nil)
	return failed == nil && declcfg.IsCSV(doc.json)
}
