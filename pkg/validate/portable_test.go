package validate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// tree returns a new directory with the files. A name "NAME -> TARGET" makes a symbolic link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPortableLinks(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a file outside", map[string]string{"c/a.yaml": "-> ../b.yaml", "b.yaml": "schema: x\n"}, nil},
		{
			"a directory", map[string]string{"c/a": "-> b", "c/b/b.yaml": "schema: x\n"},
			[]string{"a portable"},
		},
		{
			"a mounted ConfigMap",
			map[string]string{"c/..1/a.yaml": "schema: x\n", "c/..data": "-> ..1", "c/a.yaml": "-> ..data/a.yaml"},
			[]string{"..data portable", "a.yaml portable"},
		},
		{
			"two paths to a file", map[string]string{"c/a.yaml": "schema: x\n", "c/b.yaml": "-> a.yaml"},
			[]string{"b.yaml portable"},
		},
		{"a directory above", map[string]string{"c/a": "-> .", "c/b.yaml": "schema: x\n"}, []string{"a read"}},
		{
			"ignored", map[string]string{
				"c/a.yaml": "schema: x\n", "c/b.yaml": "-> a.yaml", "c/d": "-> e", "c/e/e.yaml": "schema: z\n",
				"c/.indexignore": "d\nb.yaml\n",
			}, nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, tt.files)
			report, err := validate.Catalog(t.Context(), validate.Options{},
				declcfg.Source{Name: "c", FS: os.DirFS(filepath.Join(dir, "c"))})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, report.Problems, tt.want...)
		})
	}
}

func TestPortableMark(t *testing.T) {
	files := map[string]string{"a.yaml": "---\n\ufeffschema: a\n---\n\ufeffschema: b\n"}
	expect(t, check(t, validate.Options{}, files), "a.yaml:2:1 portable")
}

func TestPortableOff(t *testing.T) {
	files := map[string]string{"a.yaml": "# c\n---\nschema: a/b\n"}
	expect(t, check(t, validate.Options{}, files), "a.yaml:1:1 portable", "a.yaml:3:9 portable")
	expect(t, check(t, validate.Options{Levels: problem.Disabled("portable")}, files))
	expect(t, check(t, validate.Options{ErrorsOnly: true}, files))
}

func TestNoObjects(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"no file", nil, []string{"c no-objects: the catalog has no objects"}},
		{"an empty file", map[string]string{"a.yaml": ""}, []string{"c no-objects: the catalog has no objects"}},
		{"all ignored", map[string]string{"a.yaml": "schema: x\n", ".indexignore": "*"}, []string{"c no-objects: the catalog has no objects"}},
		{"an unreadable file", map[string]string{"a.yaml": "x"}, []string{"c/a.yaml:1:1 read: want an object, found a string"}},
		{
			"a bundle", map[string]string{"manifests/a.yaml": "kind: X\n", "metadata/a.yaml": ""},
			[]string{
				"c no-objects: this is a bundle, not a catalog; run: opm bundle validate c",
				"c/manifests/a.yaml:1:1 read: object is missing root schema field",
			},
		},
		{"custom objects only", map[string]string{"a.yaml": "schema: x\n"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range check(t, validate.Options{}, tt.files) {
				got = append(got, p.Pos.String()+" "+p.Rule+": "+p.Message)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
