package web_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/opm-toolchain/opm/internal/serve/web"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestNewest(t *testing.T) {
	files := fstest.MapFS{
		"a/catalog.yaml": {ModTime: modified},
		"b/catalog.yaml": {ModTime: modified.Add(time.Hour)},
		"image.yaml":     {},
	}
	mounted := t.TempDir() // as ConfigMaps are: the link is younger than the file
	file := filepath.Join(mounted, "data")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, modified, modified); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("data", filepath.Join(mounted, "catalog.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(mounted, "lost")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		sources []declcfg.Source
		want    time.Time
	}{
		{"none", nil, time.Time{}},
		{"tree", []declcfg.Source{{FS: files}}, modified.Add(time.Hour)},
		{"file", []declcfg.Source{{FS: files, File: "a/catalog.yaml"}}, modified},
		{"two", []declcfg.Source{{FS: files, File: "b/catalog.yaml"}, {FS: files, File: "a/catalog.yaml"}}, modified.Add(time.Hour)},
		{"without time", []declcfg.Source{{FS: files, File: "image.yaml"}}, time.Time{}},
		{"link", []declcfg.Source{{FS: os.DirFS(mounted)}}, modified},
	} {
		got, err := web.Newest(tt.sources...)
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
	if _, err := web.Newest(declcfg.Source{FS: files, File: "none"}); err == nil {
		t.Error("a file that is not there is no error")
	}
}
