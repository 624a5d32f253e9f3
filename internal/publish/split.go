package publish

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io/fs"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// maxCatalogLayers is the maximum number of layers of a catalog. Container runtimes mount up to 127, so this leaves
// enough for a base.
const maxCatalogLayers = 40

// split returns the files and empty directories of each layer of a catalog. The layer of a file depends only on its
// package or, if the file has several packages or none, on its name.
func split(catalog declcfg.Source, index *declcfg.Index) ([][]string, error) {
	packages := packagesOf(catalog, index)
	names, err := list(catalog.FS)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", catalog.Name, err)
	}
	var layers [maxCatalogLayers][]string
	for _, name := range names {
		h := fnv.New32a()
		_, _ = h.Write([]byte(cmp.Or(packages[name], name)))
		n := h.Sum32() % maxCatalogLayers
		layers[n] = append(layers[n], name)
	}
	return slices.DeleteFunc(layers[:], func(l []string) bool { return l == nil }), nil
}

// packagesOf maps each file to its package, or to "" if it has several packages.
func packagesOf(catalog declcfg.Source, index *declcfg.Index) map[string]string {
	packages := map[string]string{}
	for p := range index.Each() {
		for _, m := range p.Metas() {
			name := strings.TrimPrefix(m.Pos.File, strings.TrimSuffix(catalog.Name, "/")+"/")
			if other, ok := packages[name]; ok && other != p.Name {
				packages[name] = ""
			} else {
				packages[name] = p.Name
			}
		}
	}
	return packages
}

// list returns the names of all files that are not directories, and of the empty directories, which may include the
// root.
func list(fsys fs.FS) (names []string, err error) {
	err = fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			var entries []fs.DirEntry
			if entries, err = fs.ReadDir(fsys, name); len(entries) > 0 {
				return err
			}
		}
		names = append(names, name)
		return err
	})
	return names, err
}
