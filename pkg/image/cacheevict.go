package image

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// staleAfter is the age at which what stands in tmp belongs to a process that was killed: one that still downloads
// writes now and then.
const staleAfter = time.Hour

// A cachedFile is what evict knows of a file.
type cachedFile struct {
	name string
	size int64
	used time.Time
}

// evict removes files until the directory is a tenth below its size, those first that were not used for the longest
// time. What cannot be removed, or another process has removed, is passed over.
func (d *cacheDir) evict() {
	d.written.Store(0)
	d.removeStale()
	files, total := d.files()
	if total <= d.maxSize {
		return
	}
	slices.SortFunc(files, func(a, b cachedFile) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if total <= d.maxSize/10*9 {
			return
		}
		if os.Remove(f.name) == nil {
			total -= f.size
		}
	}
}

// files lists the content of the directory, and its size.
func (d *cacheDir) files() (files []cachedFile, total int64) {
	_ = filepath.WalkDir(filepath.Join(d.root, "blobs"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // what others are removing at the same moment
		}
		if info, err := e.Info(); err == nil {
			files = append(files, cachedFile{name, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	return files, total
}

// removeStale removes what killed processes left.
func (d *cacheDir) removeStale() {
	entries, _ := os.ReadDir(d.tmp()) // nothing to remove where it cannot be read
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(filepath.Join(d.tmp(), e.Name()))
		}
	}
}
