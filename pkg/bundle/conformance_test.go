package bundle_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"text/template"

	"golang.org/x/tools/txtar"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// conformance has scripts with the output of upstream.
const conformance = "../../test/conformance"

// script returns the files of a conformance script.
func script(t testing.TB, name string) fstest.MapFS {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join(conformance, name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return files
}

func sub(t testing.TB, fsys fs.FS, dir string) fs.FS {
	t.Helper()
	fsys, err := fs.Sub(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

// TestConformance prints bundle directories as `opm render` does.
func TestConformance(t *testing.T) {
	ref := template.Must(template.New("").Parse("registry.example/{{.Package}}/{{.Name}}:v{{.Version}}"))
	for _, test := range []struct {
		script, dir, want string
		level             render.Migration
		opts              bundle.Options
	}{
		{script: "render-bundle-dir", dir: "bundle", want: "want.json"},
		{script: "render-bundle-dir", dir: "bundle", want: "want.yaml"},
		{script: "render-bundle-dir-metadata", dir: "bundle", want: "want.yaml"},
		{script: "render-bundle-dir-rejects", dir: "odd-files", want: "odd-files.yaml"},
		{script: "render-bundle-dir-images", dir: "bundle", want: "no-image.yaml", level: render.MigrateToCSVMetadata},
		{script: "render-bundle-dir-images", dir: "bundle", want: "image.yaml", level: render.MigrateToCSVMetadata,
			opts: bundle.Options{ImageRef: ref}},
		{script: "render-many-references", dir: "bundle", want: "want.yaml"},
	} {
		files := script(t, test.script)
		b, err := bundle.Parse(sub(t, files, test.dir), test.dir, test.opts)
		if err != nil {
			t.Errorf("%s: %v", test.script, err)
			continue
		}
		if err := (render.Changes{Migration: test.level}).Edit(b); err != nil {
			t.Errorf("%s: %v", test.script, err)
		}
		format := declcfg.Format(strings.TrimPrefix(filepath.Ext(test.want), "."))
		got := string(format.Append(nil, b))
		if want := string(files[test.want].Data); !strings.Contains(want, got) {
			t.Errorf("%s: got\n%s\nwant %s\n%s", test.script, got, test.want, want)
		}
	}
}

// TestConformanceRejects reads bundles that opm refuses.
func TestConformanceRejects(t *testing.T) {
	files := script(t, "render-bundle-dir-rejects")
	for dir, want := range map[string]string{
		"no-csv":         "no-csv/manifests: no ClusterServiceVersion among the manifests",
		"no-annotations": "no-annotations/metadata: no file with annotations of a bundle",
		"missing-crd":    "missing-crd/manifests/csv.yaml:7:13: spec.customresourcedefinitions.owned[0]: couldn't find {forge.example.com v1 Hammer hammers} in bundle: no manifest defines hammers",
		"manifests-only": "manifests-only/metadata: file does not exist",
	} {
		_, err := bundle.Parse(sub(t, files, dir), dir, bundle.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", dir, err, want)
		}
	}
}
