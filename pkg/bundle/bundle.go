// Package bundle turns the files of a bundle into its object in a catalog, and generates and checks such files.
//
//	b, err := bundle.Parse(os.DirFS("oak/1.0.0"), "oak/1.0.0", bundle.Options{})
//	// b is the olm.bundle object of the catalog, with the manifests as properties
//	err = bundle.ToMetadata(b) // replaces the manifests, if registries can fetch them from the image
//
// A bundle is a directory, or the root of an image, with the directories manifests/ and metadata/. Their format is
// described in https://olm.operatorframework.io/docs/tasks/creating-operator-bundle/.
//
//	m := bundle.Maker{Directory: "oak/1.0.0/manifests", Labels: bundle.Labels{Package: "oak", Channels: "stable"}}
//	inferred, err := m.Complete()
//	err = m.Generate(ctx) // writes oak/1.0.0/metadata/annotations.yaml
//	problems := bundle.Check(os.DirFS("oak/1.0.0"), "oak/1.0.0", bundle.CheckOptions{})
package bundle

import (
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"text/template"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/pool"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Options configure the reading of a bundle. The zero value is for a bundle directory.
type Options struct {
	// Image is the reference of the image that contains the bundle, "" if there is none.
	Image string

	// ImageRef makes the reference if Image is empty, from .Package, .Name and .Version; another field is an error. Nil
	// leaves it empty.
	ImageRef *template.Template

	// EnvImages adds the images that environment variables RELATED_IMAGE_* of deployments name to the related images.
	EnvImages bool

	// Strict turns warnings into errors.
	Strict bool

	// Warn receives an error, with a position, for each ignored part of the bundle; upstream ignores it silently. Nil
	// drops these errors. Files in manifests/ whose names begin with a dot are not part of a bundle and give no
	// warning.
	Warn func(*declcfg.Error)

	// Releases, if not nil, is called with the annotation [platform.AnnotationVersions] of a bundle that has it. A
	// bundle in a catalog does not have its annotations. Calls may be concurrent.
	Releases func(string)
}

// Is reports whether fsys contains a bundle, by the directories at its root.
func Is(fsys fs.FS) bool {
	for _, dir := range []string{manifestsDir, metadataDir} {
		if info, err := fs.Stat(fsys, dir); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// Parse reads the bundle in the directories manifests and metadata of fsys. Positions begin with name.
//
// The bundle has the bytes that upstream gives it, down to the order of properties and of the keys in their values. Its
// manifests are properties of type olm.bundle.object, in the order of all properties, which is by type and value.
// Related images are in the order of their references.
//
// The error joins one *[declcfg.Error] for each problem. In particular, a bundle without a ClusterServiceVersion,
// annotations that do not name a package, an owned definition of a custom resource that is not among the manifests, and
// every file that cannot be read are errors; upstream ignores all but the first of these. Calls may be concurrent.
func Parse(fsys fs.FS, name string, opts Options) (*declcfg.Bundle, error) {
	p := parser{fsys: fsys, name: strings.TrimSuffix(name, "/"), opts: opts, buffers: bufferPool.Get()}
	defer func() { bufferPool.Put(p.buffers) }()
	m, meta := p.readManifests(), p.readMetadata()
	if err := p.err(); err != nil {
		return nil, err
	}
	spec := p.decodeCSV(m.csv)
	if spec == nil {
		return nil, p.err()
	}
	apis := p.findAPIs(m, spec)
	b := &declcfg.Bundle{
		Schema:     declcfg.SchemaBundle,
		Name:       spec.Metadata.Name,
		Package:    string(meta.annotations.Package),
		Image:      p.opts.Image,
		Properties: p.properties(m, meta, spec, apis),
	}
	if b.Image == "" && p.opts.ImageRef != nil {
		ref, err := imageRef(p.opts.ImageRef, b)
		if err != nil {
			p.fail(&declcfg.Error{Pos: declcfg.Pos{File: p.name}, Err: err})
		}
		b.Image = ref
	}
	b.RelatedImages = relatedImages(spec, b.Image, p.opts.EnvImages)
	if err := p.err(); err != nil {
		return nil, err
	}
	return b, nil
}

// A parser reads one bundle and collects its errors.
type parser struct {
	fsys fs.FS
	name string
	opts Options
	errs []error

	buffers
}

// buffers have the current manifest in each of its forms. The next manifest overwrites them.
type buffers struct{ text, converted, sorted, printed []byte }

// maxBuffers is the maximum size of the buffers that are reused for the next bundle, in bytes.
const maxBuffers = 4 << 20

var bufferPool = pool.New(runtime.GOMAXPROCS(0), func() buffers { return buffers{} }, func(m buffers) (buffers, bool) {
	return m, cap(m.text)+cap(m.converted)+cap(m.sorted)+cap(m.printed) <= maxBuffers
})

func (p *parser) err() error {
	if len(p.errs) == 1 {
		return p.errs[0]
	}
	return errors.Join(p.errs...)
}

// fail records an error.
func (p *parser) fail(err *declcfg.Error) { p.errs = append(p.errs, err) }

// warn records a warning. It is an error if the options are strict.
func (p *parser) warn(err *declcfg.Error) {
	switch {
	case p.opts.Strict:
		p.fail(err)
	case p.opts.Warn != nil:
		p.opts.Warn(err)
	}
}

// label returns the name of a file in positions.
func (p *parser) label(file string) string {
	if p.name == "" {
		return file
	}
	return strings.TrimSuffix(p.name, "/") + "/" + file
}

// inFile returns an error about a file, without a line.
func (p *parser) inFile(file string, err error) *declcfg.Error {
	return &declcfg.Error{Pos: declcfg.Pos{File: p.label(file)}, Err: err}
}

// decode reads text, valid JSON whose keys are in their final order, into v by the rules of encoding/json. If it fails,
// ptr leads to the value.
func decode(text jsontext.Value, v any) (ptr jsontext.Pointer, err error) {
	property := declcfg.Property{Value: text, Ordered: true}
	err = property.Unmarshal(v)
	if value, ok := errors.AsType[*declcfg.ValueError](err); ok {
		return value.Pointer, value.Err
	}
	return "", err
}

// ErrNoManifests is returned for a bundle whose manifests are only in its image.
var ErrNoManifests = errors.New("the bundle holds no manifests")

// ErrNoImage is returned for a bundle without an image. If its manifests were removed, registries could not fetch them.
var ErrNoImage = errors.New("the bundle has no image")

// ToObjects converts b to the form that contains its manifests, as properties of type olm.bundle.object, and no
// olm.csv.metadata. The error is [ErrNoManifests] if b contains no ClusterServiceVersion, because only its image has
// the manifests, or the error of a manifest that cannot be decoded. After an error, b is unchanged.
func ToObjects(b *declcfg.Bundle) error {
	csv, err := b.ManifestCSV()
	if err != nil {
		return err
	}
	if csv == nil {
		return ErrNoManifests
	}
	b.Properties = slices.DeleteFunc(slices.Clone(b.Properties), isCSVMetadata)
	return nil
}

// ToMetadata converts b to the form that contains only the metadata that users see, as a property of type
// olm.csv.metadata; registries fetch its manifests from its image. Unlike [MigrateToCSVMetadata], it fails if that is
// impossible: with [ErrNoImage], with [ErrNoManifests], or with the error of a manifest. In that case, b is unchanged.
func ToMetadata(b *declcfg.Bundle) error {
	if b.Image == "" {
		return ErrNoImage
	}
	if slices.ContainsFunc(b.Properties, isCSVMetadata) {
		b.Properties = slices.DeleteFunc(slices.Clone(b.Properties), isBundleObject)
		return nil
	}
	changed, err := MigrateToCSVMetadata(b)
	if err == nil && !changed {
		return ErrNoManifests
	}
	return err
}

// MigrateToCSVMetadata is opm's migration bundle-object-to-csv-metadata: it removes the manifests, which are properties
// of type olm.bundle.object, and appends one property of type olm.csv.metadata. Registries fetch the manifests from the
// image. It reports whether it changed the bundle.
//
// A bundle is unchanged if it has no image, if it already has CSV metadata, or if no manifest is a
// ClusterServiceVersion. It is also unchanged after an error: a manifest before the first ClusterServiceVersion cannot
// be decoded, or parseCSVMetadata failed.
func MigrateToCSVMetadata(b *declcfg.Bundle) (changed bool, err error) {
	if b.Image == "" || slices.ContainsFunc(b.Properties, isCSVMetadata) {
		return false, nil
	}
	csv, err := b.ManifestCSV()
	if csv == nil || err != nil {
		return false, err
	}
	metadata, err := parseCSVMetadata(csv)
	if err != nil {
		return false, err
	}
	property, err := declcfg.NewProperty(declcfg.PropertyCSVMetadata, metadata)
	if err != nil {
		return false, err
	}
	kept := slices.DeleteFunc(slices.Clone(b.Properties), isBundleObject)
	b.Properties = append(kept, property)
	return true, nil
}

func isCSVMetadata(p declcfg.Property) bool { return p.Type == declcfg.PropertyCSVMetadata }

func isBundleObject(p declcfg.Property) bool { return p.Type == declcfg.PropertyBundleObject }
