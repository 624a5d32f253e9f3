package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	documents "github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// The directories of a bundle.
const (
	manifestsDir = "manifests"
	metadataDir  = "metadata"
)

const (
	kindCSV = declcfg.KindCSV
	kindCRD = declcfg.KindCRD
)

// manifests is the content of the directory manifests/.
type manifests struct {
	csv     *manifest
	crds    []*manifest
	objects []declcfg.Property // of all manifests, by file name
}

// A manifest is a Kubernetes object in a file of a bundle.
type manifest struct {
	*document
	at         jsontext.Pointer // of the object in the document: "", or an item of a list
	apiVersion string           // "" if missing
	kind       string
	printed    jsontext.Value // see printManifest

	definition definition     // of a CustomResourceDefinition
	crdErr     *declcfg.Error // the error of decoding the definition
}

// errorIn returns an error about the value at ptr of the object.
func (m *manifest) errorIn(ptr jsontext.Pointer, err error) *declcfg.Error {
	return m.document.errorIn(m.at+ptr, err)
}

// errNoKind is the reason why an object is not a manifest.
var errNoKind = errors.New("not a manifest: the object has no kind")

// retain makes a manifest valid even after the next one is read.
func (m *manifest) retain() {
	m.document.retain()
	m.printed = bytes.Clone(m.printed)
}

// version returns the version without its group, such as v1 of apps/v1.
func (m *manifest) version() string { return m.apiVersion[strings.IndexByte(m.apiVersion, '/')+1:] }

// readManifests reads the files directly in manifests/. Files that are not manifests are ignored, and so are all
// ClusterServiceVersions but the first.
func (p *parser) readManifests() *manifests {
	all := new(manifests)
	for _, entry := range p.readDir(manifestsDir) {
		name := path.Join(manifestsDir, entry.Name())
		switch {
		case entry.IsDir():
			p.warn(p.inFile(name, errDirectory))
		case strings.HasPrefix(entry.Name(), "."):
		default:
			if m := p.readManifest(name); m != nil {
				p.add(all, m)
			}
		}
	}
	if all.csv == nil && p.errs == nil {
		p.fail(p.inFile(manifestsDir, fmt.Errorf("no %s among the manifests", kindCSV)))
	}
	return all
}

func (p *parser) add(all *manifests, m *manifest) {
	switch m.kind {
	case kindCSV:
		m.retain()
		if all.csv != nil {
			p.warn(m.errorIn("", fmt.Errorf("a second %s: the one in %s counts", kindCSV, all.csv.file)))
			return
		}
		all.csv = m
	case kindCRD:
		m.decodeDefinition()
		all.crds = append(all.crds, m)
	}
	all.objects = append(all.objects, bundleObject(m.printed))
}

// readManifest reads a file. It returns nil, with a warning, if the file is not a manifest.
func (p *parser) readManifest(name string) *manifest {
	doc := p.readDocument(name)
	if doc == nil {
		return nil
	}
	m := &manifest{document: doc, printed: p.printManifest(doc.json)}
	m.apiVersion, m.kind = typeOf(m.printed)
	if m.kind == "" {
		p.warn(doc.errorIn("", errNoKind))
		return nil
	}
	return m
}

// typeOf returns the API version and the kind of an object. As in opm, an object whose API version has more than two
// parts has no kind.
func typeOf(object jsontext.Value) (apiVersion, kind string) {
	for key, value := range documents.Children(object) {
		switch key {
		case "apiVersion":
			apiVersion = textOf(value)
		case "kind":
			if strings.Count(apiVersion, "/") > 1 {
				return "", ""
			}
			return apiVersion, textOf(value) // keys are sorted
		}
	}
	return "", ""
}

// textOf returns the text of a string, and "" for another value.
func textOf(value jsontext.Value) string {
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}
