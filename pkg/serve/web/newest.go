package web

import (
	"errors"
	"io/fs"
	"time"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Newest returns when the newest file of the sources was changed, for [Catalog].Modified; zero without files.
func Newest(sources ...declcfg.Source) (time.Time, error) {
	var newest time.Time
	for _, s := range sources {
		root := s.File
		if root == "" {
			root = "."
		}
		err := fs.WalkDir(s.FS, root, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := fs.Stat(s.FS, name) // a ConfigMap is made of links
			if errors.Is(err, fs.ErrNotExist) && name != root {
				return nil // a link that leads nowhere; whoever reads the catalog says whether that matters
			}
			if err == nil && info.Mode().IsRegular() && info.ModTime().After(newest) {
				newest = info.ModTime()
			}
			return err
		})
		if err != nil {
			return time.Time{}, err
		}
	}
	return newest, nil
}
