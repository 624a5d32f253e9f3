package plain

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/pkg/bundle"
)

// TestTables checks bundles that OLM v1 installs or refuses. A row has the manifests of a bundle, and the expected
// objects or errors.
func TestTables(t *testing.T) {
	for _, table := range []string{"testdata/objects.txtar", "testdata/refused.txtar"} {
		archive, err := txtar.ParseFile(table)
		if err != nil {
			t.Fatal(err)
		}
		files, err := txtar.FS(archive)
		if err != nil {
			t.Fatal(err)
		}
		for i := range archive.Files {
			row, name := path.Split(archive.Files[i].Name)
			if name != "want" {
				continue
			}
			want := &archive.Files[i]
			t.Run(path.Clean(row), func(t *testing.T) {
				got := rendered(t, files, path.Clean(row))
				golden.Equal(t, table+"/"+want.Name, string(want.Data), got)
				want.Data = []byte(got)
			})
		}
		if *golden.Update {
			if err := os.WriteFile(table, txtar.Format(archive), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// rendered returns the objects of a bundle, or the errors.
func rendered(t *testing.T, files fs.FS, dir string) string {
	t.Helper()
	row := fstest.MapFS{
		"metadata/annotations.yaml": {Data: []byte("annotations: {operators.operatorframework.io.bundle.package.v1: kiln}")},
	}
	manifests, err := fs.Glob(files, dir+"/manifests/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range manifests {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		row[strings.TrimPrefix(name, dir+"/")] = &fstest.MapFile{Data: text}
	}
	c, err := bundle.ReadContents(row, "kiln", bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(row["manifests/csv.yaml"].Data, []byte("\n"))
	var opts Options
	if err := yaml.UnmarshalStrict(bytes.TrimPrefix(first, []byte("# ")), &opts); err != nil {
		t.Fatal(err)
	}
	objects, err := Objects(c, opts)
	if err != nil {
		if objects != nil {
			t.Errorf("objects in spite of an error:\n%s", list(objects))
		}
		return err.Error() + "\n"
	}
	strict(t, objects)
	again, err := Objects(c, opts)
	if err != nil || !reflect.DeepEqual(objects, again) {
		t.Errorf("the second time, %v:\n%s", err, list(again))
	}
	return list(objects)
}
