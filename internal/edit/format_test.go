package edit_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/edit"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// formatted returns the formatted file, and whether it changed.
func formatted(t testing.TB, name string, text []byte) (out []byte, changed bool) {
	t.Helper()
	var w bytes.Buffer
	changed, err := edit.Format(t.Context(), &w, name, bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	return w.Bytes(), changed
}

// checkFormatted checks that formatting a file keeps all comments and that formatting it again changes nothing.
func checkFormatted(t testing.TB, name string, text []byte) (out []byte) {
	t.Helper()
	out, changed := formatted(t, name, text)
	if changed == bytes.Equal(out, text) {
		t.Errorf("%s: changed is %v", name, changed)
	}
	if again, changed := formatted(t, name, out); changed || !bytes.Equal(out, again) {
		t.Errorf("%s: formatting it twice changes it twice", name)
	}
	if strings.HasSuffix(name, ".json") {
		return out
	}
	if was, is := comments(t, text), comments(t, out); !maps.Equal(was, is) {
		t.Errorf("%s: its comments were %v and are %v", name, was, is)
	}
	return out
}

// comments counts the comments of a YAML file that the YAML library finds.
func comments(t testing.TB, text []byte) map[string]int {
	t.Helper()
	all := map[string]int{}
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		for line := range strings.SplitSeq(n.HeadComment+"\n"+n.LineComment+"\n"+n.FootComment, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				all[line]++
			}
		}
		for _, child := range n.Content {
			visit(child)
		}
	}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		visit(&doc)
	}
}

// TestFormatPublishedCatalogs checks that formatting a published catalog changes none of its objects.
func TestFormatPublishedCatalogs(t *testing.T) {
	shared.OneGoroutine(t)
	for _, dir := range shared.Catalogs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) { sameWhenFormatted(t, dir) })
	}
}

