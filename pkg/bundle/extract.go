package bundle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"

	"github.com/operator-framework/api/pkg/encoding"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/opm-toolchain/opm/internal/regular"
)

// The annotations of a ConfigMap with its encoding and its source image, which OLM reads.
const (
	annotationEncoding    = "olm.contentEncoding"
	annotationSourceImage = "olm.sourceImage"
)

const gzipEncoding = "gzip+base64"

// DefaultExtractLimit is about the maximum size of a Kubernetes object, in bytes.
const DefaultExtractLimit = 1 << 20

// ExtractOptions configure Extract. The zero value is the default.
type ExtractOptions struct {
	Image string // the image of the bundle, "" for none
	Gzip  bool   // compress each file, which OLM can read
	Limit uint64 // maximum size of all stored values together, in bytes; 0 is DefaultExtractLimit
}

// Extract returns the ConfigMap from which OLM reads a bundle. Its keys are the names of the files in manifests/ and
// metadata/, with - in place of characters that are invalid in a key. Of metadata/annotations.yaml, it has only the
// annotations of the bundle, as annotations of the ConfigMap. The ConfigMap has no name yet. Positions of errors begin
// with name.
//
// Two files with the same key, directories, and more data than the limit are errors.
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
	}
	if limit := cmp.Or(opts.Limit, DefaultExtractLimit); e.errs == nil && e.size > limit {
		err := fmt.Errorf("the stored files have %d bytes, more than the limit of %d", e.size, limit)
		e.fail(e.inFile(manifestsDir, err))
	}
	if err := e.err(); err != nil {
		return nil, err
	}
	return &e.m, nil
}

type extractor struct {
	parser
	opts ExtractOptions
	m    corev1.ConfigMap
	from map[string]string // the file of each key
	size uint64            // of all values, in bytes
}

// notInKey matches the characters that keys of a ConfigMap cannot contain.
var notInKey = regexp.MustCompile(`[^-A-Za-z0-9_.]`)

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

// annotate sets the annotations of a bundle on the ConfigMap. As in upstream, a missing annotation is set to "".
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

// UpdateConfigMap replaces the data of an existing ConfigMap in the cluster by the data of m. m is a result of Extract
// with the name and namespace of that ConfigMap. All other fields, and annotations that are not about bundles, are
// kept. A concurrent update is an error, in the words of the cluster.
func UpdateConfigMap(ctx context.Context, config *rest.Config, m *corev1.ConfigMap) error {
	client, err := coreClient(config)
	if err != nil {
		return err
	}
	existing, err := send(ctx, client.Get(), m)
	if err != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	updated, err := withData(existing, m)
	if err != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	put := client.Put().SetHeader("Content-Type", runtime.ContentTypeJSON).Body(updated)
	if _, err := send(ctx, put, m); err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	return nil
}

// coreClient returns a client for the core API with only the types of errors, since all types of Kubernetes together
// are large.
func coreClient(config *rest.Config) (*rest.RESTClient, error) {
	version := schema.GroupVersion{Version: "v1"}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, version)
	config = rest.CopyConfig(config)
	config.APIPath = "/api"
	config.GroupVersion = &version
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.UserAgent = "opm"
	return rest.RESTClientFor(config)
}

// send sends a request about the ConfigMap with the name and namespace of m, and returns the response.
func send(ctx context.Context, r *rest.Request, m *corev1.ConfigMap) ([]byte, error) {
	result := r.Namespace(m.Namespace).Resource("configmaps").Name(m.Name).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// withData returns a ConfigMap, in JSON, with the data of m and its annotations. Unknown keys stay.
func withData(object []byte, m *corev1.ConfigMap) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, err
	}
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(all["metadata"], &meta); err != nil {
		return nil, err
	}
	var annotations map[string]string
	if raw, ok := meta["annotations"]; ok {
		if err := json.Unmarshal(raw, &annotations); err != nil {
			return nil, err
		}
	}
	for _, set := range []struct {
		in    map[string]json.RawMessage
		key   string
		value any
	}{
		{meta, "annotations", withAnnotations(annotations, m.Annotations)},
		{all, "metadata", meta},
		{all, "data", m.Data},
		{all, "binaryData", m.BinaryData},
	} {
		raw, err := json.Marshal(set.value)
		if err != nil {
			return nil, err
		}
		set.in[set.key] = raw
	}
	return json.Marshal(all)
}

// withAnnotations returns annotations in which the annotations of a bundle replace the annotations of an earlier
// bundle.
func withAnnotations(all, bundle map[string]string) map[string]string {
	merged := maps.Clone(all)
	if merged == nil {
		merged = make(map[string]string)
	}
	for _, label := range (Labels{DefaultChannel: "optional"}).list() {
		delete(merged, label[0])
	}
	delete(merged, annotationEncoding)
	delete(merged, annotationSourceImage)
	maps.Copy(merged, bundle)
	return merged
}
