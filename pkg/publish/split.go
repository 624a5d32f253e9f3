package publish

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path"
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
		n := layerOf(cmp.Or(packages[name], name))
		layers[n] = append(layers[n], name)
	}
	var used [][]string
	for _, l := range layers {
		if l != nil {
			used = append(used, l)
		}
	}
	return used, nil
}

func layerOf(key string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return h.Sum32() % maxCatalogLayers
}

// packagesOf returns the package of each file, "" for a file with several.
func packagesOf(catalog declcfg.Source, index *declcfg.Index) map[string]string {
	packages := map[string]string{}
	for _, p := range index.Packages() {
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
	inhabited := map[string]bool{}
	var directories []string
	err = fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			directories = append(directories, name)
		default:
			names = append(names, name)
		}
		if name != "." {
			inhabited[path.Dir(name)] = true
		}
		return nil
	})
	for _, name := range directories {
		if !inhabited[name] {
			names = append(names, name)
		}
	}
	return names, err
}
