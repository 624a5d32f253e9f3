package bundle

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"text/template"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// files are the files of a bundle by name, in addition to or in place of goodFiles.
type files map[string]string

// goodFiles is a bundle without errors and warnings.
var goodFiles = files{
	"manifests/csv.yaml": `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: oak.v1.0.0
spec:
  version: 1.0.0
  customresourcedefinitions:
    owned:
    - {name: oaks.wood.example.com, version: v1, kind: Oak}
`,
	"manifests/crd.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: oaks.wood.example.com
spec:
  group: wood.example.com
  names: {kind: Oak, plural: oaks}
  versions:
  - name: v1
`,
	"metadata/annotations.yaml": `annotations:
  operators.operatorframework.io.bundle.package.v1: oak
`,
}

func (f files) fs() fstest.MapFS {
	fsys := fstest.MapFS{}
	all := maps.Clone(goodFiles)
	maps.Copy(all, f)
	for name, content := range all {
		if content != "" {
			fsys[name] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	return fsys
}

// csvWith is the ClusterServiceVersion of goodFiles with lines of JSON or YAML in its spec in place of the owned kinds.
func csvWith(spec string) string {
	head, _, _ := strings.Cut(goodFiles["manifests/csv.yaml"], "  customresource")
	return head + spec
}

// shown returns the properties of b except manifests, one per line.
func shown(b *declcfg.Bundle) string {
	var lines []string
	for _, p := range b.Properties {
		if p.Type != declcfg.PropertyBundleObject {
			lines = append(lines, fmt.Sprintf("%s %s", p.Type, p.Value))
		}
	}
	return strings.Join(lines, "\n")
}

func TestProperties(t *testing.T) {
	const oak = `olm.gvk {"group":"wood.example.com","kind":"Oak","version":"v1"}` + "\n"
	const pkg = `olm.package {"packageName":"oak","version":"1.0.0"}`
	annotated := func(properties string) files {
		csv := strings.Replace(goodFiles["manifests/csv.yaml"], "spec:\n",
			"  annotations:\n    olm.properties: '"+properties+"'\nspec:\n", 1)
		return files{"manifests/csv.yaml": csv}
	}
	for _, test := range []struct {
		name  string
		files files
		want  string
	}{
		{"good", nil, oak + pkg},
		{"sorted by type, then value", files{"metadata/p.yaml": "properties:\n- {type: z, value: 1}\n- {type: a, value: 2}\n" +
			"- {type: a, value: 1}\n- {type: a, value: <b>}\n"},
			"a \"\\u003cb\\u003e\"\na 1\na 2\n" + oak + pkg + "\nz 1"},
		{"keys of YAML sorted, of JSON not", files{
			"metadata/a.yaml": "dependencies:\n- type: a\n  value: {z: 1.50, b: [9007199254740993, 12345678901234567890]}\n",
			"metadata/b.json": `{"properties": [{"type": "b", "value": {"z":1.50,"b":"<"}}]}`,
		}, `a {"b":[9007199254740993,12345678901234567890],"z":1.5}` + "\nb {\"z\":1.50,\"b\":\"<\"}\n" + oak + pkg},
		{"equal keys", files{"metadata/b.json": `{"properties": [{"type": "b", "value": {"a":1,"a":2}}]}`},
			`b {"a":2}` + "\n" + oak + pkg},
		{"no value", files{"metadata/p.yaml": "properties:\n- {type: a}\n- {type: b, value: null}\n- {}\n"},
			" null\na null\nb null\n" + oak + pkg},
		{"text of other types", files{"metadata/annotations.yaml": "annotations:\n" +
			"  operators.operatorframework.io.bundle.package.v1: 4.10\n  more: [1]\n"},
			oak + `olm.package {"packageName":"4.1","version":"1.0.0"}`},
		{"case of keys", files{"metadata/annotations.yaml": "Annotations:\n  " + strings.ToUpper(AnnotationPackage) + ": yes\n"},
			oak + `olm.package {"packageName":"true","version":"1.0.0"}`},
		{"annotations beat properties", files{"metadata/p.yaml": "properties:\n" +
			"- {type: olm.package, value: {packageName: elm, version: 3.0.0}}\n"}, oak + pkg},
		{"the csv beats both", annotated(`[{"type":"olm.package","value":{"version":"2","packageName":"elm","release":"1"}}]`),
			oak + `olm.package {"packageName":"elm","version":"2","release":"1"}`},
		{"of equal ones the first", files{
			"metadata/p.json":    `{"properties":[{"type":"olm.package","value":{"packageName":"elm","version":"2"}}]}`,
			"manifests/csv.yaml": annotated(`[{"type":"olm.package","value":{"packageName":"elm","version":"2"}}]`)["manifests/csv.yaml"],
		}, oak + pkg},
		{"merged", files{
			"metadata/p.yaml":    "properties:\n- {type: a, value: 1}\n- {type: a, value: 1}\n- {type: a, value: {b: 1}}\n",
			"manifests/csv.yaml": annotated(`[{"type": "a", "value": 1}, {"type": "a", "value": {"b": 1}}]`)["manifests/csv.yaml"],
		}, `a 1` + "\n" + `a {"b": 1}` + "\n" + `a {"b":1}` + "\n" + oak + pkg},
		{"kinds merged", files{
			"metadata/p.yaml": "properties:\n- {type: olm.gvk, value: {group: g, kind: K, version: v, more: 1}}\n" +
				"- {type: olm.gvk, value: {version: v1, group: wood.example.com, kind: Oak}}\n",
			"metadata/q.yaml": "dependencies:\n- {type: olm.gvk, value: {group: x.example.com, kind: X, version: v1}}\n",
			"manifests/csv.yaml": goodFiles["manifests/csv.yaml"] + "    required:\n    - {name: xs.x.example.com, version: v1, kind: X}\n" +
				"  apiservicedefinitions:\n    owned:\n    - {name: ys, group: yy, version: v1, kind: Yak}\n" +
				"    required:\n    - {name: zs, group: z, version: v1, kind: Z}\n",
		}, `olm.gvk {"group":"g","kind":"K","version":"v"}` + "\n" + oak + `olm.gvk {"group":"yy","kind":"Yak","version":"v1"}` + "\n" +
			`olm.gvk.required {"group":"x.example.com","kind":"X","version":"v1"}` + "\n" +
			`olm.gvk.required {"group":"z","kind":"Z","version":"v1"}` + "\n" + pkg},
		{"packages", files{"metadata/d.yaml": "dependencies:\n- {type: olm.package, value: {packageName: b, version: '>1'}}\n" +
			"- {type: olm.package, value: {version: 1.x, packageName: a}}\n"},
			oak + pkg + "\n" + `olm.package.required {"packageName":"a","versionRange":"1.x"}` + "\n" +
				`olm.package.required {"packageName":"b","versionRange":">1"}`},
		{"release", files{"manifests/csv.yaml": csvWith("  release: r.1\n"), "manifests/crd.yaml": ""},
			`olm.package {"packageName":"oak","version":"1.0.0","release":"r.1"}`},
		{"release of a number", files{"manifests/csv.yaml": csvWith("  release: 3.0\n"), "manifests/crd.yaml": ""},
			`olm.package {"packageName":"oak","version":"1.0.0","release":"3"}`},
		{"release of a fraction", files{"manifests/csv.yaml": csvWith("  release: 1.50\n"), "manifests/crd.yaml": ""},
			`olm.package {"packageName":"oak","version":"1.0.0","release":"1.5"}`},
		{"v1beta1", files{"manifests/crd.yaml": strings.ReplaceAll(strings.Replace(goodFiles["manifests/crd.yaml"],
			"k8s.io/v1", "k8s.io/v1beta1", 1), "  versions:\n  - name: v1\n", "  version: v1\n")}, oak + pkg},
		{"more versions", files{"manifests/crd.yaml": goodFiles["manifests/crd.yaml"] + "  - name: v0\n  version: ignored\n"},
			strings.Replace(oak, "v1", "v0", 1) + oak + pkg},
	} {
		b, err := Parse(test.files.fs(), "b", Options{Strict: true})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := shown(b); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
		declcfg.JSON.Append(nil, b) // must not panic
	}
}

func decodeManifest(p *declcfg.Property) (jsontext.Value, error) {
	var object declcfg.BundleObject
	if err := p.Unmarshal(&object); err != nil {
		return nil, err
	}
	return object.JSON()
}

func TestObjectsAreSorted(t *testing.T) {
	b, err := Parse(files{"manifests/zero.json": ` {"kind": "A", "apiVersion": "<", "n": [-0]}`}.fs(), "b", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	for _, p := range b.Properties {
		if isBundleObject(p) {
			manifest, err := decodeManifest(&p)
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, string(manifest))
		}
	}
	if len(objects) != 3 || !slices.IsSortedFunc(b.Properties, func(p, q declcfg.Property) int {
		return strings.Compare(p.Type+" "+string(p.Value), q.Type+" "+string(q.Value))
	}) {
		t.Errorf("got %v", objects)
	}
	if !slices.Contains(objects, `{"apiVersion":"\u003c","kind":"A","n":[0]}`) {
		t.Errorf("got %v", objects)
	}
}

func TestRelatedImages(t *testing.T) {
	const deployments = `  relatedImages: [{name: b, image: b:1, more: 1}, {name: b2, image: b:1}, {name: a, image: a:1}]
  install:
    strategy: %s
    spec:
      deployments:
      - spec:
          template:
            spec:
              containers: [{image: b:1}, {image: c:1}, {name: none}]
              initContainers: [{image: 0:1}, {image: c:1}]
`
	for _, test := range []struct{ strategy, image, want string }{
		{"deployment", "", "[{ } { 0:1} {a a:1} {b b:1} {b2 b:1} { c:1}]"},
		{"deployment", "oak:1", "[{ } { 0:1} {a a:1} {b b:1} {b2 b:1} { c:1} { oak:1}]"},
		{"deployment", "c:1", "[{ } { 0:1} {a a:1} {b b:1} {b2 b:1} { c:1}]"},
		{"other", "a:1", "[{a a:1} {b b:1} {b2 b:1}]"},
	} {
		files := files{"manifests/csv.yaml": csvWith(fmt.Sprintf(deployments, test.strategy)), "manifests/crd.yaml": ""}
		b, err := Parse(files.fs(), "b", Options{Image: test.image})
		if err != nil {
			t.Fatal(err)
		}
		type image struct{ Name, Image string }
		var got []image
		for _, i := range b.RelatedImages {
			got = append(got, image{i.Name, i.Image})
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%s, %q: got %v, want %s", test.strategy, test.image, got, test.want)
		}
	}
}

func TestImageRef(t *testing.T) {
	for _, test := range []struct{ template, image, want string }{
		{"r/{{.Package}}:{{.Name}}-{{.Version}}", "", "r/oak:oak.v1.0.0-1.0.0"},
		{"r/{{.Package}}", "given", "given"},
		{"{{.Digest}}", "given", "given"},
		{"{{.Digest}}", "", ""},
	} {
		tmpl := template.Must(template.New("ref").Parse(test.template))
		b, err := Parse(goodFiles.fs(), "b", Options{Image: test.image, ImageRef: tmpl})
		if test.want == "" {
			if err == nil || !strings.HasPrefix(err.Error(), "b: make image reference: ") {
				t.Errorf("%s: got %v", test.template, err)
			}
			continue
		}
		if err != nil || b.Image != test.want || len(b.RelatedImages) != 1 || b.RelatedImages[0].Image != test.want {
			t.Errorf("%s: got %+v, %v", test.template, b, err)
		}
	}
}

// TestFindings breaks the valid bundle in one way at a time. A warning reports a value that the bundle leaves out.
func TestFindings(t *testing.T) {
	const second = "---\nkind: ClusterServiceVersion\nmetadata: {name: elm}\n"
	csv, annotations := goodFiles["manifests/csv.yaml"], goodFiles["metadata/annotations.yaml"]
	for _, test := range []struct {
		name     string
		files    files
		warnings []string
		err      string
	}{
		{"good", nil, nil, ""},
		{"hidden file", files{"manifests/.hidden": "x: y: z"}, nil, ""},
		{"directory", files{"manifests/more/a.yaml": "kind: A"}, []string{
			"b/manifests/more: a directory: only files in manifests/"}, ""},
		{"no YAML", files{"manifests/a.yaml": "kind: A\nb: c: d\n"}, []string{"b/manifests/a.yaml:2:5: mapping values are not"}, ""},
		{"no JSON", files{"manifests/a.json": "{\"kind\": \"A\",\n\"a\" 1}"}, []string{"b/manifests/a.json:2:5: not valid JSON: invalid character '1' after object name"}, ""},
		{"JSON breaks off", files{"manifests/a.json": "{\"kind\": \"A\",\n"}, []string{"b/manifests/a.json:1:14: the JSON object that starts at 1:1 does not end"}, ""},
		{"no kind", files{"manifests/a.yaml": "# c\nkin: A\n"}, []string{"b/manifests/a.yaml:2:1: not a manifest: the object has no kind"}, ""},
		{"empty", files{"manifests/a.yaml": "# c\n"}, []string{"b/manifests/a.yaml:1:1: the file is empty"}, ""},
		{"first document empty", files{"manifests/a.yaml": "# c\n---\nkind: A\n"}, []string{
			"b/manifests/a.yaml:3:1: only the first document of a file counts, and it is empty"}, ""},
		{"separator", files{"manifests/a.yaml": "--- !tag\nkind: A\n"}, []string{"b/manifests/a.yaml:1:1: only a comment may follow ---"}, ""},
		{"more documents", files{"manifests/a.yaml": "kind: A\n---\n# c\n\n  kind: B\n---\nkind: C\n"}, []string{
			"b/manifests/a.yaml:5:3: a further document: only the first one of a file counts"}, ""},
		{"more behind the end", files{"manifests/a.yaml": "kind: A\n... # c\n\nkind: B\n"}, []string{
			"b/manifests/a.yaml:4:1: a further document: only the first one of a file counts"}, ""},
		{"more JSON", files{"manifests/a.json": `{"kind":"A"} {"kind":"B"}`}, []string{
			"b/manifests/a.json:1:14: a further document: only the first one of a file counts"}, ""},
		{"nothing more", files{"manifests/a.yaml": "---\nkind: A\n--- # c\n# c\n---\n"}, nil, ""},
		{"second CSV", files{"manifests/d.yaml": second}, []string{
			"b/manifests/d.yaml:2:1: a second ClusterServiceVersion: the one in b/manifests/csv.yaml counts"}, ""},
		{"no name", files{"manifests/csv.yaml": strings.Replace(csv, "name: oak", "nam: oak", 1)}, []string{
			"b/manifests/csv.yaml:4:3: metadata: no name, which is that of the bundle"}, ""},
		{"properties in the CSV", files{"manifests/csv.yaml": strings.Replace(csv, "  name:", "  annotations: {olm.properties: '{'}\n  name:", 1)},
			[]string{"b/manifests/csv.yaml:4:33: metadata.annotations.olm.properties: want a list of properties as JSON: unexp"}, ""},
		{"unknown definitions", files{"manifests/d.yaml": "apiVersion: apiextensions.k8s.io/v2\nkind: CustomResourceDefinition\n"}, []string{
			"b/manifests/d.yaml:1:13: apiVersion: a CustomResourceDefinition of version v1 or v1beta1 is known, no other"}, ""},
		{"metadata: list", files{"metadata/a.yaml": "- 1\n"}, []string{"b/metadata/a.yaml:1:1: want an object"}, ""},
		{"metadata: nothing known", files{"metadata/a.yaml": "a: 1\n"}, []string{
			"b/metadata/a.yaml:1:1: neither annotations nor dependencies nor properties"}, ""},
		{"metadata: wrong type", files{"metadata/a.yaml": "dependencies:\n- type: a\n- type: [b]\n"}, []string{
			"b/metadata/a.yaml:3:9: dependencies[1].type: want a string, found a list"}, ""},
		{"metadata: twice", files{"metadata/z.yaml": annotations + "properties: []\n"}, []string{
			"b/metadata/z.yaml:2:3: annotations: not read: those of b/metadata/annotations.yaml count"}, ""},

		{"no CSV", files{"manifests/csv.yaml": ""}, nil, "b/manifests: no ClusterServiceVersion among the manifests"},
		{"no spec", files{"manifests/csv.yaml": "kind: ClusterServiceVersion\nspec:\n"}, nil,
			"b/manifests/csv.yaml:1:1: the ClusterServiceVersion has no spec"},
		{"version of a number", files{"manifests/csv.yaml": strings.Replace(csv, "1.0.0\n  cus", "1.0\n  cus", 1)}, nil,
			"b/manifests/csv.yaml:6:12: spec.version: want a string, found a number; put it in quotes"},
		{"release of a list", files{"manifests/csv.yaml": csvWith("  release: []\n")}, nil,
			"b/manifests/csv.yaml:7:12: spec.release: "},
		{"deployment", files{"manifests/csv.yaml": csvWith("  install:\n    spec:\n      deployments:\n      - spec: {replicas: 'a'}\n")}, nil,
			"b/manifests/csv.yaml:10:26: spec.install.spec.deployments[0].spec.replicas: want a whole number, found a string"},
		{"owned kind", files{"manifests/csv.yaml": csv + "    - {name: elms.wood.example.com, version: v2, kind: Elm}\n"}, nil,
			`b/manifests/csv.yaml:10:7: spec.customresourcedefinitions.owned[1]: couldn't find {wood.example.com v2 Elm elms} ` +
				`in bundle: no manifest defines elms.wood.example.com, which oak.v1.0.0 owns`},
		{"owned name", files{"manifests/csv.yaml": csv + "    - {name: elms}\n"}, nil,
			`b/manifests/csv.yaml:10:7: spec.customresourcedefinitions.owned[1]: name "elms": want PLURAL.GROUP`},
		{"required name", files{"manifests/csv.yaml": csv + "    required: [{}]\n"}, nil,
			`b/manifests/csv.yaml:10:16: spec.customresourcedefinitions.required[0]: name "": want PLURAL.GROUP`},
		{"definition", files{"manifests/d.yaml": "apiVersion: a/v1\nkind: CustomResourceDefinition\nspec: {versions: {}}\n"}, nil,
			"b/manifests/d.yaml:3:18: spec.versions: want a list, found an object"},
		{"no annotations", files{"metadata/annotations.yaml": "annotations: {a: b}\n"}, nil,
			"b/metadata: no file with annotations of a bundle, such as operators.operatorframework.io.bundle.package.v1"},
		{"no package", files{"metadata/annotations.yaml": "annotations: {" + AnnotationChannels + ": a}\n"}, nil,
			"b/metadata/annotations.yaml:1:14: annotations: no operators.operatorframework.io.bundle.package.v1: the bundle has no package"},
		{"property", files{"metadata/p.yaml": "properties:\n- {type: olm.gvk, value: {kind: 1}}\n"}, nil,
			"b/metadata/p.yaml:2:33: properties[0].value.kind: want a string, found a number; put it in quotes"},
		{"property without value", files{"metadata/p.yaml": "properties:\n- type: olm.gvk\n"}, nil,
			"b/metadata/p.yaml:2:3: properties[0]: olm.gvk: no value"},
		{"property with a manifest", files{"metadata/p.yaml": "properties:\n- {type: olm.bundle.object, value: {data: Ww==}}\n"}, nil,
			"b/metadata/p.yaml:2:43: properties[0].value.data: neither a JSON nor a YAML manifest: 1:2: while parsing a flow node: " +
				"did not find expected node content"},
		{"property with a broken manifest", files{"metadata/p.yaml": "properties:\n- {type: olm.bundle.object, value: {data: ew==}}\n"},
			[]string{"b/metadata/p.yaml:2:43: properties[0].value.data: neither a JSON nor a YAML manifest: it begins with {"}, ""},
		{"dependency with a manifest", files{"metadata/d.yaml": "dependencies:\n- {type: olm.bundle.object}\n"}, nil,
			"b/metadata/d.yaml:2:3: dependencies[0]: olm.bundle.object: no value"},
		{"dependency", files{"metadata/p.yaml": "dependencies:\n- {type: olm.package, value: []}\n"}, nil,
			"b/metadata/p.yaml:2:30: dependencies[0].value: want an object, found a list"},
		{"several", files{"manifests/csv.yaml": csv + "    - {name: a}\n    - {name: b}\n"}, nil,
			"b/manifests/csv.yaml:10:7: spec.customresourcedefinitions.owned[1]: name \"a\": want PLURAL.GROUP, as the definition " +
				"of the kind is called\nb/manifests/csv.yaml:11:7: "},
	} {
		var warnings []string
		_, err := Parse(test.files.fs(), "b/", Options{Warn: func(err *declcfg.Error) { warnings = append(warnings, err.Error()) }})
		if !prefixes(warnings, test.warnings) {
			t.Errorf("%s: got warnings %q, want %q", test.name, warnings, test.warnings)
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.HasPrefix(err.Error(), test.err) {
			t.Errorf("%s: got error %v, want %s", test.name, err, test.err)
		}
		if err != nil {
			if _, ok := errors.AsType[*declcfg.Error](err); !ok {
				t.Errorf("%s: got a %T", test.name, err)
			}
		}
		if len(test.warnings) > 0 {
			if _, err := Parse(test.files.fs(), "b", Options{Strict: true}); err == nil || !strings.HasPrefix(err.Error(), test.warnings[0]) {
				t.Errorf("%s: strict: got %v", test.name, err)
			}
		}
	}
}

