package bundle

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"

	"github.com/operator-framework/api/pkg/encoding"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/regular"
)

// The annotations by which OLM knows how to read a ConfigMap, and where it comes from.
const (
	annotationEncoding    = "olm.contentEncoding"
	annotationSourceImage = "olm.sourceImage"
)

const gzipEncoding = "gzip+base64"

// DefaultExtractLimit is about the size limit of Kubernetes objects, in bytes.
const DefaultExtractLimit = 1 << 20

// ExtractOptions say what Extract makes. The zero value is the default.
type ExtractOptions struct {
	Image string // that the bundle came in, "" for none
	Gzip  bool   // compress each file, as OLM can read it
	Limit uint64 // of the bytes of all values together, as they are stored; 0 is DefaultExtractLimit
}

// Extract returns the ConfigMap that OLM reads a bundle from: the files of manifests/ and metadata/, by their names, in
// which - replaces what a key cannot contain. Of metadata/annotations.yaml only the annotations of a bundle are kept,
// as those of the ConfigMap. It has no name yet. Positions of errors begin with name.
//
// Files that would have the same key, directories, and more data than the limit are errors.
func Extract(fsys fs.FS, name string, opts ExtractOptions) (*corev1.ConfigMap, error) {
	e := extractor{parser: parser{fsys: fsys, name: name}, opts: opts, from: make(map[string]string)}
	e.m.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	e.m.Annotations = make(map[string]string)
	if opts.Image != "" {
		e.m.Annotations[annotationSourceImage] = opts.Image
	}
	if opts.Gzip {
		e.m.Annotations[annotationEncoding] = gzipEncoding
	}
	for _, dir := range []string{manifestsDir, metadataDir} {
		for _, entry := range e.readDir(dir) {
			name := path.Join(dir, entry.Name())
			if entry.IsDir() {
				e.fail(e.inFile(name, errDirectory))
				continue
			}
			e.extract(name)
		}
	}
	limit := opts.Limit
	if limit == 0 {
		limit = DefaultExtractLimit
	}
	if e.errs == nil && e.size > limit {
		err := fmt.Errorf("the stored files have %d bytes, more than the limit of %d", e.size, limit)
		e.fail(e.inFile(manifestsDir, err))
	}
	if err := e.err(); err != nil {
		return nil, err
	}
	return &e.m, nil
}

// An extractor fills a ConfigMap.
type extractor struct {
	parser
	opts ExtractOptions
	m    corev1.ConfigMap
	from map[string]string // the file of each key
	size uint64            // of all values
}

// notInKey are the characters that keys of a ConfigMap have none of.
var notInKey = regexp.MustCompile(`[^-A-Za-z0-9_.]`)

func (e *extractor) extract(name string) {
	text, err := regular.ReadFile(e.fsys, name, maxFileSize)
	switch {
	case err != nil:
		e.fail(e.inFile(name, regular.WithoutPath(err)))
	case name == annotationsFile:
		e.annotate(text)
	default:
		e.add(name, text)
	}
}

func (e *extractor) add(name string, text []byte) {
	key := notInKey.ReplaceAllString(path.Base(name), "-")
	if first, ok := e.from[key]; ok {
		e.fail(e.inFile(name, fmt.Errorf("key %s is already used for %s", key, e.label(first))))
		return
	}
	e.from[key] = name
	if !e.opts.Gzip {
		if e.m.Data == nil {
			e.m.Data = make(map[string]string)
		}
		e.m.Data[key] = string(text)
		e.size += uint64(len(text))
		return
	}
	packed, err := encoding.GzipBase64Encode(text)
	if err != nil {
		e.fail(e.inFile(name, err))
		return
	}
	if e.m.BinaryData == nil {
		e.m.BinaryData = make(map[string][]byte)
	}
	e.m.BinaryData[key] = packed
	e.size += uint64(len(packed))
}

// annotate sets all annotations of a bundle, those that the file does not have to nothing, as upstream does.
func (e *extractor) annotate(content []byte) {
	doc, failed := readDocument(e.label(annotationsFile), content, nil)
	if failed != nil {
		e.fail(failed)
		return
	}
	var file struct {
		Annotations map[string]text `json:"annotations"`
	}
	if ptr, err := decode(doc.json, &file); err != nil {
		e.fail(doc.errorIn(ptr, err))
		return
	}
	for _, label := range (Labels{DefaultChannel: "optional"}).list() {
		e.m.Annotations[label[0]] = string(file.Annotations[label[0]])
	}
}
