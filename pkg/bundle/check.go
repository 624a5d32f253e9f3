package bundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/encoding"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/platform"
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

	// Labels are the labels of the bundle image; nil if the bundle is not in an image.
	Labels map[string]string
}

// Check returns all problems of the bundle in fsys, sorted by position. Positions begin with name.
//
// It reports the problems that the validators of github.com/operator-framework/api report; tests compare the results
// for published and for modified bundles. It does not call the validators, because their errors have no positions. Only
// CustomResourceDefinitions are validated by a library, k8s.io/apiextensions-apiserver, whose field paths become
// positions.
func Check(fsys fs.FS, name string, opts CheckOptions) []*problem.Problem {
	c := &checker{parser: parser{fsys: fsys, name: strings.TrimSuffix(name, "/")}, opts: opts}
	c.parser.opts.Warn = func(err *declcfg.Error) { c.report(ruleLeftOut, err) }
	c.check()
	for _, err := range c.errs {
		if e, ok := errors.AsType[*declcfg.Error](err); ok {
			c.report(ruleUnreadable, e)
		}
	}
	return problem.Sort(c.problems)
}

type checker struct {
	parser
	opts     CheckOptions
	problems []*problem.Problem

	manifests  []*manifest
	incomplete bool                            // a file that cannot be read may contain more manifests
	pkg        string                          // of the bundle, "" if no annotation names it
	csv        *v1alpha1.ClusterServiceVersion // nil if none matches the API
	csvFile    *manifest                       // the first ClusterServiceVersion, which may not match the API
}

func (c *checker) report(rule *problem.Rule, err *declcfg.Error) {
	p := &problem.Problem{Rule: rule.Name, Severity: rule.Severity, Pos: err.Pos, Message: err.Err.Error()}
	if err.Pointer != "" {
		p.Path = place.Path(err.Pointer)
	}
	c.problems = append(c.problems, p)
}

func (c *checker) reportAt(
	rule *problem.Rule, doc *document, ptr jsontext.Pointer, format string, args ...any,
) {
	c.report(rule, doc.errorIn(ptr, fmt.Errorf(format, args...)))
}

func (c *checker) reportFile(rule *problem.Rule, file, format string, args ...any) {
	c.report(rule, c.inFile(file, fmt.Errorf(format, args...)))
}

func (c *checker) check() {
	complete := true
	for _, dir := range []string{manifestsDir, metadataDir} {
		entries, err := fs.ReadDir(c.fsys, dir)
		if err != nil {
			c.reportFile(ruleLayout, dir, "%w", regular.WithoutPath(err))
		} else if len(entries) == 0 {
			c.reportFile(ruleLayout, dir, "the directory is empty")
		}
		complete = complete && err == nil && len(entries) > 0
	}
	if !complete {
		return
	}
	c.checkSize()
	mediaType := MediaTypeHelm
	chart, err := readRegular(c.fsys, path.Join(manifestsDir, chartFile))
	if err != nil || !isChart(chart) { // as detectMediaType decides
		c.readAll()
		mediaType = MediaTypePlain
		if slices.ContainsFunc(c.manifests, func(m *manifest) bool { return m.kind == kindCSV }) {
			mediaType = MediaTypeRegistry
		}
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
		c.checkVersion()
		c.checkOwned()
		c.checkWebhooks()
		c.checkOperator()
		c.checkServiceAccounts()
		c.checkRelatedImages()
		c.checkV1()
		if c.opts.OperatorHub {
			c.checkHub()
		}
		c.checkSchema()
	}
}

// The parts of manifests/ that only one version of OLM reads.
var (
	errSubdirectory    = errors.New("a directory: OLM Classic ignores it, and OLM v1 refuses the bundle")
	errHidden          = errors.New("a hidden file: OLM Classic ignores it, and OLM v1 reads it as a manifest")
	errFurtherManifest = errors.New("a further document: OLM Classic reads only the first one of a file, OLM v1 reads all")
)