func prefixes(got, want []string) bool {
	return slices.EqualFunc(got, want, strings.HasPrefix)
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, goodFiles.fs()); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"manifests/dangling.yaml": "nowhere", "manifests/dir.yaml": ".", "manifests/link.yaml": "crd.yaml",
	} {
		if err := os.Symlink(target, dir+"/"+name); err != nil {
			t.Skip(err)
		}
	}
	var warnings []string
	b, err := Parse(os.DirFS(dir), "b", Options{Warn: func(err *declcfg.Error) { warnings = append(warnings, err.Error()) }})
	want := []string{"b/manifests/dangling.yaml: symbolic link to a file that", "b/manifests/dir.yaml: want a file, found a dir"}
	if err != nil || !prefixes(warnings, want) || len(b.Properties) != 5 {
		t.Errorf("got %v, %v", warnings, err)
	}
	if err := os.Truncate(dir+"/manifests/crd.yaml", maxFileSize+1); err != nil {
		t.Fatal(err)
	}
	_, err = Parse(os.DirFS(dir), "b", Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "b/manifests/crd.yaml: the file is too large: it has 67108865 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestForms(t *testing.T) {
	parse := func(image string) *declcfg.Bundle {
		b, err := Parse(goodFiles.fs(), "b", Options{Image: image})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := parse("i:1")
	if err := ToObjects(b); err != nil || len(b.Properties) != 4 {
		t.Errorf("objects to objects: got %v, %v", b.Properties, err)
	}
	if err := ToMetadata(b); err != nil || slices.ContainsFunc(b.Properties, isBundleObject) ||
		!slices.ContainsFunc(b.Properties, isCSVMetadata) {
		t.Errorf("objects to metadata: got %v, %v", b.Properties, err)
	}
	if err := ToMetadata(b); err != nil || len(b.Properties) != 3 {
		t.Errorf("metadata to metadata: got %v, %v", b.Properties, err)
	}
	if err := ToObjects(b); err != ErrNoManifests || len(b.Properties) != 3 {
		t.Errorf("metadata to objects: got %v, %v", b.Properties, err)
	}
	both := parse("i:1")
	both.Properties = append(both.Properties, b.Properties[2])
	if err := ToObjects(both); err != nil || len(both.Properties) != 4 {
		t.Errorf("both to objects: got %v, %v", both.Properties, err)
	}
	both.Properties = append(both.Properties, b.Properties[2])
	if err := ToMetadata(both); err != nil || len(both.Properties) != 3 {
		t.Errorf("both to metadata: got %v, %v", both.Properties, err)
	}
	if err := ToMetadata(parse("")); err != ErrNoImage {
		t.Errorf("no image: got %v", err)
	}
	if err := ToMetadata(&declcfg.Bundle{Image: "i:1"}); err != ErrNoManifests {
		t.Errorf("no manifests: got %v", err)
	}
}

// FuzzParse checks that neither parsing a bundle nor writing the result panics.
func FuzzParse(f *testing.F) {
	f.Add(goodFiles["manifests/csv.yaml"], goodFiles["manifests/crd.yaml"], goodFiles["metadata/annotations.yaml"], "")
	f.Add(csvWith("  release: 1\n"), "kind: CustomResourceDefinition\napiVersion: v1beta1", "annotations: {}",
		`{"properties":[{"type":"a","value":{"a":1,"a":2}}], "dependencies":[{"type":"olm.gvk"},{}]}`)
	f.Add(sample, "{", "---\n---", "\xff")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		files := files{"manifests/csv.yaml": a, "manifests/crd.yaml": b, "metadata/annotations.yaml": c, "metadata/d": d}
		parsed, err := Parse(files.fs(), "b", Options{Image: "i", Warn: func(err *declcfg.Error) { _ = err.Error() }})
		if err != nil {
			_ = err.Error()
			return
		}
		declcfg.JSON.Append(nil, parsed)
		declcfg.YAML.Append(nil, parsed)
		for _, p := range parsed.Properties {
			if isBundleObject(p) {
				if manifest, err := decodeManifest(&p); err != nil || !manifest.IsValid() {
					t.Errorf("%s: %v", p.Value, err)
				}
			}
		}
	})
}

func TestBundleObjectIsBase64(t *testing.T) {
	want := `{"data":"` + base64.StdEncoding.EncodeToString([]byte(`{"kind":"A"}`)) + `"}`
	if got := bundleObject([]byte(`{"kind":"A"}`)); string(got.Value) != want {
		t.Errorf("got %s, want %s", got.Value, want)
	}
}