func TestFormatExamples(t *testing.T) {
	sameWhenFormatted(t, "../../examples/catalog")
	for _, name := range []string{
		"catalog/kiln/bundles.yaml", "catalog/kiln/channels.yaml", "catalog/kiln/deprecations.yaml",
		"catalog/kiln/package.yaml", "catalog/loom/catalog.json", "crafts.yaml", "templates/basic.yaml",
		"templates/semver.yaml", "templates/targets.yaml",
	} {
		text, err := os.ReadFile(filepath.Join("../../examples", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if _, changed := formatted(t, name, text); changed {
			t.Errorf("%s is not formatted; run opm fmt", name)
		}
	}
}

// sameWhenFormatted formats a copy of a catalog and compares the rendered objects of both.
func sameWhenFormatted(t *testing.T, dir string) {
	t.Helper()
	fsys := os.DirFS(dir)
	names, err := declcfg.Source{Name: dir, FS: fsys}.Files()
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	before, after := fstest.MapFS{}, fstest.MapFS{}
	for _, name := range shared.Sample(names, 40) {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		before[name] = &fstest.MapFile{Data: text}
		after[name] = &fstest.MapFile{Data: checkFormatted(t, name, text)}
	}
	if !bytes.Equal(written(t, before), written(t, after)) {
		t.Errorf("%s: formatting changes an object", dir)
	}
}

func written(t *testing.T, fsys fs.FS) []byte {
	t.Helper()
	var metas []*declcfg.Meta
	meta := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
	for m, err := range declcfg.Map(t.Context(), meta, declcfg.Source{FS: fsys}) {
		if err != nil {
			t.Fatal(err)
		}
		metas = append(metas, m)
	}
	var out bytes.Buffer
	if err := declcfg.Write(t.Context(), &out, metas, declcfg.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestFormatPublishedTemplates checks that the templates of operator maintainers can all be formatted.
func TestFormatPublishedTemplates(t *testing.T) {
	for _, name := range shared.Sample(shared.Glob(t, "data/catalog-templates/*/*.yaml"), 20) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		checkFormatted(t, name, text)
	}
}

func TestFormatKeepsOrders(t *testing.T) {
	// Objects that sort equal keep their order, and so do lists.
	const text = `---
schema: olm.package
name: a
---
schema: olm.channel
name: b
package: a
entries:
- name: a.v2
- name: a.v1
---
schema: example.com/first
package: a
---
schema: example.com/first
name: x
package: a
---
schema: olm.deprecations
package: a
entries:
- reference:
    schema: olm.package
  message: "no: more"
---
schema: example.com/of-nobody
`
	if out, changed := formatted(t, "a.yaml", []byte(text)); changed || string(out) != text {
		t.Errorf("it changes to\n%s", out)
	}
	for _, text := range []string{"", "# nothing\n---\n# at all\n", "\n\n"} {
		if out, changed := formatted(t, "a.yaml", []byte(text)); changed || string(out) != text {
			t.Errorf("%q changes to %q", text, out)
		}
	}
}

func TestFormatErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"all errors", "a: [\n---\nb: {\n", "f:2:1: while parsing a flow node: did not find expected node content\n" +
			"f:4:1: while parsing a flow node: did not find expected node content"},
		{"behind a header", "# a\n\nb: c\n? d\n  e\n: f\n", "f:4:3: a key on several lines is not supported"},
		{"second object", "a: b\n---\n# c\n? d\n  e\n: f\n", "f:4:3: a key on several lines is not supported"},
		{"list", "---\n- a\n", "f:2:1: want an object"},
		{"text", "hello\n", "f:1:1: want an object"},
		{"binary", "a\x00b\x00c\x00", "f:1:1: binary file: it contains NUL bytes"},
		{"JSON", "{\"a\": 1}\n{}\n{\"b\": 1,}\n", "f:3:9: not valid JSON: invalid character '}' at start of string (expecting '\"')"},
		{"large object", "a: |\n" + strings.Repeat(" "+strings.Repeat("b", 1023)+"\n", 17<<10),
			"f:1:1: the object has more than 16 MB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := strings.NewReader(tt.text)
			_, err := edit.Format(t.Context(), io.Discard, "f", r, r.Size())
			if err == nil || err.Error() != tt.want {
				t.Errorf("the error is\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
	r := strings.NewReader("a: b\n")
	if _, err := edit.Format(t.Context(), brokenWriter{}, "f", r, r.Size()); !errors.Is(err, errBroken) {
		t.Errorf("of a broken writer the error is %v", err)
	}
	if _, err := edit.Format(t.Context(), io.Discard, "f", r, r.Size()+9); !errors.Is(err, declcfg.ErrChanged) {
		t.Errorf("of a file that shrinks the error is %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// FuzzFormat checks that a formatted file has the same objects, and that formatting it again changes nothing.
func FuzzFormat(f *testing.F) {
	for _, text := range []string{
		"# a\n\n# b\nschema: olm.channel\nname: 'c'\nentries:\n  - replaces: d\n    name: e # f\n---\n# g\n--- # h\nname: i\nschema: olm.package\n",
		"{\"name\": 1.0, \"schema\": \"olm.bundle\"} {\"a\": []}", "schema: olm.semver\nstable: {bundles: [{image: a}]}\n...\n# b\n---\n# c\n",
		"\ufeff# a\r\n---\r\nb: |\r\n  c\r\n", "a: &b c\nd: *b\n---\n? e\n: - f\n", "a: |+\n  b\n\n\n---\nc: d",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var w bytes.Buffer
		if _, err := edit.Format(t.Context(), &w, "f", bytes.NewReader(text), int64(len(text))); err != nil {
			return
		}
		out := w.Bytes()
		if again, changed := formatted(t, "f", out); changed {
			t.Errorf("%q becomes %q, and that %q", text, out, again)
		}
		if was, is := objects(t, text), objects(t, out); !slices.Equal(was, is) {
			t.Errorf("%q becomes %q, with the objects %q, not %q", text, out, is, was)
		}
	})
}

// objects returns the objects of a file that have a schema, sorted.
func objects(t *testing.T, text []byte) (all []string) {
	t.Helper()
	object := func(o *declcfg.Object) (string, error) { return string(o.JSON()), nil }
	fsys := fstest.MapFS{"f": &fstest.MapFile{Data: text}}
	for object, err := range declcfg.Map(t.Context(), object, declcfg.Source{FS: fsys, File: "f"}) {
		if err == nil {
			all = append(all, string(format.AppendCompact(nil, []byte(object))))
		}
	}
	slices.Sort(all)
	return all
}
