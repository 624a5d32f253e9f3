package bundle

import (
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// checkMetadata checks annotations and dependencies, and reports what is ignored when the bundle is read.
func (c *checker) checkMetadata(mediaType string) {
	all := new(metadata)
	found := false
	for _, entry := range c.readDir(metadataDir) {
		name := path.Join(metadataDir, entry.Name())
		if entry.IsDir() {
			c.report("left-out", c.inFile(name, errDirectory))
			continue
		}
		doc := c.readDocument(name)
		if doc == nil {
			continue
		}
		doc.normalize()
		c.readMetadataFile(all, doc)
		found = found || c.checkAnnotations(doc, mediaType)
	}
	if !found {
		c.findIn("annotations", metadataDir, "no file contains the annotations of a bundle")
	}
	if all.from.dependencies != nil {
		c.checkDependencies(all.from.dependencies, all.dependencies)
	}
}

// checkAnnotations reports whether doc holds annotations.
func (c *checker) checkAnnotations(doc *document, mediaType string) bool {
	var file struct {
		Annotations map[string]jsontext.Value `json:"annotations"`
	}
	if _, err := decode(doc.json, &file); err != nil || file.Annotations == nil {
		return false
	}
	for _, label := range (Labels{MediaType: mediaType, DefaultChannel: "optional"}).list() {
		raw, ok := file.Annotations[label[0]]
		switch {
		case ok:
			c.checkAnnotation(doc, label[0], raw, label[1])
		case label[0] != AnnotationDefaultChannel:
			c.find("annotations", doc, "/annotations", "no %s", label[0])
		}
	}
	return true
}

// checkAnnotation checks one annotation, whose value must be want if the files determine it.
func (c *checker) checkAnnotation(doc *document, key string, raw jsontext.Value, want string) {
	ptr := pointer("annotations", key)
	var decoded text
	if _, err := decode(raw, &decoded); err != nil {
		c.find("annotations", doc, ptr, "%w", err)
		return
	}
	value := string(decoded)
	if label, ok := c.opts.Labels[key]; c.opts.Labels != nil && (!ok || label != value) {
		c.find("label", doc, ptr, "%q, but the label of the image is %q", value, label)
	}
	switch {
	case strings.TrimSpace(value) == "":
		c.find("annotations", doc, ptr, "the value is empty")
	case key == AnnotationMediaType:
		c.checkMediaType(doc, ptr, value, want)
	case key == AnnotationPackage:
		c.pkg = value
	case key == AnnotationManifests || key == AnnotationMetadata:
		if path.Clean(value) != path.Clean(want) {
			c.find("directory", doc, ptr, "%q: want %q", value, want)
		}
	}
}

func (c *checker) checkMediaType(doc *document, ptr jsontext.Pointer, said, found string) {
	switch {
	case said == found, c.lost && found == MediaTypePlain: // for want of a manifest that cannot be read
	case said == MediaTypeRegistry && found == MediaTypePlain:
		c.find("media-type", doc, ptr, "%s, but there is no %s in manifests/", said, kindCSV)
	default:
		c.find("media-type", doc, ptr, "%s, but the manifests are %s", said, found)
	}
}
