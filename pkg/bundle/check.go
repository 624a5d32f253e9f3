package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// CheckOptions are optional checks. The zero value adds none.
type CheckOptions struct {
	OperatorHub   bool // the requirements of OperatorHub.io
	BundleObjects bool // that manifests do not endanger the cluster

	// Categories are allowed by OperatorHub; nil for its own list.
	Categories []string

	// Labels are those of the image of the bundle; nil if it is not in an image.
	Labels map[string]string
}

// Check returns everything that is wrong with the bundle that fsys holds, by place. Positions begin with name.
//
// It finds what the validators of github.com/operator-framework/api find, and a test compares the verdicts. It does not
// call them, because their errors have no places.
func Check(fsys fs.FS, name string, opts CheckOptions) []*problem.Problem {
	c := &checker{parser: parser{fsys: fsys, name: strings.TrimSuffix(name, "/")}, opts: opts}
	c.parser.opts.Warn = func(err *declcfg.Error) { c.report("left-out", err) }
	c.check()
	for _, err := range c.errs {
		if e, ok := errors.AsType[*declcfg.Error](err); ok {
			c.report("unreadable", e)
		}
	}
	return problem.Sort(c.problems)
}

// A checker collects what is wrong with one bundle.
type checker struct {
	parser
	opts     CheckOptions
	problems []*problem.Problem

	manifests []*manifest
	lost      bool                            // a file that cannot be read may contain more manifests
	pkg       string                          // of the bundle, "" if no annotation names it
	csv       *v1alpha1.ClusterServiceVersion // nil if there is none that fits the API
	csvFile   *manifest                       // the first ClusterServiceVersion, which may not fit the API
}

// report adds a problem with the rule of that name.
func (c *checker) report(rule string, err *declcfg.Error) {
	p := &problem.Problem{Rule: rule, Severity: Rules().Of(rule).Severity, Pos: err.Pos, Message: err.Err.Error()}
	if err.Pointer != "" {
		p.Path = declcfg.Path(err.Pointer)
	}
	c.problems = append(c.problems, p)
}

// find adds a problem with the value at ptr.
func (c *checker) find(rule string, doc *document, ptr jsontext.Pointer, format string, args ...any) {
	c.report(rule, doc.errorIn(ptr, fmt.Errorf(format, args...)))
}

// findIn adds a problem with a file or directory.
func (c *checker) findIn(rule, file, format string, args ...any) {
	c.report(rule, c.inFile(file, fmt.Errorf(format, args...)))
}

func (c *checker) check() {
	if !c.checkLayout() {
		return
	}
	c.checkSize()
	mediaType := MediaTypeHelm
	if !c.isChart() {
		c.readAll()
		mediaType = c.mediaType()
	}
	c.checkMetadata(mediaType)
	if mediaType == MediaTypeHelm {
		return // as in upstream, the content of a chart is not checked
	}
	for _, m := range c.manifests {
		c.checkManifest(m, mediaType)
	}
	if c.csv != nil {
		c.checkCSV()
		c.checkOwned()
		c.checkServiceAccounts()
		c.checkRelatedImages()
		if c.opts.OperatorHub {
			c.checkHub()
		}
	}
}

// checkLayout reports whether there is anything more to check.
func (c *checker) checkLayout() bool {
	complete := true
	for _, dir := range []string{manifestsDir, metadataDir} {
		entries, err := fs.ReadDir(c.fsys, dir)
		switch {
		case err != nil:
			c.findIn("layout", dir, "%w", regular.WithoutPath(err))
		case len(entries) == 0:
			c.findIn("layout", dir, "the directory is empty")
		default:
			continue
		}
		complete = false
	}
	return complete
}

// readAll reads the files in manifests/. Unlike in [Parse], a file that is not a manifest is an error.
func (c *checker) readAll() {
	for _, entry := range c.readDir(manifestsDir) {
		name := path.Join(manifestsDir, entry.Name())
		switch {
		case entry.IsDir():
			c.report("left-out", c.inFile(name, errDirectory))
		case strings.HasPrefix(entry.Name(), "."):
		default:
			c.readOne(name)
		}
	}
}

func (c *checker) readOne(name string) {
	content, ok := c.readFile(name)
	if !ok {
		c.lost = true
		return
	}
	doc, err := readDocument(c.label(name), content, nil)
	if err != nil {
		c.lost = true
		c.report("unreadable", err)
		return
	}
	if pos, ok := doc.more(); ok {
		c.report("left-out", &declcfg.Error{Pos: pos, Err: errFurther})
	}
	m := &manifest{document: doc, printed: c.printManifest(doc.json)}
	m.apiVersion, m.kind = typeOf(m.printed)
	m.keep()
	c.manifests = append(c.manifests, m)
}

// isChart reports whether the manifests are a chart, as detectMediaType does.
func (c *checker) isChart() bool {
	text, err := readRegular(c.fsys, path.Join(manifestsDir, chartFile))
	return err == nil && isChart(text)
}

// mediaType returns the media type of manifests that are not a chart.
func (c *checker) mediaType() string {
	isCSV := func(m *manifest) bool { return m.kind == kindCSV }
	if slices.ContainsFunc(c.manifests, isCSV) {
		return MediaTypeRegistry
	}
	return MediaTypePlain
}
