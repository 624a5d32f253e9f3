package template_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A bundles is a registry with bundle images.
type bundles struct {
	host string
	opts render.Options
}

func newBundles(t testing.TB) *bundles {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0))))
	t.Cleanup(server.Close)
	opener := image.NewOpener(image.Options{Insecure: true})
	t.Cleanup(func() { opener.Close() })
	return &bundles{strings.TrimPrefix(server.URL, "http://"), render.Options{
		Images: func() (*image.Opener, error) { return opener, nil }, Bundles: &bundle.Options{},
	}}
}

// put pushes a bundle image to the registry, and returns its reference.
func (b *bundles) put(t testing.TB, path, pkg, csvName, spec string) string {
	t.Helper()
	img, err := image.Build(image.BuildOptions{
		Labels: map[string]string{image.LabelPackage: pkg},
		Contents: []image.Content{{Source: fstest.MapFS{
			"manifests/csv.yaml": {Data: []byte("kind: ClusterServiceVersion\nmetadata: {name: " + csvName + "}\nspec:\n  " + spec + "\n")},
			"metadata/annotations.yaml": {Data: []byte("annotations:\n  " + image.LabelPackage + ": " + pkg + "\n  " +
				bundle.AnnotationChannels + ": stable\n")},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ref := b.host + "/" + path
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, img); err != nil {
		t.Fatal(err)
	}
	return ref
}

// rendered returns the output of a template, and its errors and warnings, one per line. HOST replaces the host of the
// registry.
func (b *bundles) rendered(ctx context.Context, text string, o template.Options) (out string, said []string) {
	say := func(what string, err error) {
		said = append(said, strings.ReplaceAll(what+err.Error(), b.host, "HOST"))
	}
	warn := func(e *declcfg.Error) { say("warning: ", e) }
	text = strings.ReplaceAll(text, "HOST", b.host)
	t, err := template.Parse("t.yaml", []byte(text), template.Detect, warn)
	if err == nil {
		out, err = b.render(ctx, t, o)
	}
	if err != nil {
		say("", err)
	}
	return strings.ReplaceAll(out, b.host, "HOST"), said
}

func (b *bundles) render(ctx context.Context, t *template.Template, o template.Options) (string, error) {
	pulled, err := t.Pull(ctx, b.opts)
	if err != nil {
		return "", err
	}
	defer pulled.Close()
	catalog, err := t.Render(ctx, pulled, o)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = declcfg.Write(ctx, &out, catalog.Metas, declcfg.WriteOptions{Format: declcfg.YAML, Edit: catalog.Edit})
	return out.String(), err
}

// invalid returns the errors of a catalog.
func invalid(t *testing.T, catalog string) []*problem.Problem {
	t.Helper()
	report, err := validate.Catalog(t.Context(), validate.Options{ErrorsOnly: true}, render.Text("catalog", []byte(catalog)))
	if err != nil {
		t.Fatal(err)
	}
	return report.Problems
}

func TestMistakes(t *testing.T) {
	b := newBundles(t)
	b.put(t, "oak:1.0.0", "oak", "oak.v1.0.0", "version: 1.0.0")
	b.put(t, "oak:1.0.1", "oak", "oak.v1.0.1", "version: 1.0.1")
	b.put(t, "oak:same", "oak", "oak.same", "version: 1.0.0+x")
	b.put(t, "oak:bad", "oak", "oak.bad", "version: banana")
	b.put(t, "oak:rebuilt", "oak", "oak.v1.0.0", "version: 1.0.2")
	b.put(t, "elm:1.0.0", "elm", "elm.v1.0.0", "version: 1.0.0")
	const catalog = `schema: olm.template.substitutes
entries:
- {schema: olm.package, name: oak, defaultChannel: c}
- schema: olm.channel
  package: oak
  name: c
  entries: [{name: oak.v1.0.0}]
- schema: olm.bundle
  package: oak
  name: oak.v1.0.0
  image: HOST/oak:1.0.0
  properties: [{type: olm.package, value: {packageName: oak, version: 1.0.0}}]
`
	tests := []struct {
		name, text string
		want       []string // parts of the expected errors and warnings
	}{
		{"no document", "# nothing\n", []string{"t.yaml:1:1: the file is empty"}},
		{"list", "- a\n", []string{"t.yaml:1:1: the template has no schema"}},
		{"schema", "\nschema: olm.semvr\n", []string{`t.yaml:2:9: schema: unknown schema "olm.semvr" (did you mean "olm.semver"?)`}},
		{"key of semver", "Schema: olm.semver\nStable: {Bundle: [{Image: x}]}\n",
			[]string{"t.yaml:2:10: Stable: unknown key \"Bundle\" (did you mean \"bundles\"?)"}},
		{"further document", "schema: olm.template.basic\n---\na: b\n", []string{"warning: t.yaml:3:1: only one document is read"}},
		{"all that fails", "schema: olm.semver\nstable:\n  bundles:\n  - image: HOST/oak:1.0.0\n  - image: HOST/none:1\n  - image: HOST/none:2\n",
			[]string{"t.yaml:5:12: stable.bundles[1].image: ", "t.yaml:6:12: stable.bundles[2].image: "}},
		{"packages are mixed", "schema: olm.semver\nstable:\n  bundles:\n  - image: HOST/oak:1.0.0\nfast:\n  bundles: [{image: HOST/elm:1.0.0}]\n",
			[]string{`t.yaml:4:12: stable.bundles[0].image: bundle "oak.v1.0.0" is of package "oak", others are of package "elm"`}},
		{"a bundle twice", "schema: olm.semver\nstable:\n  bundles:\n  - image: HOST/oak:1.0.0\n  - image: HOST/oak:1.0.0\n",
			[]string{`t.yaml:5:12: stable.bundles[1].image: image "HOST/oak:1.0.0" is listed twice, first at t.yaml:4:12`}},
		{"a name twice", "schema: olm.semver\nstable:\n  bundles:\n  - image: HOST/oak:1.0.0\n  - image: HOST/oak:rebuilt\n",
			[]string{`t.yaml:5:12: stable.bundles[1].image: image "HOST/oak:rebuilt" has the ClusterServiceVersion "oak.v1.0.0", ` +
				`as image "HOST/oak:1.0.0" at t.yaml:4:12: `}},
		{"a version twice", "schema: olm.semver\nstable:\n  bundles:\n  - image: HOST/oak:1.0.0\n  - image: HOST/oak:same\n",
			[]string{`t.yaml:5:12: stable.bundles[1].image: bundle "oak.same" has version 1.0.0, as the bundle at t.yaml:4:12`}},
		{"not a version", "schema: olm.semver\nstable:\n  bundles:\n  - image: HOST/oak:bad\n",
			[]string{`t.yaml:4:12: stable.bundles[0].image: bundle "oak.bad": version "banana" is not a semantic version`}},
		{"no such directory", "schema: olm.template.basic\nentries:\n- schema: olm.bundle\n  image: .\n",
			[]string{`t.yaml:4:10: entries[0].image: open bundle ".": want an image in a registry`}},
		{"bundles with more or less than an image", "schema: olm.template.basic\nentries:\n- schema: olm.bundle\n" +
			"- {schema: olm.bundle, image: a, package: p, properties: [{}], relatedImages: [{}]}\n",
			[]string{"t.yaml:3:3: entries[0].image: a bundle of a basic template needs an image",
				"t.yaml:4:3: entries[1]: a bundle of a basic template has only an image: remove package, properties, relatedImages"}},
		{"objects", "schema: olm.template.basic\nentries:\n- schema: olm.package\n- {schema: olm.channel, name: 1}\n- schema: olm.channel\n  package: p\n  name: c\n  entries: 1\n",
			[]string{"t.yaml:3:3: entries[0]: the package has no name", "t.yaml:4:3: entries[1]: name must be a string",
				"t.yaml:8:12: entries[2].entries: want a list, found a number"}},
		{"invalid catalog", strings.Replace(catalog, "version: 1.0.0", "version: x", 1),
			[]string{`t.yaml:12:71: invalid package "oak": invalid bundle "oak.v1.0.0"`}},
		{"no such base", catalog + "substitutions:\n- name: HOST/oak:1.0.1\n  base: oak.v1.0.\n",
			[]string{`t.yaml:15:9: substitutions[0].base: no bundle "oak.v1.0." (did you mean "oak.v1.0.0"?)`}},
		{"no such base, and no such image", catalog + "substitutions:\n- name: HOST/no/such:1\n  base: oak.v1.0.\n",
			[]string{"t.yaml:14:9: substitutions[0].name: failed to pull image HOST/no/such:1: HOST answers 404 Not Found",
				`t.yaml:15:9: substitutions[0].base: no bundle "oak.v1.0." (did you mean "oak.v1.0.0"?)`}},
		{"not newer", catalog + "substitutions:\n- name: HOST/oak:same\n  base: oak.v1.0.0\n",
			[]string{`t.yaml:14:3: substitutions[0]: bundle "oak.same" has version 1.0.0+x, which is not higher`}},
		{"a base twice", catalog + "substitutions:\n- {name: a, base: b}\n- {name: a, base: b}\n",
			[]string{"t.yaml:15:10: substitutions[1].name: \"a\" is already the name of the substitution at t.yaml:14:3",
				"t.yaml:15:19: substitutions[1].base: \"b\" is already the base"}},
		{"preference", "schema: olm.semver\ngenerateMajorChannels: true\ngenerateMinorChannels: true\n" +
			"defaultChannelTypePreference: major\nstable: {bundles: [{image: HOST/oak:1.0.0}, {image: HOST/oak:1.0.1}]}\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, said := b.rendered(t.Context(), tt.text, template.Options{})
			got := strings.Split(strings.Join(said, "\n"), "\n")
			if len(said) == 0 {
				got = nil
			}
			for i := range max(len(got), len(tt.want)) {
				if i >= len(got) || i >= len(tt.want) || !strings.Contains(got[i], tt.want[i]) {
					t.Fatalf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
			}
		})
	}
}

func TestSubstitute(t *testing.T) {
	b := newBundles(t)
	b.put(t, "oak:2", "oak", "oak.v1.1.0-fix", "version: 1.1.1")
	out, said := b.rendered(t.Context(), `schema: olm.template.substitutes
entries:
- {schema: olm.package, name: oak, defaultChannel: c}
- schema: olm.channel
  package: oak
  name: c
  entries:
  - {name: oak.v1.0.0}
  - {name: oak.v1.1.0, replaces: oak.v1.0.0, skips: [x], skipRange: "<1.1.0"}
  - {name: oak.v1.2.0, replaces: oak.v1.0.0, skips: [oak.v1.1.0, z]}
  - {name: oak.v1.3.0, replaces: oak.v1.2.0, skips: [oak.v1.1.0]}
- {schema: olm.channel, package: oak, name: d, entries: [{name: oak.v1.1.0}, {name: oak.v1.2.0, replaces: oak.v1.1.0}]}
- {schema: olm.channel, package: oak, name: e, entries: [{name: oak.v1.2.0, replaces: oak.v1.1.0}]}
- {schema: olm.bundle, package: oak, name: oak.v1.0.0, image: a, properties: [{type: olm.package, value: {packageName: oak, version: 1.0.0}}]}
- {schema: olm.bundle, package: oak, name: oak.v1.1.0, image: a, properties: [{type: olm.package, value: {packageName: oak, version: 1.1.0}}]}
- {schema: olm.bundle, package: oak, name: oak.v1.2.0, image: a, properties: [{type: olm.package, value: {packageName: oak, version: 1.2.0}}]}
- {schema: olm.bundle, package: oak, name: oak.v1.3.0, image: a, properties: [{type: olm.package, value: {packageName: oak, version: 1.3.0}}]}
substitutions:
- {name: HOST/oak:2, base: oak.v1.1.0}
`, template.Options{})
	if said != nil {
		t.Fatal(said)
	}
	if problems := invalid(t, out); len(problems) > 0 {
		t.Error(problem.Lines(problems))
	}
	want := `entries:
- name: oak.v1.0.0
- name: oak.v1.1.0
- name: oak.v1.2.0
  replaces: oak.v1.0.0
  skips:
  - z
  - oak.v1.1.0-fix
- name: oak.v1.3.0
  replaces: oak.v1.2.0
  skips:
  - oak.v1.1.0-fix
- name: oak.v1.1.0-fix
  replaces: oak.v1.0.0
  skipRange: <1.1.0
  skips:
  - x
  - oak.v1.1.0
name: c
package: oak
schema: olm.channel
---
entries:
- name: oak.v1.1.0
- name: oak.v1.2.0
  replaces: oak.v1.1.0-fix
  skips:
  - oak.v1.1.0
- name: oak.v1.1.0-fix
  skips:
  - oak.v1.1.0
name: d
package: oak
schema: olm.channel
---
entries:
- name: oak.v1.2.0
  replaces: oak.v1.1.0
name: e
`
	if !strings.Contains(out, want) {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// TestSemverPackage checks that the package of a semver template has the description and icon of the last bundle in its
// default channel.
func TestSemverPackage(t *testing.T) {
	b := newBundles(t)
	b.put(t, "oak:1", "oak", "oak.v1", "{version: 1.0.0, description: old}")
	b.put(t, "oak:2", "oak", "oak.v2", "{version: 1.0.1, description: A tree, icon: [{base64data: aGk=, mediatype: image/png}]}")
	for _, level := range []render.Migration{render.MigrateNone, render.MigrateAll} {
		b.opts.Changes.Migration = level
		out, said := b.rendered(t.Context(), "schema: olm.semver\nstable: {bundles: [{image: HOST/oak:1}, {image: HOST/oak:2}]}\n",
			template.Options{})
		want := "---\ndefaultChannel: stable-v1.0\ndescription: A tree\nicon:\n  base64data: aGk=\n  mediatype: image/png\n" +
			"name: oak\nschema: olm.package\n---\nentries:\n- name: oak.v1\n- name: oak.v2\n  skips:\n  - oak.v1\n"
		if said != nil || !strings.HasPrefix(out, want) {
			t.Errorf("%s: %v\n%s", level, said, out)
		}
		if got := strings.Contains(out, "olm.csv.metadata"); got != (level == render.MigrateAll) {
			t.Errorf("%s: migrated: %t", level, got)
		}
	}
}

var imageLine = regexp.MustCompile(`(?i)image: *\n? *\S+`)

// TestRealTemplates checks that every real template, with placeholder images, renders to a valid catalog, and that
// rendering is reproducible.
func TestRealTemplates(t *testing.T) {
	b := newBundles(t)
	known := map[string]string{}
	for _, path := range shared.Sample(shared.Glob(t, "data/catalog-templates/*/*"), 20) {
		pkg := filepath.Base(filepath.Dir(path))
		t.Run(pkg+"/"+filepath.Base(path), func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := template.Parse(path, content, template.Detect, func(e *declcfg.Error) { t.Log(e) })
			if err != nil {
				t.Fatal(err)
			}
			for ref, bundle := range standIns(t, content, parsed.Images()) {
				key := pkg + " " + ref + " " + bundle.name
				if known[key] == "" {
					known[key] = b.put(t, fmt.Sprintf("bundle-%d:v1", len(known)), pkg, bundle.name, "version: "+bundle.version)
				}
				known[ref] = known[key]
			}
			text := imageLine.ReplaceAllStringFunc(string(content), func(line string) string {
				ref := strings.Fields(line)[1]
				return strings.Replace(line, ref, known[ref], 1)
			})
			first, said := b.rendered(t.Context(), text, template.Options{})
			for _, line := range said {
				if !strings.HasPrefix(line, "warning: ") {
					t.Fatal(line)
				}
			}
			if again, _ := b.rendered(t.Context(), text, template.Options{}); again != first || first == "" {
				t.Error("a second run renders something else")
			}
			problems := slices.DeleteFunc(invalid(t, first), func(p *problem.Problem) bool {
				return incomplete[pkg] && p.Rule == "entry-bundle"
			})
			if len(problems) > 0 {
				t.Error(problem.Lines(problems))
			}
		})
	}
}

// incomplete lists the packages whose templates lack the images of some entries.
var incomplete = map[string]bool{"ecr-secret-operator": true, "streamshub-console-operator": true}

type standIn struct{ name, version string }

var versionInName = regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+.*$`)

// standIns returns a placeholder bundle for each image of a template: the channel entry with the version of the tag, or
// one of the remaining entries.
func standIns(t *testing.T, text []byte, images []string) map[string]standIn {
	t.Helper()
	var file struct {
		Entries []struct{ Entries []struct{ Name string } }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, e := range file.Entries {
		for _, bundle := range e.Entries {
			left[bundle.Name] = bundle.Name != ""
		}
	}
	all := map[string]standIn{}
	take := func(ref, name string) {
		version := versionInName.FindString(name)
		if _, err := declcfg.ParseVersion(version, ""); err != nil {
			version = fmt.Sprintf("0.0.%d", len(all))
		}
		all[ref] = standIn{name, version}
		delete(left, name)
	}
	for _, ref := range images {
		tag := ref[strings.LastIndex(ref, ":")+1:]
		for _, name := range slices.Sorted(maps.Keys(left)) {
			if strings.HasSuffix(name, "v"+tag) || strings.HasSuffix(name, "."+strings.TrimPrefix(tag, "v")) {
				take(ref, name)
				break
			}
		}
	}
	for i, ref := range images {
		names := slices.Sorted(maps.Keys(left))
		switch _, found := all[ref]; {
		case found:
		case len(names) > 0:
			take(ref, names[0])
		default:
			all[ref] = standIn{fmt.Sprintf("bundle.n%d", i), fmt.Sprintf("1.%d.0", i)}
		}
	}
	return all
}

// TestManyProblems checks that the first 1,000 of many mistakes and ignored keys are reported, and the others counted.
func TestManyProblems(t *testing.T) {
	const n = 1200
	text := "schema: olm.template.basic\nentries:\n" + strings.Repeat("- 5\n", n) +
		strings.Repeat("- {schema: olm.package, name: p, more: 1}\n", n)
	var warnings []string
	warn := func(err *declcfg.Error) { warnings = append(warnings, err.Error()) }
	_, err := template.Parse("t.yaml", []byte(text), template.Detect, warn)
	for _, got := range [][]string{strings.Split(fmt.Sprint(err), "\n"), warnings} {
		if last := got[len(got)-1]; len(got) != 1001 || !strings.HasSuffix(last, ": 200 more problems of the file are not reported") {
			t.Errorf("%d problems, the last is %s", len(got), last)
		}
	}
}

// TestFirstDocument checks that the first document with a value is the template, after comments and in the line of its
// separator, too.
func TestFirstDocument(t *testing.T) {
	const tmpl = "{schema: olm.template.basic, entries: [{schema: olm.package, name: kiln}]}\n"
	for _, text := range []string{
		tmpl,
		"# c\n" + tmpl,
		"# c\n---\n" + tmpl,
		"# c\n--- # c\n# c\n---\n" + tmpl,
		"\n  # c\n\n---\n\n" + tmpl,
		"--- " + tmpl,
		"# c\n--- " + tmpl,
		"# c\n---\n# c\n--- " + tmpl,
	} {
		if _, err := template.Parse("t.yaml", []byte(text), template.Detect, nil); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestDroppedKeys checks that keys that the format does not define are dropped with a warning, below keys in another
// case, too.
func TestDroppedKeys(t *testing.T) {
	const text = `schema: olm.template.basic
entries:
- schema: olm.package
  name: kiln
  icon: {base64data: aGk=, mediatype: image/png, size: 8}
- schema: olm.channel
  package: kiln
  name: stable
  ENTRIES:
  - {name: kiln.v1.0.0, Skips: [kiln.v0.9.0], skip: kiln.v0.8.0}
- schema: olm.deprecations
  package: kiln
  entries:
  - {Reference: {schema: olm.package, names: kiln}, message: m}
`
	out, said := newBundles(t).rendered(t.Context(), text, template.Options{})
	want := []string{
		`warning: t.yaml:5:9: entries[0].icon: key "size" is not part of the format and is dropped`,
		`warning: t.yaml:10:5: entries[1].entries[0]: key "skip" is not part of the format and is dropped ` +
			`(did you mean "skips"?)`,
		`warning: t.yaml:14:17: entries[2].entries[0].reference: key "names" is not part of the format and is dropped ` +
			`(did you mean "name"?)`,
	}
	if !slices.Equal(said, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(out, "kiln.v0.9.0") {
		t.Errorf("skips in another case are not rendered:\n%s", out)
	}
	for _, key := range []string{"size:", "skip:", "names:"} {
		if strings.Contains(out, key) {
			t.Errorf("%s is rendered:\n%s", key, out)
		}
	}
}
