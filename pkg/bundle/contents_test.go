package bundle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestReadContents checks what OLM v1 reads of bundles, and the errors for bundles that it refuses. A row changes
// checkedFiles; the wanted lines are objects, warnings and errors.
func TestReadContents(t *testing.T) {
	const (
		service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
		csv2    = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: oak.v2.0.0}\n"
		oak     = "ClusterServiceVersion oak.v1.0.0"
		crd     = "CustomResourceDefinition oaks.wood.example.com"
	)
	for _, tt := range []struct {
		name  string
		files files
		want  []string
	}{
		{"a bundle", checkedFiles, []string{oak, crd}},
		{"a further document", change("manifests/crd.yaml", "", "---\n"+service), []string{oak, crd, "Service s"}},
		{"an empty first document", change("manifests/s.yaml", "", "# A service.\n---\n# Empty.\n---\n"+service), []string{
			oak, crd, "Service s"}},
		{"several JSON values", change("manifests/s.json", "",
			`{"kind": "A", "metadata": {"name": "a"}} {"kind": "B", "metadata": {"name": "b"}}`), []string{oak, crd, "A a", "B b"}},
		{"a List", change("manifests/s.yaml", "", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: v1, "+
			"kind: B, metadata: {name: b}}"), []string{oak, crd, "A ", "B b"}},
		{"a list of a kind", change("manifests/s.yaml", "", "apiVersion: v1\nkind: SecretList\nitems: [{metadata: {name: a}}]"),
			[]string{oak, crd, "Secret a"}},
		{"an empty List", change("manifests/s.yaml", "", "kind: List\nitems: null"), []string{oak, crd}},
		{"a List in a List", change("manifests/s.yaml", "", "kind: List\nitems: [{apiVersion: v1, kind: List, items: []}]"), []string{
			"b/manifests/s.yaml:2:9: items[0]: a list in a list: OLM v1 does not flatten it"}},
		{"an item without kind", change("manifests/s.yaml", "", "kind: List\nitems: [{apiVersion: v1}]"), []string{
			"b/manifests/s.yaml:2:9: items[0]: not a manifest: the object has no kind"}},
		{"an item without apiVersion", change("manifests/s.yaml", "", "kind: List\nitems: [{kind: A}]"), []string{
			"b/manifests/s.yaml:2:9: items[0]: not a manifest: the item has no apiVersion"}},
		{"a wrong value in an item", change("manifests/s.yaml", "",
			"kind: List\nitems:\n- {apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, spec: {version: []}}"), []string{
			"warning: b/manifests/csv.yaml:1:1: not the last ClusterServiceVersion: OLM v1 uses that in b/manifests/s.yaml",
			"b/manifests/s.yaml:3:92: items[0].spec.version: "}},
		{"a hidden file", change("manifests/.s.yaml", "", service), []string{oak, crd, "Service s"}},
		{"an empty hidden file", change("manifests/.keep", "", ""), []string{oak, crd}},
		{"two ClusterServiceVersions", change("manifests/d.yaml", "", csv2), []string{
			"warning: b/manifests/csv.yaml:1:1: not the last ClusterServiceVersion: OLM v1 uses that in b/manifests/d.yaml",
			"ClusterServiceVersion oak.v2.0.0", crd, "no install modes"}},
		{"no ClusterServiceVersion", checkedFiles.rename("manifests/csv.yaml", "metadata/x.yaml"), []string{
			`b/manifests: no ClusterServiceVersion found in "manifests"`}},
		{"no kind", change("manifests/a.yaml", "", "a: b"), []string{
			"b/manifests/a.yaml:1:1: not a manifest: the object has no kind"}},
		{"a kind that is no text", change("manifests/a.yaml", "", "kind: 5"), []string{
			"b/manifests/a.yaml:1:1: not a manifest: the object has no kind"}},
		{"text", change("manifests/README.md", "", "# Oak\n\nAn operator.\n"), []string{
			"b/manifests/README.md:3:1: "}},
		{"a list of YAML", change("manifests/a.yaml", "", "- kind: A"), []string{
			"b/manifests/a.yaml:1:1: not a manifest: want an object"}},
		{"broken YAML", change("manifests/crd.yaml", "", "---\na: b: c"), []string{"b/manifests/crd.yaml:14:5: "}},
		{"a binary file", change("manifests/a.bin", "", "\x00\x01\x00"), []string{"b/manifests/a.bin:1:1: "}},
		{"labels of a wrong type", change("manifests/a.yaml", "", "kind: Secret\nmetadata: {name: a, labels: {part: {a: 1}}}"), []string{
			"b/manifests/a.yaml:2:36: metadata.labels.part: want a string, found an object"}},
		{"a directory", change("manifests/a/b.yaml", "", service), []string{
			`b/manifests/a: subdirectories are not allowed within the "manifests" directory of the bundle image filesystem: `}},
		{"the case of a key", change("manifests/csv.yaml", "installModes", "InstallModes"), []string{oak, crd, "no install modes"}},
		{"the annotations in another file", checkedFiles.rename("metadata/annotations.yaml", "metadata/annotations.yml"), []string{
			"warning: b/metadata/annotations.yml:2:3: annotations: OLM v1 does not read it here: it reads annotations from ",
			"b/metadata/annotations.yaml: the file does not exist, and OLM v1 reads the annotations of a bundle from it"}},
		{"no package", change("metadata/annotations.yaml", "bundle.package.v1", "bundle.pack.v1"), []string{oak, crd, "no package"}},
		{"a comment before the annotations", change("metadata/annotations.yaml", "annotations:", "# Oak.\n---\nannotations:"),
			[]string{oak, crd}},
		{"empty annotations", files{
			"metadata/annotations.yaml": "", "manifests/csv.yaml": checkedFiles["manifests/csv.yaml"],
		}, []string{oak, "no package"}},
		{"annotations of a wrong type", change("metadata/annotations.yaml", "stable", "[stable]"), []string{
			"b/metadata/annotations.yaml:6:54: annotations.operators.operatorframework.io.bundle.channels.v1: want "}},
		{"properties", change("metadata/properties.yaml", "", "properties: [{type: a, value: b}]"), []string{
			oak, crd, `properties [{"type":"a","value":"b"}]`}},
		{"empty properties", change("metadata/properties.yaml", "", ""), []string{oak, crd}},
		{"no properties", change("metadata/properties.yaml", "", "{}"), []string{oak, crd, "properties null"}},
		{"a comment as properties", change("metadata/properties.yaml", "", "# None."), []string{oak, crd, "properties null"}},
		{"properties that are an object", change("metadata/properties.yaml", "", "properties: {}"), []string{
			"b/metadata/properties.yaml:1:13: properties: want a list, found an object"}},
		{"properties in another file", change("metadata/properties.yml", "", "properties: [{type: a, value: b}]"), []string{
			"warning: b/metadata/properties.yml:1:13: properties: OLM v1 does not read it here: it reads properties from ",
			oak, crd}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := readLines(t, tt.files)
			matches := len(got) == len(tt.want)
			for i := range got {
				matches = matches && strings.HasPrefix(got[i], tt.want[i])
			}
			if !matches {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// readLines returns the warnings, and the errors or the contents of a bundle.
func readLines(t *testing.T, bundle files) (lines []string) {
	t.Helper()
	fsys := mapFS()
	for name, text := range bundle {
		fsys[name] = mapFS(name, text)[name]
	}
	warn := func(e *declcfg.Error) { lines = append(lines, "warning: "+e.Error()) }
	c, err := ReadContents(fsys, "b", Options{Warn: warn})
	if err != nil {
		return append(lines, strings.Split(err.Error(), "\n")...)
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add("%s %s", c.CSV.Kind, c.CSV.Name)
	for _, crd := range c.CRDs {
		add("%s %s", crd.Kind, crd.Name)
	}
	for _, o := range c.Others {
		add("%s %s", o.GetKind(), o.GetName())
	}
	if len(c.CSV.Spec.InstallModes) == 0 {
		add("no install modes")
	}
	if c.Package == "" {
		add("no package")
	}
	if text, ok := c.CSV.Annotations[annotationProperties]; ok {
		add("properties %s", text)
	}
	return lines
}

// TestStrictContents checks that what OLM v1 does not read is an error if the options are strict.
func TestStrictContents(t *testing.T) {
	fsys := mapFS()
	for name, text := range change("metadata/a.yaml", "", "properties: [{type: a, value: b}]") {
		fsys[name] = mapFS(name, text)[name]
	}
	if _, err := ReadContents(fsys, "b", Options{Strict: true}); err == nil || !strings.Contains(err.Error(), "OLM v1 does not read it") {
		t.Errorf("the error is %v", err)
	}
}
