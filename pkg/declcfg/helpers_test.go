package declcfg_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// published are the catalogs in which real operators are published.
const published = "../../../shared/data/catalogs"

// publishedCatalogs returns the directories of the published catalogs.
func publishedCatalogs(t testing.TB) []string {
	t.Helper()
	return shared.Catalogs(t)
}

// source returns a catalog called "c" with files, given as alternating names and contents.
func source(namesAndContents ...string) declcfg.Source {
	fsys := fstest.MapFS{}
	for pair := range slices.Chunk(namesAndContents, 2) {
		fsys[pair[0]] = &fstest.MapFile{Data: []byte(pair[1])}
	}
	return declcfg.Source{Name: "c", FS: fsys}
}

// read returns the results of reading the sources: the position and the JSON of every object, and every error.
func read(t testing.TB, sources ...declcfg.Source) []string {
	t.Helper()
	var got []string
	show := func(o *declcfg.Object) (string, error) { return fmt.Sprintf("%v %s", o.Pos, o.JSON()), nil }
	for object, err := range declcfg.Map(t.Context(), show, sources...) {
		if err != nil {
			object = err.Error()
		}
		got = append(got, object)
	}
	return got
}

// metaOf returns the Meta of an object, which may be kept.
func metaOf(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }

// metas returns all objects of the sources, and fails the test at the first error.
func metas(t testing.TB, sources ...declcfg.Source) []*declcfg.Meta {
	t.Helper()
	var all []*declcfg.Meta
	for m, err := range declcfg.Map(context.Background(), metaOf, sources...) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// one returns the only object of a stream.
func one(t testing.TB, content string) *declcfg.Object {
	t.Helper()
	all := metas(t, source("a.json", content))
	if len(all) != 1 {
		t.Fatalf("%d objects in %q, want 1", len(all), content)
	}
	o, err := all[0].Read()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// expect compares lists of lines.
func expect(t testing.TB, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// A brokenFS is a file system with configured failures.
type brokenFS struct {
	fs.FS
	open func(fs.File) (fs.File, error)
}

func (b brokenFS) Open(name string) (fs.File, error) {
	f, err := b.FS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return f, err
	}
	return b.open(f)
}

// mkdirs makes a tree of directories, files and symbolic links below a new directory, which it returns. A file is
// "NAME" or "NAME: CONTENT", a link "NAME -> TARGET". A file without content holds one object.
func mkdirs(t testing.TB, entries ...string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "c")
	if err := os.Mkdir(root, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, target, isLink := strings.Cut(e, " -> ")
		name, content, hasContent := strings.Cut(name, ": ")
		if !hasContent {
			content = "schema: s\n"
		}
		name = filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if isLink && err == nil {
			err = os.Symlink(target, name)
		} else if err == nil {
			err = os.WriteFile(name, []byte(content), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}
