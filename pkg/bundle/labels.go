package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
)

// Labels are the annotations in annotations.yaml, which are also the labels of the bundle image.
type Labels struct {
	MediaType      string
	Package        string
	Channels       string // separated by commas
	DefaultChannel string // "" for none
}

// list returns the labels in the order in which upstream writes them to a Dockerfile.
func (l Labels) list() [][2]string {
	list := [][2]string{
		{AnnotationMediaType, l.MediaType},
		{AnnotationManifests, manifestsDir + "/"},
		{AnnotationMetadata, metadataDir + "/"},
		{AnnotationPackage, l.Package},
		{AnnotationChannels, l.Channels},
	}
	if l.DefaultChannel != "" {
		list = append(list, [2]string{AnnotationDefaultChannel, l.DefaultChannel})
	}
	return list
}

// annotations returns the file annotations.yaml.
func (l Labels) annotations() []byte {
	printed, err := json.Marshal(map[string]any{"annotations": l.Map()}, jsontext.AllowInvalidUTF8(true))
	if err != nil { // strings can always be encoded
		panic(err)
	}
	return format.AppendYAML(nil, printed)
}

// dockerfile returns the file bundle.Dockerfile, which builds the image of a bundle on that base image, "" for scratch.
// The directories are the paths of manifests/ and metadata/, relative to the build context.
func (l Labels) dockerfile(base, manifests, metadata string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "FROM %s\n\n", cmp.Or(base, "scratch"))
	for _, label := range l.list() {
		fmt.Fprintf(&b, "LABEL %s=%s\n", label[0], label[1])
	}
	if l.DefaultChannel != "" {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "COPY %s /%s/\nCOPY %s /%s/\n", manifests, manifestsDir, metadata, metadataDir)
	return []byte(b.String())
}

// check compares the labels with an existing annotations.yaml, which must have all of them and may have other
// annotations. Positions use name as the file name. The error joins one *[declcfg.Error] for every difference.
func (l Labels) check(name string, annotations []byte) error {
	doc, failed := readDocument(name, annotations, nil)
	if failed != nil {
		return failed
	}
	var file struct {
		Annotations map[string]text `json:"annotations"`
	}
	if ptr, err := decode(doc.json, &file); err != nil {
		return doc.errorIn(ptr, err)
	}
	var errs []error
	for _, label := range l.list() {
		value, ok := file.Annotations[label[0]]
		switch {
		case !ok:
			errs = append(errs, doc.errorIn("/annotations", fmt.Errorf("no %s: want %q", label[0], label[1])))
		case string(value) != label[1]:
			ptr := jsontext.Pointer("/annotations").AppendToken(label[0])
			errs = append(errs, doc.errorIn(ptr, fmt.Errorf("want %q, found %q", label[1], string(value))))
		}
	}
	return errors.Join(errs...)
}

// checkedDockerfile is dockerfile, with an error for a value that a Dockerfile would not read unchanged.
func (l Labels) checkedDockerfile(base, manifests, metadata string) ([]byte, error) {
	for _, word := range []string{base, l.Package, l.Channels, l.DefaultChannel, manifests, metadata} {
		if strings.ContainsAny(word, " \t\r\n\"'\\$*?[]") {
			return nil, fmt.Errorf("a Dockerfile cannot contain %q", word)
		}
	}
	return l.dockerfile(base, manifests, metadata), nil
}

// inferred returns the labels of l that are not among the given labels, each as "package: kiln".
func (l Labels) inferred(given Labels) []string {
	var all []string
	for _, label := range []struct{ what, given, found string }{
		{"package", given.Package, l.Package},
		{"channels", given.Channels, l.Channels},
		{"default channel", given.DefaultChannel, l.DefaultChannel},
	} {
		if label.given != label.found {
			all = append(all, label.what+": "+label.found)
		}
	}
	return all
}
