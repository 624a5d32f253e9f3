package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestKeyTellsContentApart(t *testing.T) {
	keys := map[store.Key]string{}
	for what, sources := range map[string][]declcfg.Source{
		"nothing":          {},
		"an empty catalog": {source()},
		"a file":           {source("a.yaml", "x")},
		"another text":     {source("a.yaml", "y")},
		"another name":     {source("b.yaml", "x")},
		"another place":    {source("a/a.yaml", "x")},
		"an empty file":    {source("a.yaml", "")},
		"two files":        {source("a.yaml", "x", "b.yaml", "y")},
		"texts swapped":    {source("a.yaml", "y", "b.yaml", "x")},
		"two sources":      {source("a.yaml", "x"), source("b.yaml", "y")},
		"in another order": {source("b.yaml", "y"), source("a.yaml", "x")},
		"name and text":    {source("a.yamlx", "")},
		"an ignore file":   {source("a.yaml", "x", ".indexignore", "b")},
		"another one":      {source("a.yaml", "x", ".indexignore", "c")},
		"made by opm":      {{Name: "c", FS: source("a.yaml", "x").FS, Ordered: true}},
	} {
		key := keyOf(t, sources...)
		if other, ok := keys[key]; ok {
			t.Errorf("%s has the key of %s", what, other)
		}
		keys[key] = what
	}
}

func TestKeyIsOfContentOnly(t *testing.T) {
	files := fstest.MapFS{
		"a.yaml":          {Data: []byte("x"), Mode: 0o600, ModTime: time.Unix(1, 0)},
		"d/README.md":     {Data: []byte("one")},
		"d/.indexignore":  {Data: []byte("*.md")},
		"d/b.yaml":        {Data: []byte("y")},
		"unrelated/empty": {Mode: os.ModeDir | 0o755},
	}
	want := keyOf(t, declcfg.Source{Name: "one", FS: files})
	files["a.yaml"].Mode, files["a.yaml"].ModTime = 0o444, time.Unix(2, 0)
	files["d/README.md"].Data = []byte("two")
	files["d/CHANGES.md"] = &fstest.MapFile{Data: []byte("three")}
	files["d/.opm-1a2b.tmp"] = &fstest.MapFile{Data: []byte("left behind")}
	files[".opm-3c4d.tmp/x.yaml"] = &fstest.MapFile{Data: []byte("likewise")}
	if got := keyOf(t, declcfg.Source{Name: "two", FS: files}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if s := want.String(); len(s) != 16 || strings.Trim(s, "0123456789abcdef") != "" {
		t.Errorf("the key prints as %q", s)
	}
}

func TestKeyOfOneFile(t *testing.T) {
	files := source("a.yaml", "x", "b.yaml", "y")
	files.File = "a.yaml"
	a := keyOf(t, files)
	files.FS.(fstest.MapFS)["b.yaml"].Data = []byte("z")
	if keyOf(t, files) != a {
		t.Error("another file has a part in the key")
	}
	files.FS.(fstest.MapFS)["a.yaml"].Data = []byte("z")
	if keyOf(t, files) == a {
		t.Error("the file has no part in the key")
	}
}

// TestKeyFollowsLinks checks a mounted ConfigMap, which consists of links to a directory that is exchanged.
func TestKeyFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	write("c/..1/a.yaml", "x")
	write("outside.yaml", "x")
	link("..1", "c/..data")
	link("..data/a.yaml", "c/a.yaml")
	link("../outside.yaml", "c/outside.yaml")
	link("nowhere", "c/broken.yaml")
	c := filepath.Join(dir, "c")
	first := keyOf(t, dirSource(c))
	write("c/..1/a.yaml", "y")
	second := keyOf(t, dirSource(c))
	write("outside.yaml", "y")
	third := keyOf(t, dirSource(c))
	if first == second || second == third {
		t.Errorf("what links lead to has no part in the keys %v, %v, %v", first, second, third)
	}
}

func TestKeyErrors(t *testing.T) {
	gone := dirSource(filepath.Join(t.TempDir(), "gone"))
	if _, err := store.KeyOf(t.Context(), gone); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("of a directory that is not there: %v", err)
	}
	one := gone
	one.File = "a.yaml"
	if _, err := store.KeyOf(t.Context(), one); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a file that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.KeyOf(ctx, source("a.yaml", "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("of a context that is done: %v", err)
	}
}
