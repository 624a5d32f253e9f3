package render

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// isBundle tells a bundle from a catalog as upstream does: it has the directories manifests and metadata.
func isBundle(dir string) bool {
	for _, name := range []string{"manifests", "metadata"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// openBundle opens the directory of a bundle.
func (o *opened) openBundle(dir string, opts Options) error {
	if opts.Bundles == nil {
		return fmt.Errorf("open catalog %q: it is the directory of a bundle", dir)
	}
	return o.addBundle(os.DirFS(dir), dir, *opts.Bundles, opts.Spool)
}

// addBundle adds the bundle that fsys holds as a catalog of one object, written as opm writes it. It is held
// compressed, so that many bundles take little memory.
func (o *opened) addBundle(fsys fs.FS, name string, opts bundle.Options, held spool.Options) error {
	b, err := bundle.Parse(fsys, name, opts)
	if err != nil {
		return err
	}
	blob, err := spool.Read(bytes.NewReader(declcfg.JSON.Append(nil, b)), held)
	if err != nil {
		return fmt.Errorf("hold bundle %q: %w", name, err)
	}
	o.closers = append(o.closers, blob.Close)
	o.sources = append(o.sources, declcfg.Source{
		Name: name, FS: oneFile{blob, blob.Size()}, File: oneFileName, Ordered: true,
	})
	return nil
}