// readAll reads the files in manifests/. Unlike in [Parse], a file that is not a manifest is an error.
func (c *checker) readAll() {
	for _, entry := range c.readDir(manifestsDir) {
		name := path.Join(manifestsDir, entry.Name())
		if entry.IsDir() {
			c.report(ruleLeftOut, c.inFile(name, errSubdirectory))
			continue
		}
		content, ok := c.readFile(name)
		if strings.HasPrefix(entry.Name(), ".") {
			if ok && len(bytes.TrimSpace(content)) > 0 {
				c.report(ruleLeftOut, c.inFile(name, errHidden))
			}
			continue
		}
		if !ok {
			c.incomplete = true
			continue
		}
		doc, err := readDocument(c.label(name), content, nil)
		if err != nil {
			c.incomplete = true
			c.report(ruleUnreadable, err)
			continue
		}
		if pos, ok := doc.continuation(); ok {
			c.report(ruleLeftOut, &declcfg.Error{Pos: pos, Err: errFurtherManifest})
		}
		c.checkKeys(doc)
		m := &manifest{document: doc, printed: c.printManifest(doc.json)}
		m.apiVersion, m.kind = typeOf(m.printed)
		m.retain()
		c.manifests = append(c.manifests, m)
	}
}

// checkKeys reports the keys that an object of doc has twice.
func (c *checker) checkKeys(doc *document) {
	for _, err := range doc.repeatedKeys() {
		c.report(ruleDuplicateKey, err)
	}
}

// checkMetadata checks annotations and dependencies, and reports values that are ignored when the bundle is read.
func (c *checker) checkMetadata(mediaType string) {
	all := new(metadata)
	found := false
	for _, entry := range c.readDir(metadataDir) {
		name := path.Join(metadataDir, entry.Name())
		if entry.IsDir() {
			c.report(ruleLeftOut, c.inFile(name, errDirectory))
			continue
		}
		doc := c.readDocument(name)
		if doc == nil {
			continue
		}
		doc.normalize()
		c.checkKeys(doc)
		c.readMetadataFile(all, doc)
		found = found || c.checkAnnotations(doc, mediaType)
	}
	if !found {
		c.reportFile(ruleAnnotations, metadataDir, "no file contains the annotations of a bundle")
	}
	for _, err := range c.misnamed(all) {
		c.report(ruleLeftOut, err)
	}
	for i, d := range all.dependencies {
		c.checkDependency(all.from.dependencies, place.Item("/dependencies", i), d)
	}
}

// checkAnnotations checks the annotations in doc, and reports whether there are any.
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
			c.reportAt(ruleAnnotations, doc, "/annotations", "no %s", label[0])
		}
	}
	if raw, ok := file.Annotations[platform.AnnotationVersions]; ok {
		c.checkReleases(doc, jsontext.Pointer("/annotations").AppendToken(platform.AnnotationVersions), raw)
	}
	return true
}

// checkReleases checks the annotation with the releases of OpenShift, which is at ptr.
func (c *checker) checkReleases(doc *document, ptr jsontext.Pointer, raw jsontext.Value) {
	var decoded text
	if _, err := decode(raw, &decoded); err != nil {
		c.reportAt(ruleOpenShiftVersions, doc, ptr, "%w", err)
		return
	}
	supported, err := platform.ParseSupported(string(decoded))
	if err != nil {
		c.reportAt(ruleOpenShiftVersions, doc, ptr, "%w", err)
		return
	}
	contained, missed := supported.Releases()
	switch {
	case supported.IsOutdated():
		c.reportAt(ruleOpenShiftVersions, doc, ptr, "%q is outdated: the bundle is in no catalog of %s or later",
			string(decoded), missed[0])
	case len(missed) > 0:
		c.reportAt(ruleOpenShiftReleases, doc, ptr, "the bundle is in the catalogs of OpenShift %s, not of %s",
			cmp.Or(joinReleases(contained), "no known release"), joinReleases(missed))
	}
}

