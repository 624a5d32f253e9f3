package store_test

import (
	"bytes"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// publishedCatalogs returns the directories of the published catalogs.
func publishedCatalogs(t testing.TB) []string {
	t.Helper()
	return shared.Catalogs(t)
}

// publishedStores holds the stores of published catalogs, with HTTP, by directory.
var publishedStores sync.Map

// publishedStore returns the store of a published catalog, built once for all tests.
func publishedStore(t testing.TB, dir string) *store.Store {
	t.Helper()
	if s, ok := publishedStores.Load(dir); ok {
		return s.(*store.Store)
	}
	s := build(t, store.BuildOptions{HTTP: true}, dirSource(dir))
	publishedStores.Store(dir, s)
	return s
}

func dirSource(dir string) declcfg.Source { return declcfg.Source{Name: dir, FS: os.DirFS(dir)} }

// source returns a catalog called "c" with files, given as alternating names and contents.
func source(namesAndContents ...string) declcfg.Source {
	fsys := fstest.MapFS{}
	for pair := range slices.Chunk(namesAndContents, 2) {
		fsys[pair[0]] = &fstest.MapFile{Data: []byte(pair[1])}
	}
	return declcfg.Source{Name: "c", FS: fsys}
}

// keyOf returns the key of a catalog.
func keyOf(t testing.TB, sources ...declcfg.Source) store.Key {
	t.Helper()
	key, err := store.KeyOf(t.Context(), sources...)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// image returns the bytes of the store of a catalog, and its key.
func image(t testing.TB, opts store.BuildOptions, sources ...declcfg.Source) ([]byte, store.Key) {
	t.Helper()
	key := keyOf(t, sources...)
	var b bytes.Buffer
	if err := store.Write(t.Context(), &b, key, opts, sources...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), key
}

// open opens the store in data.
func open(t testing.TB, data []byte, key store.Key) *store.Store {
	t.Helper()
	s, err := store.New(bytes.NewReader(data), int64(len(data)), key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// build returns the store of a catalog, in memory.
func build(t testing.TB, opts store.BuildOptions, sources ...declcfg.Source) *store.Store {
	t.Helper()
	data, key := image(t, opts, sources...)
	return open(t, data, key)
}
