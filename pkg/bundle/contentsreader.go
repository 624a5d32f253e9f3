package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubejson "k8s.io/apimachinery/pkg/util/json"

	documents "github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// propertiesFile is the only file from which OLM v1 reads properties, as annotationsFile is for annotations.
const propertiesFile = metadataDir + "/properties.yaml"

// A contentsReader reads a bundle for [ReadContents]. Its parser fails on everything that cannot be read.
type contentsReader struct {
	*Contents
	parser

	notRead func(*declcfg.Error) // is called for each part that OLM v1 does not read

	properties    []declaration // in propertiesFile
	hasProperties bool          // propertiesFile exists and is not empty
}

func newContentsReader(fsys fs.FS, name string, opts Options) *contentsReader {
	strict := Options{Strict: true}
	r := &contentsReader{
		Contents: &Contents{files: map[any]*manifest{}},
		parser:   parser{fsys: fsys, name: strings.TrimSuffix(name, "/"), opts: strict},
	}
	ignoring := parser{opts: opts}
	r.notRead = func(e *declcfg.Error) {
		ignoring.warn(e)
		r.errs, ignoring.errs = append(r.errs, ignoring.errs...), nil
	}
	return r
}

// readMetadata reads the files in metadata/ of which OLM v1 knows the names. It returns what a catalog with the bundle
// has of all files, about which errors are reported by those who make a catalog.
func (r *contentsReader) readMetadata() *metadata {
	catalog := parser{fsys: r.fsys, name: r.name}
	all := catalog.readMetadata()
	for _, e := range r.misnamed(all) {
		r.notRead(e)
	}
	var annotated struct {
		Annotations annotations `json:"annotations"`
	}
	r.annotations = r.readNamed(annotationsFile, &annotated)
	r.Package = string(annotated.Annotations.Package)
	info, err := fs.Stat(r.fsys, propertiesFile)
	isEmpty := err == nil && info.Size() == 0
	if r.hasProperties = !isEmpty && !errors.Is(err, fs.ErrNotExist); r.hasProperties {
		var file struct {
			Properties []declaration `json:"properties"`
		}
		r.readNamed(propertiesFile, &file)
		r.properties = file.Properties
	}
	return all
}

// misnamed returns a warning for each part of the metadata that opm reads from a file with a name that OLM v1 does not
// know.
func (p *parser) misnamed(all *metadata) (list []*declcfg.Error) {
	for _, part := range []struct {
		from *document
		ptr  jsontext.Pointer
		want string
	}{
		{all.from.annotations, "/annotations", annotationsFile}, {all.from.properties, "/properties", propertiesFile},
	} {
		if part.from != nil && part.from.file != p.label(part.want) {
			err := fmt.Errorf("OLM v1 does not read it here: it reads %s from %s only", part.ptr[1:], part.want)
			list = append(list, part.from.errorIn(part.ptr, err))
		}
	}
	return list
}

// readNamed decodes the first document of a file in metadata/ into v, and returns it. If there is none, it returns an
// empty document.
func (r *contentsReader) readNamed(name string, v any) *document {
	start := documents.Document{Start: documents.Place{Line: 1, Column: 1}}
	first := &document{&start, r.label(name), nil, nil}
	if _, err := fs.Stat(r.fsys, name); errors.Is(err, fs.ErrNotExist) {
		r.fail(r.inFile(name, errors.New("the file does not exist, and OLM v1 reads the annotations of a bundle from it")))
		return first
	}
	r.eachDocument(name, func(doc *document) {
		if first.json != nil {
			return
		}
		first = doc
		first.normalize()
		if ptr, err := decode(first.json, v); err != nil {
			r.fail(first.errorIn(ptr, err))
		}
	})
	return first
}

// eachDocument calls fn for every document of a file that is not empty.
func (r *contentsReader) eachDocument(name string, fn func(*document)) {
	text, ok := r.readFile(name)
	if !ok {
		return
	}
	visit := func(doc *documents.Document, err error) {
		if doc != nil {
			clone := doc.Clone()
			fn(&document{clone, r.label(name), clone.JSON, nil})
		} else if failure, ok := errors.AsType[*documents.Error](err); ok {
			r.fail(failure.In(r.label(name)))
		}
	}
	skip := func(d *jsontext.Decoder, _ []byte) error { return d.SkipValue() }
	for chunk := range documents.Split(bytes.NewReader(text), int64(len(text)), 0) {
		visit(nil, chunk.Read(skip, visit))
		chunk.Recycle()
	}
}

func (r *contentsReader) readManifests() {
	for _, entry := range r.readDir(manifestsDir) {
		name := path.Join(manifestsDir, entry.Name())
		if entry.IsDir() {
			r.fail(r.inFile(name, fmt.Errorf("subdirectories are not allowed within the %q directory of the bundle image "+
				"filesystem: found %q", manifestsDir, name)))
			continue
		}
		r.eachDocument(name, func(doc *document) {
			if doc.json.Kind() != jsontext.KindNull {
				r.addDocument(&manifest{document: doc, printed: bytes.Clone(r.printManifest(doc.json))})
			}
		})
	}
}