func joinReleases(all []platform.Version) string {
	var texts []string
	for _, v := range all {
		texts = append(texts, v.String())
	}
	return strings.Join(texts, ", ")
}

// checkAnnotation checks one annotation. want is its value according to the files, if they determine it.
func (c *checker) checkAnnotation(doc *document, key string, raw jsontext.Value, want string) {
	ptr := jsontext.Pointer("/annotations").AppendToken(key)
	var decoded text
	if _, err := decode(raw, &decoded); err != nil {
		c.reportAt(ruleAnnotations, doc, ptr, "%w", err)
		return
	}
	value := string(decoded)
	if label, ok := c.opts.Labels[key]; c.opts.Labels != nil && (!ok || label != value) {
		c.reportAt(ruleLabel, doc, ptr, "%q, but the label of the image is %q", value, label)
	}
	switch {
	case strings.TrimSpace(value) == "":
		c.reportAt(ruleAnnotations, doc, ptr, "the value is empty")
	case key == AnnotationPackage:
		c.pkg = value
		if err := k8sname.Label(value); err != nil {
			c.reportAt(rulePackageName, doc, ptr, "invalid package name %q: %w", value, err)
		}
	case key == AnnotationChannels:
		c.checkChannels(doc, ptr, value)
	case key == AnnotationDefaultChannel:
		c.checkName(doc, ptr, value)
	case key == AnnotationMediaType:
		switch found := legible.WhiteSpace(value, ""); {
		case found != "":
			c.reportAt(ruleMediaType, doc, ptr, "%q: %s (want %q)", value, found, want)
		case value == want, c.incomplete && want == MediaTypePlain: // an unreadable manifest may decide
		case value == MediaTypeRegistry && want == MediaTypePlain:
			c.reportAt(ruleMediaType, doc, ptr, "%s, but there is no %s in manifests/", value, kindCSV)
		default:
			c.reportAt(ruleMediaType, doc, ptr, "%s, but the manifests are %s", value, want)
		}
	case key == AnnotationManifests || key == AnnotationMetadata:
		if path.Clean(value) != path.Clean(want) {
			err := fmt.Errorf("want %q", want)
			c.reportAt(ruleDirectory, doc, ptr, "%q: %w", value, legible.ExplainWhiteSpace(err, value, ""))
		}
	}
}

// checkChannels checks the names of channels, separated by commas.
func (c *checker) checkChannels(doc *document, ptr jsontext.Pointer, value string) {
	for i, name := range strings.Split(value, ",") {
		if name == "" {
			c.reportAt(ruleChannelName, doc, ptr, "%q: name %d is empty", value, i+1)
		}
		c.checkName(doc, ptr, name)
	}
}

// checkName reports white space in the name of a channel.
func (c *checker) checkName(doc *document, ptr jsontext.Pointer, name string) {
	if found := legible.WhiteSpace(name, ""); found != "" {
		c.reportAt(ruleWhiteSpace, doc, ptr, "the name %q has white space: %s", name, found)
	}
}

func (c *checker) checkDependency(doc *document, ptr jsontext.Pointer, d declaration) {
	check, ok := dependencyTypes[string(d.Type)]
	if !ok {
		c.reportAt(ruleDependencies, doc, ptr,
			"unknown type %q, want olm.gvk, olm.package, olm.label or olm.constraint", d.Type)
		return
	}
	if d.Value == nil {
		c.reportAt(ruleDependencies, doc, ptr, "value is required")
		return
	}
	at, problem := check(d.Value)
	if problem != "" {
		c.reportAt(ruleDependencies, doc, ptr+"/value"+at, "%s", problem)
	}
}

// dependencyTypes are the checks of the values of dependencies, by type. They return the first problem, "" for none.
var dependencyTypes = map[string]func(jsontext.Value) (jsontext.Pointer, string){
	declcfg.PropertyGVK:        checkGVK,
	declcfg.PropertyPackage:    checkPackage,
	"olm.label":                checkLabel,
	declcfg.PropertyConstraint: checkConstraint,
}

func checkGVK(value jsontext.Value) (jsontext.Pointer, string) {
	var api declcfg.GVK
	if ptr, err := decode(value, &api); err != nil {
		return ptr, err.Error()
	}
	return "", cmp.Or(missing("group", api.Group), missing("kind", api.Kind), missing("version", api.Version))
}

func checkPackage(value jsontext.Value) (jsontext.Pointer, string) {
	var pkg declcfg.PackageProperty
	if ptr, err := decode(value, &pkg); err != nil {
		return ptr, err.Error()
	}
	if problem := cmp.Or(missing("packageName", pkg.PackageName), missing("version", pkg.Version)); problem != "" {
		return "", problem
	}
	if err := k8sname.Label(pkg.PackageName); err != nil {
		return "/packageName", fmt.Sprintf("invalid package name %q: %v", pkg.PackageName, err)
	}
	if _, err := semver.ParseRange(pkg.Version); err != nil {
		return "/version", "not a valid version range: " + legible.ExplainWhiteSpace(err, pkg.Version, " ").Error()
	}
	return "", ""
}

func checkLabel(value jsontext.Value) (jsontext.Pointer, string) {
	var label struct {
		Label string `json:"label"`
	}
	if ptr, err := decode(value, &label); err != nil {
		return ptr, err.Error()
	}
	return "", missing("label", label.Label)
}

// checkConstraint checks only the outermost constraint. CEL rules are compiled when the catalog is validated.
func checkConstraint(value jsontext.Value) (jsontext.Pointer, string) {
	var constraint struct {
		CEL *struct {
			Rule string `json:"rule"`
		} `json:"cel"`
		GVK     jsontext.Value `json:"gvk"`
		Package jsontext.Value `json:"package"`
		All     jsontext.Value `json:"all"`
		Any     jsontext.Value `json:"any"`
		Not     jsontext.Value `json:"not"`
	}
	if ptr, err := decode(value, &constraint); err != nil {
		return ptr, err.Error()
	}
	kinds := 0
	for _, kind := range []jsontext.Value{
		constraint.GVK, constraint.Package, constraint.All, constraint.Any, constraint.Not,
	} {
		if kind != nil {
			kinds++
		}
	}
	if constraint.CEL != nil {
		kinds++
		if constraint.CEL.Rule == "" {
			return "/cel", missing("rule", "")
		}
	}
	if kinds != 1 {
		return "", "want one of cel, gvk, package, all, any or not"
	}
	return "", ""
}

func missing(key, value string) string {
	if value == "" {
		return key + " is required"
	}
	return ""
}

// OLM unpacks a bundle into a ConfigMap and compresses each file. The maximum size of a Kubernetes object is
// maxBundleSize; the validators of upstream warn from nearBundleSize on.
const (
	maxBundleSize  = 1 << 20
	nearBundleSize = maxBundleSize * 85 / 100
)

// checkSize reports a bundle that is too large for OLM to unpack, or nearly too large. It ignores unreadable files,
// which other checks report.
func (c *checker) checkSize() {
	size, largest, file := 0, 0, ""
	for _, dir := range []string{manifestsDir, metadataDir} {
		entries, err := fs.ReadDir(c.fsys, dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			name := path.Join(dir, entry.Name())
			text, err := readRegular(c.fsys, name)
			if err != nil {
				continue
			}
			if packed, err := encoding.GzipBase64Encode(text); err == nil {
				size += len(packed)
				if len(packed) > largest {
					largest, file = len(packed), name
				}
			}
		}
	}
	rule, what := ruleBundleSizeNear, "near the limit of OLM"
	if size > maxBundleSize {
		rule, what = ruleBundleSize, "OLM cannot unpack the bundle"
	}
	if size > nearBundleSize {
		c.reportFile(rule, manifestsDir, "%s: when packed, it has %d KB of %d KB; the largest file is %s with %d KB",
			what, size>>10, maxBundleSize>>10, file, largest>>10)
	}
}