// addDocument adds the object of a document, or the items of a list.
func (r *contentsReader) addDocument(m *manifest) {
	object, err := runtime.Decode(unstructured.UnstructuredJSONScheme, m.printed)
	if err == nil {
		// As in k8s.io/cli-runtime, which operator-controller reads files with, the metadata has to fit its type.
		var head struct {
			metav1.ObjectMeta `json:"metadata"`
		}
		if err = kubejson.Unmarshal(m.printed, &head); err != nil {
			r.fail(m.errorIn(placed(m.printed, &head, err)))
			return
		}
	}
	switch object := object.(type) {
	case *unstructured.Unstructured:
		r.add(m, object)
	case *unstructured.UnstructuredList:
		for i := range object.Items {
			r.addItem(m.item(i), &object.Items[i])
		}
	default:
		r.fail(m.errorIn("", notManifest(m.json, err)))
	}
}

// notManifest returns the reason why a document is not a manifest, in our words if they are more to the point.
func notManifest(object jsontext.Value, err error) error {
	switch {
	case object.Kind() != jsontext.KindBeginObject:
		return errors.New("not a manifest: want an object")
	case runtime.IsMissingKind(err):
		return errNoKind
	}
	return fmt.Errorf("not a manifest: %w", err)
}

// addItem adds an item of a list.
func (r *contentsReader) addItem(m *manifest, object *unstructured.Unstructured) {
	switch kind := object.GroupVersionKind(); {
	case object.IsList():
		r.fail(m.errorIn("", errors.New("a list in a list: OLM v1 does not flatten it")))
	case kind.Kind == "":
		r.fail(m.errorIn("", errNoKind))
	case kind.Version == "":
		r.fail(m.errorIn("", errors.New("not a manifest: the item has no apiVersion")))
	default:
		r.add(m, object)
	}
}

// item returns the manifest of an item of a list.
func (m *manifest) item(i int) *manifest {
	child := &manifest{document: m.document, at: place.Item("/items", i)}
	for key, list := range documents.Children(m.printed) {
		if key != "items" {
			continue
		}
		n := 0
		for _, child.printed = range documents.Children(list) {
			if n++; n > i {
				break
			}
		}
	}
	return child
}

// add adds a manifest by its kind.
func (r *contentsReader) add(m *manifest, object *unstructured.Unstructured) {
	switch object.GetKind() {
	case kindCSV:
		csv := new(v1alpha1.ClusterServiceVersion)
		if r.CSV != nil {
			r.notRead(r.ErrorIn(r.CSV, "", fmt.Errorf("not the last %s: OLM v1 uses that in %s", kindCSV, m.file)))
		}
		r.convert(m, object, csv)
		r.CSV = csv
	case kindCRD:
		crd := new(apiextensionsv1.CustomResourceDefinition)
		if version := object.GetAPIVersion(); version != crdV1 {
			r.fail(m.errorIn("/apiVersion", definitionVersionError(version)))
		} else if r.convert(m, object, crd) {
			r.CRDs = append(r.CRDs, crd)
		}
	default:
		r.Others, r.files[object] = append(r.Others, object), m
	}
}

// convert converts a manifest to its type. Keys count only if their case is right. It reports whether it succeeded.
func (r *contentsReader) convert(m *manifest, object *unstructured.Unstructured, v any) bool {
	r.files[v] = m
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, v)
	if err != nil {
		r.fail(m.errorIn(placed(m.printed, v, err)))
	}
	return err == nil
}

// annotatedProperties returns the properties in the annotation of the ClusterServiceVersion, and whether they can be
// read.
func (r *contentsReader) annotatedProperties() (properties []annotatedProperty, ok bool) {
	text, ok := r.CSV.Annotations[annotationProperties]
	if !ok {
		return nil, true
	}
	if err := json.Unmarshal([]byte(text), &properties); err != nil {
		ptr := atAnnotations.AppendToken(annotationProperties)
		r.fail(r.ErrorIn(r.CSV, ptr, fmt.Errorf("want a list of properties as JSON: %w", err)))
		return nil, false
	}
	return properties, true
}

// annotateProperties adds the properties in metadata/properties.yaml to the annotation of the ClusterServiceVersion. As
// in OLM v1, the annotation is null if the file is not empty, but there are no properties.
func (r *contentsReader) annotateProperties(properties []annotatedProperty) {
	if !r.hasProperties {
		return
	}
	for _, d := range r.properties {
		properties = append(properties, annotatedProperty{string(d.Type), json.RawMessage(d.Value)})
	}
	text, err := json.Marshal(properties)
	if err != nil {
		r.fail(r.inFile(propertiesFile, err))
		return
	}
	if r.CSV.Annotations == nil {
		r.CSV.Annotations = map[string]string{}
	}
	r.CSV.Annotations[annotationProperties] = string(text)
}
